"""Numbers and formulas of verdicts, repetition and arguments, in log odds; see docs/beliefs-and-people.md."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Float

VERDICT, HEED_FALSE, HEED_TRUE = 3.0, 0.33, 0.70
"""What a verdict adds for a person who heeds it, and the shares of people who heed each."""
CONCORD = 0.37
"""A claim that suits the own side, less one that does not."""
FAMILIAR, FAST_SHARE, FAST_DAYS, SLOW_DAYS = 0.55, 0.61, 0.5, 39.0
"""One full reading at once, and how its trace fades: a fast and a slow part."""
RELIABILITY, OVERLAP, CAP = 0.12, 0.5, 0.95
"""Of an ordinary source; correlation of witnesses of one side; the most that reliability times strength counts as."""
NOISE, REPEAT = 0.20, 0.30
"""Of an answer on [-1, 1], and the share of answers that repeat the last one."""


def logit(share: npt.ArrayLike) -> Float:
    """Return log odds."""
    p = np.asarray(share, np.float64)
    return np.asarray(np.log(p / (1.0 - p)))


def sigmoid(log_odds: npt.ArrayLike) -> Float:
    """Return shares."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * np.asarray(log_odds, np.float64))))


def believed(untreated: Float, polarity: Float, heed: Float) -> Float:
    """Return the share who believe with a verdict beside the claim: a mixture of who heeds it and who does not."""
    share = np.clip(untreated, 1e-6, 1 - 1e-6)
    return (1.0 - heed) * share + heed * sigmoid(logit(share) + polarity * VERDICT)


def retained(days: Float) -> Float:
    """Return the share of a memory trace that is left after some days."""
    return FAST_SHARE * np.exp(-days / FAST_DAYS) + (1 - FAST_SHARE) * np.exp(-days / SLOW_DAYS)


def familiarity(trace: Float, size: float | Float = FAMILIAR) -> Float:
    """Return log odds of having met a claim: logarithmic in the readings."""
    return np.asarray(size * np.log2(1.0 + trace))


def argument(strength: Float, reliability: float | Float) -> Float:
    """Return what one argument adds: ln((1 + r s) / (1 - r s))."""
    return np.asarray(2.0 * np.arctanh(np.clip(strength * reliability, 0.0, CAP)))


def independent(n: Float) -> Float:
    """Return how many independent witnesses n correlated ones are worth."""
    return np.asarray(np.where(n > 0, n / (1.0 + np.maximum(n - 1.0, 0.0) * OVERLAP), 0.0))
