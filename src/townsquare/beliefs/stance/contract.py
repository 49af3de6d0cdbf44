"""Contract of text scorers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from townsquare.core.array_types import Float
from townsquare.core.member_errors import breach, call_member, check_array
from townsquare.settings.base import FamilyMember

FAMILY = "stance scorer"
Score = Callable[[Sequence[str], Sequence[str]], Float]


@dataclass(frozen=True, slots=True)
class StanceScorer(FamilyMember):
    """A member of the family ``stance``.

    Attributes
    ----------
    name : str
        As in the registry.
    params : type of MemberParams
        ``MemberParams``: a stance scorer has no settings.
    score : callable
        ``score(texts, propositions)``: for n texts and P statements an (n, P) float64 array in [-1, 1], +1 for full
        support of the statement; NaN for a text without a stance, which has no effect on beliefs. Each number depends
        on its text and its statement alone.
    measures : {"stance", "tone"}
        What the numbers measure: the side that a text takes, or how positive its words are. Reports say so.
    """

    score: Score
    measures: Literal["stance", "tone"] = "stance"


def scores(scorer: StanceScorer, texts: Sequence[str], propositions: Sequence[str]) -> Float:
    """Return what the scorer reads in n texts, (n, P) float64 in [-1, 1], NaN where a text takes no stance.

    Raises
    ------
    ContractError
        It gives something else; names the first text and proposition at fault and the number.
    """
    score: object = call_member(FAMILY, scorer.name, "score", lambda: scorer.score(texts, propositions))
    wanted = (len(texts), len(propositions))
    check_array(FAMILY, scorer.name, "scores", score, np.float64, wanted, entry="one number a text and statement")
    assert isinstance(score, np.ndarray)
    off = np.abs(score) > 1
    if off.any():
        text, proposition = (int(at[0]) for at in np.nonzero(off))
        got = f"a stance outside its range: {score[text, proposition]} for proposition {proposition}, text {text}"
        raise breach(FAMILY, scorer.name, got, "-1 to 1, or NaN for none")
    return score
