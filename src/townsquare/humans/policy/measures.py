"""Measures of who did what to which post, and distances between two sets of agents.

A set is a table (n, J, 4) bool: whether each of n did each kind (``policy_data.KINDS``) to each of J posts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from townsquare.analysis import statistics
from townsquare.core.array_types import Bool, Float

_SHARE = 1


class Measure(NamedTuple):
    """One measure.

    ``of(did, false)`` is its value for one set: an array for the action mix and for ranks. ``apart(mine, people)`` is
    how far two values are apart, 0 for alike.
    """

    name: str
    title: str
    of: Callable[[Bool, Float], Float]
    apart: Callable[[Float, Float], float]


def mix(did: Bool, false: Float) -> Float:
    """Return shares of the four kinds among all actions, (4,); NaN where nobody did anything."""
    done = did.sum((0, 1)).astype(np.float64)
    return np.asarray(done / done.sum()) if done.sum() else np.full(4, np.nan)


def jensen_shannon(first: Float, second: Float) -> float:
    """Return Jensen-Shannon divergence in bits, 0 to 1.

    >>> jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.0
    """
    middle = (first + second) / 2

    def against(p: Float) -> float:
        some = p > 0
        return float((p[some] * np.log2(p[some] / middle[some])).sum())

    return (against(first) + against(second)) / 2


def lurkers(did: Bool, false: Float) -> Float:
    """Return share that did nothing at all."""
    return np.array((did.sum((1, 2)) == 0).mean())


def actions_each(did: Bool, false: Float) -> Float:
    """Return mean number of actions."""
    return np.array(did.sum((1, 2)).mean())


def dispersion(did: Bool, false: Float) -> Float:
    """Return variance over mean of the number of actions; 1 if all acted by one small chance."""
    n = did.sum((1, 2))
    return np.array(n.var(ddof=1) / n.mean() if n.size > 1 and n.any() else np.nan)


def gini(did: Bool, false: Float) -> Float:
    """Return Gini coefficient of the number of actions, 0 to 1.

    >>> float(gini(np.array([[[True]], [[False]]]), np.zeros(1)))
    0.5
    """
    return np.array(statistics.gini(did.sum((1, 2))))


def per_post(did: Bool, false: Float) -> Float:
    """Return actions of any kind a person on each post, (J,)."""
    return np.asarray(did.mean(0).sum(1))


def per_post_of(kind: int) -> Callable[[Bool, Float], Float]:
    """Return actions of one kind a person on each post, (J,)."""
    return lambda did, false: np.asarray(did[:, :, kind].mean(0))


def spearman_apart(first: Float, second: Float) -> float:
    """Return 1 minus the rank correlation; 1 where either set does not vary."""
    ranks = rankdata(first), rankdata(second)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 1.0
    return 1.0 - float(np.corrcoef(*ranks)[0, 1])


def false_to_true(did: Bool, false: Float) -> Float:
    """Return shares per false post over shares per true post, each sum plus half a share; NaN without both."""
    shares = did[:, :, _SHARE].sum(0)
    lies, truths = shares[false == 1], shares[false == 0]
    if not lies.size or not truths.size:
        return np.array(np.nan)
    return np.array((lies.sum() + 0.5) / lies.size / ((truths.sum() + 0.5) / truths.size))


def difference(first: Float, second: Float) -> float:
    """Return absolute difference."""
    return abs(float(first - second))


def log_ratio(first: Float, second: Float) -> float:
    """Return absolute difference of logarithms: 0.69 is half or twice; infinite where one is 0."""
    if not first > 0 or not second > 0:
        return float("nan") if np.isnan(first) or np.isnan(second) else float("inf")
    return abs(float(np.log(first / second)))


MEASURES = (
    Measure("mix", "action mix", mix, jensen_shannon),
    Measure("silent", "people without actions", lurkers, difference),
    Measure("actions", "actions per person", actions_each, log_ratio),
    Measure("dispersion", "dispersion of activity", dispersion, log_ratio),
    Measure("gini", "Gini of activity", gini, difference),
    Measure("rank", "ranks of posts, all kinds", per_post, spearman_apart),
    *(
        Measure(f"rank_{kind}", f"ranks by {kind}s", per_post_of(k), spearman_apart)
        for k, kind in enumerate(("like", "share", "comment", "note"))
    ),
    Measure("false_to_true", "shares of false to true", false_to_true, log_ratio),
)
