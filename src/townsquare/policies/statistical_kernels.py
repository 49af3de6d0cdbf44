"""The compiled part of the statistical policy: a chance for each row and kind, and the choice of an argument."""

from __future__ import annotations

import math
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.draws import U64, key1, key2, mix, u01

Array = npt.NDArray[Any]
_GOLDEN = U64(0x9E3779B97F4A7C15)
# Positions in statistical_params.ROW_KINDS; kernels cannot read an enum.
_LIKE_COMMENT, _FOLLOW, _UNFOLLOW, _ADD_NOTE, _RATE_NOTE = 4, 6, 7, 8, 9
# Positions in statistical_params.COEFFICIENTS.
_BASE, _DISTANCE, _ENGAGEMENT, _FOLLOWED, _FALSE, _TRUE, _UNVERIFIED, _UNLABELED, _NOTED = 0, 1, 2, 3, 4, 5, 6, 7, 8
_PLAUSIBILITY, _APPEAL, _REPEATED, _TASTE = 9, 10, 11, 12
_COMMENT_SLOT = 2
_AT_MOST = (1 + 1e-9) / (1.0 + np.exp(np.arange(32.0)))  # no chance at a logit of -k or below is above entry k
REFERENCE_POSTS, FEWEST_POSTS, MOST_POSTS = 15.0, 10, 20
"""Posts in the feed that bases refer to, and the lengths between which attention was measured: none is known beyond."""


@nb.njit(inline="always", cache=True)
def _distance(
    stance: Array, root: int, first: Array, count: Array, proposition: Array, said: Array, missing: float
) -> float:
    """Mean |own stance - stance of the post| over the propositions it speaks to; ``missing`` if to none."""
    n = count[root]
    if n == 0:
        return missing
    total = 0.0
    for x in range(first[root], first[root] + n):
        total += abs(stance[proposition[x]] - said[x])
    return float(total / n)


@nb.njit(inline="always", cache=True)
def _crowding(slot: Array, verdict: Array, note: Array, first: int, last: int) -> tuple[float, bool]:
    """ln(posts shown / 15) of one feed, within what was measured, and whether any row of it carries a label."""
    n, labeled = 0, False
    for e in range(first, last):
        n += slot[e] != _COMMENT_SLOT
        labeled = labeled or verdict[e] != 0 or note[e] >= 0
    return math.log(min(max(n, FEWEST_POSTS), MOST_POSTS) / REFERENCE_POSTS), labeled


@nb.njit(inline="always", cache=True)
def _label(t: Array, verdict: int, note: int, labeled: bool) -> float:
    """What the labels shown with a row add, or their absence where other rows have some."""
    if verdict == 0 and note < 0:
        return float(t[_UNLABELED]) if labeled else 0.0
    z = 0.0
    if verdict == 2:
        z += t[_FALSE]
    elif verdict == 1:
        z += t[_TRUE]
    elif verdict == 3:
        z += t[_UNVERIFIED]
    if note >= 0:
        z += t[_NOTED]
    return z


