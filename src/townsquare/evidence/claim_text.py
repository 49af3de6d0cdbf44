"""The canonical form of a claim: the passage on one line, without list marks and opening phrases.

Capitals and stops stay as they were written: the strength judge reads care in writing from them.
"""

from __future__ import annotations

import re

from townsquare.evidence.text import words
from townsquare.evidence.words import word_lists

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
    """A passage as a claim; the passage itself where nothing would be left of it.

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
    """The category with most of its words in a passage, the first of equals; "" where no category has any.

    >>> tag("It would cost every taxpayer money."), tag("It is blue.")
    ('economy', '')
    """
    said = words(passage)
    counts = {name: sum(word in group for word in said) for name, group in word_lists().tags.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else ""
