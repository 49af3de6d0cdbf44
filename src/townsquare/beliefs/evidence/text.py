"""Split messages into words and sentences, in normal forms that all judges share.

No tagger and no parser: regular expressions for English, which the judges read. Everything here is a pure function of
the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

MAX_CHARACTERS = 10_000
"""Longest message that is read; what comes after it is ignored."""

CLAUSE_ENDS = frozenset(".!?;:")
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "`": "'"})
_CONTRACTIONS = (
    (re.compile(r"\bcan'?t\b|\bcannot\b"), "can not"),
    (re.compile(r"\bwon'?t\b"), "will not"),
    (re.compile(r"\b(do|does|did|is|are|was|were|should|would|could|has|have|had|must|need)n'?t\b"), r"\1 not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'(?:re|ve|ll|m|d|s)\b"), ""),
)
_TOKEN = re.compile(r"[a-z]+(?:-[a-z]+)*|[0-9]+|[.!?;,:]")
_ENDINGS = (
    "izations", "ization", "isation", "izing", "ising", "ized", "ised", "izes", "ises", "ations", "ation", "ize", "ise",
    "ments", "ness", "isms", "ism", "ists", "ist", "ing", "ies", "ied", "ely", "ly", "ed", "es", "er", "ers", "s", "e",
    "y",
)  # fmt: skip
_SHORTEST_STEM = 3
_DOUBLED = frozenset("bdgmnprt")
_BREAK = re.compile(r"[.!?]+[\"')\]]*(?=\s|$)|(?<=[a-z])[.!?]+(?=[A-Z])|;(?=\s)|\n+")
_ABBREVIATION = re.compile(r"(?:\b(?:mr|mrs|ms|dr|st|vs|etc|e\.g|i\.e|u\.s|u\.k|no|jr|prof|gov|inc)|\b[a-z])\.$", re.I)


class Span(NamedTuple):
    """A passage of a text: ``text[start:end]``."""

    start: int
    end: int


def normalize(text: str) -> str:
    """Return lower case, straight apostrophes and contractions written out, so that negation is the word ``not``.

    >>> normalize("It’s cruel: we shouldn't, and can't.")
    'it cruel: we should not, and can not.'
    """
    plain = text.lower().translate(_APOSTROPHES)
    for pattern, written in _CONTRACTIONS:
        plain = pattern.sub(written, plain)
    return plain


def tokens(text: str) -> list[str]:
    """Return words, numbers and marks of a text, in order; at most 10,000 characters are read.

    >>> tokens("Don't ban child-actors, ever!")
    ['do', 'not', 'ban', 'child-actors', ',', 'ever', '!']
    """
    return _TOKEN.findall(normalize(text[:MAX_CHARACTERS]))


def words(text: str) -> list[str]:
    """Return the tokens that are words or numbers."""
    return [token for token in tokens(text) if token[0].isalnum()]


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return a word without its ending, if three letters or more are left.

    >>> stem("banning"), stem("legalization"), stem("cost"), stem("legalized")
    ('ban', 'legal', 'cost', 'legal')
    """
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            root = word[: -len(ending)]
            doubled = len(root) > _SHORTEST_STEM and root[-1] == root[-2] and root[-1] in _DOUBLED
            return root[:-1] if doubled else root
    return word


def sentences(text: str) -> list[Span]:
    """Return where the sentences of a text stand, without the space around them; at most 10,000 characters are read.

    A full stop inside a number or after an abbreviation ends nothing; a semicolon before a space and a line end do.

    >>> text = "It costs 3.5 million. Dr. Ahn disagrees; so do I!"
    >>> [text[start:end] for start, end in sentences(text)]
    ['It costs 3.5 million.', 'Dr. Ahn disagrees;', 'so do I!']
    """
    text = text[:MAX_CHARACTERS]
    cuts = [0]
    for match in _BREAK.finditer(text):
        before = text[cuts[-1] : match.end()].rstrip()
        if not (match.group()[0] == "." and _ABBREVIATION.search(before[-8:])):
            cuts.append(match.end())
    cuts.append(len(text))
    spans = []
    for start, end in pairwise(cuts):
        part = text[start:end]
        if any(letter.isalnum() for letter in part):
            start += len(part) - len(part.lstrip())
            spans.append(Span(start, start + len(part.strip())))
    return spans
