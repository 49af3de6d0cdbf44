"""Features of the strength judge: length, form, reasons and hedges, overlap with the proposition.

It sees neither polarity nor who speaks. Raters of the training data score one side of a topic higher than the other;
a judge that knew the side would score better on that data and would tilt every debate toward that side.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from townsquare.beliefs.evidence.ngrams import Rows, presence, slot_of, words_and_pairs
from townsquare.beliefs.evidence.proposition import Frame
from townsquare.beliefs.evidence.text import MAX_CHARACTERS, sentences, stem, tokens
from townsquare.beliefs.evidence.words import value, word_lists
from townsquare.core.array_types import Float

COUNTS = 49
"""Counts of one argument, in the order of the fitted numbers."""

_MOST_WORDS = 80  # more than any rated argument had; longer texts count as this long
_LONG_WORD = 6
_SPACE = re.compile(r"\s+")
_SYLLABLE = re.compile(r"[aeiouy]+")
_PATTERNS = (
    re.compile(r"\d"),
    re.compile(r"\d\s*%|percent|million|billion", re.I),
    re.compile(r"^\s*[-•\d]+[.)\-]?"),
    re.compile(r"(?:^|\s)-\s?\w"),
    re.compile(r"(?:^|[\s.;])\d[.)]"),
    re.compile(r"[a-z][.,;][A-Za-z]"),
    re.compile(r"\s[,.;!?]"),
    re.compile(r"!!|\?\?|[!?]{2}"),
)


_PERSONS = ("first_person", "second_person", "first_plural")
_LISTS = ("hedges", "reasons", "vague", "negations", "liberty", "money", *_PERSONS)


class StrengthBlocks(NamedTuple):
    """Features of n arguments: ``words`` and ``characters`` sparse (n, 32768), ``counts`` (n, 49) float64."""

    words: Rows
    characters: Rows
    counts: Float


def read_strength(texts: Sequence[str], frames: Sequence[Frame]) -> StrengthBlocks:
    """Return the features of n arguments, each on the proposition with the frame next to it."""
    texts = [text[:MAX_CHARACTERS] for text in texts]
    seen = [tokens(text) for text in texts]
    counted = []
    for text, tokenized, frame in zip(texts, seen, frames, strict=True):
        terms = [token for token in tokenized if token[0].isalnum()]
        counted.append([*_size(text, terms), *_form(text), *_wording(terms), *_bearing(terms, frame)])
    return StrengthBlocks(
        words=presence(words_and_pairs(tokenized) for tokenized in seen),
        characters=presence(_characters(text) for text in texts),
        counts=np.asarray(counted, np.float64).reshape(len(texts), COUNTS),
    )


def _characters(text: str) -> list[int]:
    marked = f" {_SPACE.sub(' ', text)} "
    return [slot_of(marked[at : at + length]) for length in (3, 4, 5) for at in range(len(marked) - length + 1)]


def _size(text: str, terms: list[str]) -> list[float]:
    n = min(max(1, len(terms)), _MOST_WORDS)
    all_words = max(1, len(terms))
    n_sentences = max(1, len(sentences(text)))
    syllables = sum(max(1, len(_SYLLABLE.findall(word))) for word in terms)
    return [
        math.log(n),
        n / 40.0,
        (n / 40.0) ** 2,
        len(text) / all_words,
        sum(len(word) > _LONG_WORD for word in terms) / all_words,
        len(set(terms)) / all_words,
        math.log1p(min(n_sentences, 12)),
        min(all_words / n_sentences / 20.0, 4.0),
        syllables / all_words,
    ]


def _form(text: str) -> list[float]:
    letters = max(1, sum(letter.isalpha() for letter in text))
    stripped = text.strip()
    return [
        float(text[:1].isupper()),
        float(stripped[-1:] == "."),
        float(text.lower() == text),
        sum(letter.isupper() for letter in text) / letters,
        text.count(",") / max(1, len(text)) ** 0.5,
        *(float(pattern.search(text) is not None) for pattern in _PATTERNS),
        *(float(mark in text) for mark in '!?(";:'),
    ]


def _wording(terms: list[str]) -> list[float]:
    known, root = word_lists(), max(1, len(terms)) ** 0.5
    values = [value(word) for word in terms]
    roots = {stem(word) for word in terms}
    return [
        *(sum(word in known[name] for word in terms) / root for name in _LISTS),
        sum(word in known["frequent"] for word in terms) / max(1, len(terms)),
        *(float(word in terms) for word in ("should", "because", "if")),
        float(bool(roots & {"lead", "caus", "result"})),
        sum(number > 0 for number in values) / root,
        sum(number < 0 for number in values) / root,
        abs(sum(values)) / root,
    ]


def _bearing(terms: list[str], frame: Frame) -> list[float]:
    roots = {stem(word) for word in terms}
    return [
        len(roots & frame.subject) / max(1, len(frame.subject)),
        float(bool(roots & frame.subject)),
        float(bool(roots & frame.actions)),
        float(bool(terms) and stem(terms[0]) in frame.subject),
    ]
