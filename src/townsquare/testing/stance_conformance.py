"""Conformance check of text scorers, for anyone's scorer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from townsquare.beliefs.stance.contract import FAMILY, StanceScorer, scores
from townsquare.testing.member_calls import MemberUnderTest

TEXTS = (
    "I am for it, and so should you be.", "This is a terrible idea.", "", "Nobody asked us!", "It rained on Tuesday.",
    "😀 — «ok»", "I am for it, and so should you be.",
)  # fmt: skip
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
    test = MemberUnderTest.of(FAMILY, scorer)
    if scorer.measures not in ("stance", "tone"):
        raise test.broken(f"measures {scorer.measures!r}", "stance or tone")
    whole = scores(scorer, list(texts), list(PROPOSITIONS))
    back = scores(scorer, list(texts)[::-1], list(PROPOSITIONS)[::-1])[::-1, ::-1]
    part = scores(scorer, list(texts)[1:], list(PROPOSITIONS)[:1])
    cases: tuple[tuple[str, Any, Any], ...] = (
        ("the same call twice gives", whole, scores(scorer, list(texts), list(PROPOSITIONS))),
        ("another order of texts and statements gives", whole, back),
        ("other texts and statements beside them give", whole[1:, :1], part),
    )
    allowed = "a number of its text and statement alone"
    for what, first, second in cases:
        test.check_same(f"{what} other", {"scores": first}, {"scores": second}, allowed)
    for some, statements in (([], list(PROPOSITIONS)), (list(texts), []), ([], [])):
        scores(scorer, some, statements)
