"""Group people by whether they moved with the evidence they received (Table A4).

They are made from the outcome: a profile fitted to a group says how its movement could come about, and predicts nobody.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from townsquare.core.array_types import Bool, Float, Int64
from townsquare.humans.fit.replayed import Spans, net_evidence

WARNING = (
    "Groups are conditioned on the outcome: membership is known only afterwards. Their rows describe people and "
    "predict nobody."
)
ALIGNED, OPPOSED, WEAK, STABLE = "evidence-aligned", "evidence-opposed", "weak-signal", "stable"
GROUPS = (ALIGNED, OPPOSED, STABLE, WEAK)
STABLE_WITHIN = 0.05
"""A change of at most this is none: less than a step of a Likert scale of up to 40 points, about a slider's noise."""
WEAK_WITHIN = 0.2
"""Net evidence |E| of at most this is weak or mixed: less than an argument of strength 0.5. The paper has none."""


class Thresholds(NamedTuple):
    """From where a change is one, and evidence says something."""

    stable: float = STABLE_WITHIN
    weak: float = WEAK_WITHIN


def groups_of(spans: Spans, at: Thresholds) -> dict[str, Bool]:
    """Return (k,) masks by group; each stretch is in one.

    >>> classify(np.array([0.5, 0.5, 0.0, 0.5]), np.array([1.0, -1.0, 1.0, 0.1]), Thresholds()).tolist()
    [0, 1, 2, 3]
    """
    code = classify(spans.final - spans.initial, net_evidence(spans.rows), at)
    return {name: code == number for number, name in enumerate(GROUPS)}


def classify(change: Float, evidence: Float, at: Thresholds) -> Int64:
    """Return places in :data:`GROUPS`, (k,)."""
    stable = np.abs(change) <= at.stable
    weak = np.abs(evidence) <= at.weak
    with_it = np.sign(change) == np.sign(evidence)
    return np.select([stable, weak, with_it], [2, 3, 0], 1).astype(np.int64)
