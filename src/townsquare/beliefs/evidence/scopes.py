"""Scopes that turn a word around: negation, a shifter before it, or the action rather than the subject.

"Banning it would lead to chaos" is bad of the ban, so good of what would be banned. Three signs a token say so; they
are read off from fixed windows, since no parser is at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from townsquare.beliefs.evidence.text import CLAUSE_ENDS, stem
from townsquare.beliefs.evidence.words import is_shifter, word_lists
from townsquare.core.array_types import Float

_NEGATED_WORDS = 3  # how many words after a negation it reaches
_SHIFTED_WORDS = 4
_BEFORE_SUBJECT = 6  # how far behind an action its subject may stand


class Scopes(NamedTuple):
    """A sign, +1 or -1, of every token.

    Attributes
    ----------
    negated : (n,) float64
        -1 within a few words after a negation.
    shifted : (n,) float64
        -1 within a few words after a negation or shifter; two in a row cancel.
    of_action : (n,) float64
        -1 where a clause is about an action against the subject.
    """

    negated: Float
    shifted: Float
    of_action: Float


def read_scopes(tokens: Sequence[str], subject: frozenset[str]) -> Scopes:
    """Return the signs of the tokens of a text, given the stems of the subject's words.

    >>> words = "banning guns would not stop crime".split()
    >>> scopes = read_scopes(words, frozenset({"gun"}))
    >>> scopes.shifted.astype(int).tolist(), scopes.of_action.astype(int).tolist()
    ([1, 1, 1, 1, -1, 1], [1, -1, -1, -1, -1, -1])
    """
    known = word_lists()
    negations, turns = known["negations"], known["turns"]
    stems = [stem(token) for token in tokens]
    negated, shifted, of_action = (np.ones(len(tokens)) for _ in range(3))
    left_negated = left_shifted = 0
    sign, about = 1.0, 1.0
    for at, token in enumerate(tokens):
        if token in CLAUSE_ENDS or token in turns:
            left_shifted, about = 0, 1.0
            left_negated = 0 if token in CLAUSE_ENDS else left_negated
        if left_negated > 0 and token not in negations:
            negated[at] = -1.0
        shifted[at] = sign if left_shifted > 0 else 1.0
        of_action[at] = about
        if token in negations:
            left_negated = _NEGATED_WORDS + 1
        if token in negations or is_shifter(token):
            sign = -sign if left_shifted > 0 else -1.0
            left_shifted = _SHIFTED_WORDS + 1
        left_negated, left_shifted = left_negated - 1, left_shifted - 1
        if _is_about_action(tokens, stems, at, subject):
            about = -1.0
    return Scopes(negated, shifted, of_action)


def _is_about_action(tokens: Sequence[str], stems: Sequence[str], at: int, subject: frozenset[str]) -> bool:
    known = word_lists()
    token, behind = tokens[at], stems[at + 1 : at + _BEFORE_SUBJECT]
    if token == "if":
        return any(word in known["against"] for word in tokens[at : at + 8])
    if token == "without":
        return any(word in subject for word in behind[:3])
    if token not in known["against"] or not any(word in subject for word in behind):
        return False
    before = tokens[at - 1] if at else ""
    if before in known["passive"]:
        return False
    if token.endswith("ing") or token in known["action_nouns"]:
        return True
    return before in known["leads"] and "should" not in tokens[max(0, at - 3) : at]
