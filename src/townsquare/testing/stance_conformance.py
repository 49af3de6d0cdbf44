"""The check that every text scorer passes, and that anyone can run on a scorer of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.stance.contract import StanceScorer
from townsquare.testing.member_calls import Suspect

TEXTS = (
    "I am for it, and so should you be.",
    "This is a terrible idea.",
    "",
    "Nobody asked us!",
    "It rained on Tuesday.",
    "😀 — «ok»",
    "I am for it, and so should you be.",
)
PROPOSITIONS = ("The bridge should be built.", "Voting should be compulsory.", "The bridge should not be built.")


def check_stance_scorer(scorer: StanceScorer, texts: Sequence[str] = TEXTS) -> None:
    """Raise if a text scorer breaks its contract.

    Checked, on some short texts and three statements: an (n, P) float64 array in [-1, 1], NaN for no stance; the same
    call gives the same numbers; each number depends on its text and its statement alone, not on the others or their
    order; no texts and no statements are fine.

    Parameters
    ----------
    scorer : StanceScorer
        Registered or not.
    texts : sequence of str
        What it is tried on, at least two.

    Raises
    ------
    ContractError
        For the first thing that broke.
    """
    suspect = Suspect("stance scorer", scorer.name)
    suspect.check_params(scorer.params)
    if scorer.measures not in ("stance", "tone"):
        raise suspect.broken(f"measures {scorer.measures!r}", "stance or tone")
    whole = _score(suspect, scorer, list(texts), list(PROPOSITIONS))
    back = _score(suspect, scorer, list(texts)[::-1], list(PROPOSITIONS)[::-1])[::-1, ::-1]
    part = _score(suspect, scorer, list(texts)[1:], list(PROPOSITIONS)[:1])
    cases: tuple[tuple[str, Any, Any], ...] = (
        ("the same call twice gives", whole, _score(suspect, scorer, list(texts), list(PROPOSITIONS))),
        ("another order of texts and statements gives", whole, back),
        ("other texts and statements beside them give", whole[1:, :1], part),
    )
    for what, one, two in cases:
        suspect.check_same(
            f"{what} other", {"scores": one}, {"scores": two}, "a number of its text and statement alone"
        )
    for some, statements in (([], list(PROPOSITIONS)), (list(texts), []), ([], [])):
        _score(suspect, scorer, some, statements)


def _score(
    suspect: Suspect, scorer: StanceScorer, texts: list[str], propositions: list[str]
) -> npt.NDArray[np.float64]:
    score: object = suspect.call("score", lambda: scorer.score(texts, propositions))
    wanted = (len(texts), len(propositions))
    if not isinstance(score, np.ndarray) or score.dtype != np.float64 or score.shape != wanted:
        got = f"{score.dtype} {score.shape}" if isinstance(score, np.ndarray) else type(score).__name__
        raise suspect.broken(f"score returned {got}", f"float64 {wanted}: one number a text and statement")
    if not bool((np.isnan(score) | (np.abs(score) <= 1)).all()):
        raise suspect.broken("a stance outside its range", "-1 to 1, or NaN for none")
    return score
