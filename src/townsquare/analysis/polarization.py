"""Two measures of polarization, which answer different questions.

*Polarization* proper is the variance of the distances between all pairs of people (Flache and Macy 2011, "Small worlds
and cultural polarization", Journal of Mathematical Sociology 35, who take it of pairwise agreement, which is one less
the distance): 0 when all are in one place, 1 when two equal camps are at the two ends, and near 0 again for
one broad hump, in which everybody is some way from everybody. *Bimodality* (the coefficient of SAS; Pfister,
Schwarz, Janczyk, Dale and Freeman 2013, Frontiers in Psychology 4:700) asks whether the distribution has two humps,
however near.

The measure of Esteban and Ray (1994) was tried and left: on bins of a broad distribution it hardly fell while opinions
collapsed to an eighth of their spread, since the gain in fellowship outweighed the loss of distance.
"""

from __future__ import annotations

import math

import numpy as np

from townsquare.core.array_types import Float, Int64

BINS = 20
"""Bins of equal width over [-1, 1], for histograms."""
BOUND = 1.0 - 1e-9
"""A stance this far out counts as standing at the bounds of [-1, 1]."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def distribution(stances: Float) -> dict[str, float]:
    """Return what is measured of sorted stances, at least one; ``belief_course`` and ``polarization_course`` define it.

    >>> camps = distribution(np.array([-1.0, -1.0, 1.0, 1.0]))
    >>> camps["sd"], camps["polarization"], camps["camp_balance"]
    (1.0, 1.0, 1.0)
    """
    n, mean, size = stances.size, float(stances.mean()), np.abs(stances)
    away = stances - mean
    squared = away * away
    variance, distance = float(squared.mean()), mean_distance(stances)
    minus, from_plus = (int(np.searchsorted(stances, 0.0, side)) for side in ("left", "right"))
    plus = n - from_plus
    spread = variance >= 1e-24 and n > 3
    moments = (float((squared * each).mean()) for each in (away, squared))
    return {
        "agents": n, "mean": mean, "sd": math.sqrt(variance), "share_for": plus / n, "share_against": minus / n,
        "share_at_bounds": float((size >= BOUND).mean()),
        **{f"q{round(100 * q):02d}": _quantile(stances, q) for q in QUANTILES},
        "polarization": max(2.0 * variance - distance * distance, 0.0),  # rounding may leave a hair below 0
        "bimodality": bimodality(*_corrected(n, variance, *moments), n) if spread else math.nan,
        "mean_distance": max(distance, 0.0), "extremity": float(size.mean()),
        "camp_gap": float(stances[from_plus:].mean() - stances[:minus].mean()) if plus and minus else math.nan,
        "camp_balance": min(plus, minus) / max(plus, minus) if plus or minus else math.nan,
    }  # fmt: skip


def counts_by_bin(stances: Float) -> Int64:
    """Return how many sorted stances are in each bin; one of 1 is in the last, one that is no number in none."""
    known = stances[: np.searchsorted(stances, math.nan)]
    return np.bincount(np.clip(np.floor((known + 1.0) * (BINS / 2)), 0, BINS - 1).astype(np.int64), minlength=BINS)


def entropy(counts: Int64) -> float:
    """Return the entropy of counts by bin, 0 where all are in one and 1 where they are spread evenly; NaN for none."""
    p = counts[counts > 0] / counts.sum()
    return min(max(float(-(p * np.log(p)).sum()) / math.log(BINS), 0.0), 1.0) if p.size else math.nan


def mean_distance(stances: Float) -> float:
    """Return the mean distance of all ordered pairs, self-pairs included, from sorted stances in linear time.

    It is 2/n² Σ (2i − n − 1) xᵢ; the mean squared distance is 2 Var(x), so that no pair has to be looked at.

    >>> mean_distance(np.array([-1.0, 1.0]))
    1.0
    """
    n = stances.size
    return 2.0 / (n * n) * float((np.arange(1.0 - n, n, 2.0) * stances).sum())


def _quantile(stances: Float, q: float) -> float:
    """Return a quantile of sorted stances, between two neighbors on the line that joins them."""
    at = q * (stances.size - 1)
    below, above = stances[math.floor(at)], stances[math.ceil(at)]
    return float(below + (above - below) * (at - math.floor(at)))


def _corrected(n: int, variance: float, third: float, fourth: float) -> tuple[float, float]:
    """Return skewness and excess kurtosis without bias, from central moments."""
    skewness = math.sqrt(n * (n - 1)) / (n - 2) * third / variance**1.5
    return skewness, ((n * n - 1) * fourth / variance**2 - 3.0 * (n - 1) ** 2) / ((n - 2) * (n - 3))


def bimodality(skewness: float, excess_kurtosis: float, n: int) -> float:
    """Return the bimodality coefficient with the sample correction: 5/9 for a uniform distribution, 1 for two points.

    Parameters
    ----------
    skewness, excess_kurtosis : float
        Bias-corrected sample moments (g₁ and g₂ as SAS and SPSS give them).
    n : int
        Agents.

    Returns
    -------
    float
        0 to 1; above 0.555 speaks for two humps. NaN under four agents or without spread.

    Examples
    --------
    >>> round(bimodality(0.0, -1.2, 10**9), 3)
    0.556
    """
    if n < 4:
        return float("nan")
    return (skewness**2 + 1.0) / (excess_kurtosis + 3.0 * (n - 1) ** 2 / ((n - 2) * (n - 3)))
