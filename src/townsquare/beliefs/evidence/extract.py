"""``embedded``: find the arguments of a message by the words of each proposition's bank; no language model.

A message is split into passages, one for each argument. A passage that is about no proposition gives no claim; one
that is about several gives a claim for the one it is most about. Its polarity is stance toward that proposition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from townsquare.beliefs.evidence.contract import Extractor, Found, Topics
from townsquare.beliefs.evidence.examples import NO_EXAMPLES, Examples
from townsquare.beliefs.evidence.passages import passages
from townsquare.beliefs.evidence.polarity import judge_polarity
from townsquare.beliefs.evidence.proposition import read_proposition
from townsquare.beliefs.evidence.relevance import WITH_BANK, WITHOUT_BANK, relevance
from townsquare.beliefs.evidence.strength import judge_strength
from townsquare.beliefs.evidence.text import MAX_CHARACTERS, words
from townsquare.beliefs.evidence.words import word_lists
from townsquare.settings.base import MemberParams, setting

MOST_CLAIMS = 32
"""Claims of one message; further ones are left out."""


class Claim(NamedTuple):
    """One argument of a message.

    Attributes
    ----------
    text : str
        The canonical claim, at most 1,000 characters.
    snippet : str
        The passage it was taken from, as it is in the message.
    proposition : int
        Row of the propositions.
    polarity : int
        +1 for the proposition, -1 against it.
    strength : float
        [0, 1].
    confidence : float
        Estimated probability that the polarity is right, [0.5, 1].
    tag : str
        Category; "" for none.
    """

    text: str
    snippet: str
    proposition: int
    polarity: int
    strength: float
    confidence: float
    tag: str = ""


class Params(MemberParams):
    """When a passage is taken for an argument."""

    confidence: float = setting(
        0.5, "minimum confidence in the polarity of a claim; 0.5 keeps all claims", ge=0.5, le=1.0
    )


def extract_many(
    texts: Sequence[str],
    statements: Sequence[str],
    banks: Sequence[Examples] | None = None,
    least_confidence: float = 0.5,
) -> list[list[Claim]]:
    """Return the claims of each of n messages, in its order: none, one or several.

    Parameters
    ----------
    texts : sequence of str
        Untrusted; at most 10,000 characters of each are read.
    statements : sequence of str
        The propositions.
    banks : sequence of Examples, optional
        A bank for each proposition. Without one only its own words tell what is about it, and far fewer messages do.
    least_confidence : float
        In [0.5, 1].

    Raises
    ------
    DataError
        A bank with an argument that has no polarity.

    Examples
    --------
    >>> said = ["I think that cloning people is cruel.", "I had soup for lunch."]
    >>> found = extract_many(said, ["We should ban human cloning"])
    >>> [[(claim.text, claim.polarity) for claim in claims] for claims in found]
    [[('Cloning people is cruel.', 1)], []]
    """
    judged = _judged(texts, statements, banks, least_confidence)
    strengths = judge_strength([claim.text for _, claim in judged], [statements[c.proposition] for _, c in judged])
    claims: list[list[Claim]] = [[] for _ in texts]
    for (message, claim), strength in zip(judged, strengths.tolist(), strict=True):
        claims[message].append(claim._replace(strength=strength))
    return claims


def _judged(
    texts: Sequence[str], statements: Sequence[str], banks: Sequence[Examples] | None, least_confidence: float
) -> list[tuple[int, Claim]]:
    """Return (message, claim) in order; strengths are NaN."""
    given = [NO_EXAMPLES] * len(statements) if banks is None else list(banks)
    parts = [(at, *part) for at, text in enumerate(texts) for part in _relevant(text, statements, given)]
    claims: list[tuple[int, Claim] | None] = [None] * len(parts)
    for proposition, (statement, bank) in enumerate(zip(statements, given, strict=True)):
        rows = [row for row, (_, _, about) in enumerate(parts) if about == proposition]
        judged = judge_polarity([parts[row][1] for row in rows], statement, bank)
        for row, sign, sure in zip(rows, judged.polarity.tolist(), judged.confidence.tolist(), strict=True):
            message, passage, _ = parts[row]
            if sure >= least_confidence:
                claim = Claim(canonical(passage), passage, proposition, sign, float("nan"), sure, tag(passage))
                claims[row] = (message, claim)
    return [claim for claim in claims if claim is not None]


def _relevant(text: str, statements: Sequence[str], banks: Sequence[Examples]) -> list[tuple[str, int]]:
    """Return passages of a message that are about a proposition, with its row."""
    about = [(passage, _about(passage, statements, banks)) for passage in _passages(text, statements)]
    return [(passage, proposition) for passage, proposition in about if proposition >= 0][:MOST_CLAIMS]


def _passages(text: str, statements: Sequence[str]) -> list[str]:
    """Return passages under the proposition that the message as a whole is most about; the first of equals."""
    text = text[:MAX_CHARACTERS]
    if not statements:
        return []
    named = [relevance(text, statement) for statement in statements]
    frame = read_proposition(statements[int(np.argmax(named))])
    return [text[start:end] for start, end in passages(text, frame)]


def _about(passage: str, statements: Sequence[str], banks: Sequence[Examples]) -> int:
    """Return the proposition that a passage is most about, in units of what is needed; -1 for none."""
    scores = [
        relevance(passage, statement, bank) / (WITH_BANK if bank.texts else WITHOUT_BANK)
        for statement, bank in zip(statements, banks, strict=True)
    ]
    best = int(np.argmax(scores)) if scores else -1
    return best if best >= 0 and scores[best] >= 1.0 else -1


def banks_of(topics: Topics) -> list[Examples]:
    """Return the bank of each proposition; arguments with a stance of 0 are left out."""
    banks = []
    for proposition in range(len(topics.statements)):
        rows = np.flatnonzero((topics.bank_proposition == proposition) & (topics.bank_stance != 0)).tolist()
        polarity = np.sign(topics.bank_stance[rows]).astype(int).tolist()
        banks.append(Examples(tuple(topics.bank_text[row] for row in rows), tuple(polarity)))
    return banks


def extract_all(messages: Sequence[str], topics: Topics, params: Params) -> Found:
    """Return claims of n messages, in order of the messages. Strengths are left to the strength judge."""
    judged = _judged(messages, topics.statements, banks_of(topics), params.confidence)
    rows = [(at, c.proposition, c.polarity, np.nan, c.text, c.snippet, c.tag) for at, c in judged]
    return Found.of(rows)


EXTRACTOR = Extractor("embedded", Params, extract_all)


# The canonical form of a claim: the passage on one line, without list marks and opening phrases.
#
# Capitals and stops stay as they were written: the strength judge reads care in writing from them.


LONGEST = 1_000
"""Characters of a canonical claim; what goes beyond is cut at a word."""

_MARKS = re.compile(r"^\s*(?:\(?\d{1,2}[.)]\s*|[-–•*>\"'`]+\s*)+")
_OPENING = re.compile(
    r"^(?:(?:i (?:strongly |really |do |personally )?(?:think|believe|feel)(?: that)?"
    r"|in my (?:humble )?opinion,?(?: that)?|to be honest,?|well,|look,|also,?|and|but|because)\s+)+",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")


def canonical(passage: str) -> str:
    """Return a passage as a claim; the passage itself where nothing would be left of it.

    >>> canonical(" 2) I think that  taxes hurt the poor;")
    'Taxes hurt the poor'
    """
    plain = _SPACE.sub(" ", passage).strip()
    claim = _OPENING.sub("", _MARKS.sub("", plain)).strip().rstrip(";,: ")
    if not any(letter.isalnum() for letter in claim):
        claim = plain
    if len(claim) > LONGEST:
        claim = claim[:LONGEST].rsplit(" ", 1)[0] + "…"
    return claim[:1].upper() + claim[1:] if plain[:1].isupper() or not plain[:1].isalpha() else claim


def tag(passage: str) -> str:
    """Return the category with most of its words in a passage, the first of equals; "" where no category has any.

    >>> tag("It would cost every taxpayer money."), tag("It is blue.")
    ('economy', '')
    """
    terms = words(passage)
    counts = {name: sum(word in group for word in terms) for name, group in word_lists().tags.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else ""