@nb.njit(parallel=True, cache=True, error_model="numpy")
def choose_kinds(
    agents: Array,
    indptr: Array,
    activity: Array,
    stance: Array,
    root: Array,
    slot: Array,
    likes: Array,
    verdict: Array,
    note: Array,
    offered: Array,
    first_seen: Array,
    plausibility: Array,
    appeal: Array,
    key: Array,
    first: Array,
    count: Array,
    proposition: Array,
    said: Array,
    table: Array,
    attention: float,
    allowed: Array,
    bases: Array,
    tastes: Array,
    out: Array,
) -> None:
    """Bit k of ``out[row]``: the agent does ``ROW_KINDS[k]`` to this row. Kinds are drawn independently.

    ``table`` (kinds, 13) float64 holds the coefficients in the order of ``COEFFICIENTS``; ``appeal`` (posts,) float64;
    ``allowed`` (kinds,) bool; ``bases`` (kinds,) uint64, one draw a kind, and ``tastes`` likewise, lasting ones.
    """
    for i in nb.prange(agents.shape[0]):
        a = agents[i]
        if activity[i] <= 0.0:  # never acts: the logarithm is minus infinity
            for e in range(indptr[i], indptr[i + 1]):
                out[e] = 0
            continue
        crowding, labeled = _crowding(slot, verdict, note, indptr[i], indptr[i + 1])
        start, words = np.empty(table.shape[0]), np.empty(table.shape[0], np.uint64)
        for k in range(table.shape[0]):
            words[k] = key1(bases[k], a)
            start[k] = table[k, _BASE] + math.log(activity[i]) + attention * crowding
            if table[k, _TASTE] > 0.0:
                u = u01(key2(tastes[k], a, U64(0))) + 5e-17
                start[k] += table[k, _TASTE] * math.log(u / (1.0 - u))
        for e in range(indptr[i], indptr[i + 1]):
            r = root[e]
            distance = _distance(stance[i], r, first, count, proposition, said, 0.5) - 0.5
            engaged = math.log1p(likes[e])
            doubt = plausibility[r] - 0.5
            bits = 0
            for k in range(table.shape[0]):
                if not allowed[k] or (slot[e] == _COMMENT_SLOT) != (k == _LIKE_COMMENT):
                    continue
                if (k == _FOLLOW and slot[e] != 1) or (k == _UNFOLLOW and slot[e] != 0):
                    continue
                if k == _RATE_NOTE and offered[e] < 0:
                    continue
                t = table[k]
                z = start[k] + t[_DISTANCE] * distance + t[_ENGAGEMENT] * engaged + t[_PLAUSIBILITY] * doubt
                z += t[_APPEAL] * appeal[r] + _label(t, verdict[e], note[e], labeled)
                if slot[e] == 0:
                    z += t[_FOLLOWED]
                if not first_seen[e]:
                    z += t[_REPEATED]
                u = u01(mix(words[k] ^ key[r]))
                if z < 0.0 and u >= _AT_MOST[int(min(-z, 31.0))]:
                    continue  # most draws: the exponential is spared
                if u < 1.0 / (1.0 + math.exp(-z)):
                    bits |= 1 << k
            out[e] = bits


@nb.njit(parallel=True, cache=True, error_model="numpy")
def choose_writers(agents: Array, activity: Array, rate: float, base: U64, out: Array) -> None:
    """Whether each agent writes a post in this step: chance 1 - exp(-rate x activity)."""
    for i in nb.prange(agents.shape[0]):
        out[i] = u01(key2(base, agents[i], U64(0))) < -math.expm1(-rate * activity[i])


@nb.njit(parallel=True, cache=True, error_model="numpy")
def rate_helpful(
    agents: Array,
    stance: Array,
    at: Array,
    root: Array,
    plausibility: Array,
    key: Array,
    first: Array,
    count: Array,
    proposition: Array,
    said: Array,
    by_distance: float,
    by_doubt: float,
    base: U64,
    out: Array,
) -> None:
    """Whether each rating finds its note helpful; ``at`` (n,) is the place of the agent in ``stance``.

    Drawn by (agent, root): an agent is offered at most one note a root and step, and rows of notes are no keys.
    """
    for i in nb.prange(agents.shape[0]):
        distance = _distance(stance[at[i]], root[i], first, count, proposition, said, 1.0)
        z = by_distance * (distance - 1.0) + by_doubt * (0.5 - plausibility[root[i]])
        u = u01(key2(base, agents[i], key[root[i]]))
        out[i] = 1 if u < 1.0 / (1.0 + math.exp(-z)) else 0


@nb.njit(parallel=True, cache=True, error_model="numpy")
def choose_arguments(
    agents: Array,
    keys: Array,
    stance: Array,
    ptr: Array,
    entry: Array,
    said: Array,
    proposition: Array,
    side: float,
    width: float,
    side_base: U64,
    base: U64,
    out: Array,
) -> None:
    """An entry of the argument bank for each writer; -1 where the proposition has none.

    The side is for with chance (1 + side S)/2; within it entries are drawn with weight exp(-|s - S|/width), as the
    largest of keyed Gumbel draws. ``ptr`` (P + 1,) and ``entry`` list the bank by proposition.
    """
    for i in nb.prange(agents.shape[0]):
        p = proposition[i]
        out[i] = -1
        if p < 0:
            continue
        pro = u01(key2(side_base, agents[i], keys[i])) < (1.0 + side * stance[i]) / 2.0
        start = key2(base, agents[i], keys[i])
        best, best_other, other = -np.inf, -np.inf, -1
        for x in range(ptr[p], ptr[p + 1]):
            j = entry[x]
            u = u01(mix(start + U64(j + 1) * _GOLDEN)) + 5e-17
            value = -abs(said[j] - stance[i]) / width - math.log(-math.log(u))
            if (said[j] > 0.0) == pro:
                if value > best:
                    best, out[i] = value, j
            elif value > best_other:
                best_other, other = value, j
        if out[i] < 0:
            out[i] = other
