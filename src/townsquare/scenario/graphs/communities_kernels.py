"""Follows are sought one after the other: in the own community, among followees of followees, and anywhere."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from townsquare.core.array_types import Float, Int32, Int64
from townsquare.core.draws import U64, key2, u01
from townsquare.scenario.graphs.contract import Edges

TRIES = 12
"""Candidates that an agent looks at for each follow that it seeks, at most."""


class Seek(NamedTuple):
    """Chances of a search: two ways to find a candidate, what a candidate is kept with, and following back."""

    inside: float
    closure: float
    homophily: float
    taste_homophily: float
    follow_back: float
    by_homophily: float = 0.0


class Members(NamedTuple):
    """Agents by community.

    ``group`` (n,) int64 is the answer to the trait that counts; 0 for all without one.
    ``order`` (n,) int64 lists agents community by community, ``community`` (n,) int64 is that of each agent, ``start``
    (K + 1,) int64 where each begins in ``order``, ``before`` (n + 1,) float64 the popularity of all earlier ones.
    """

    order: Int64
    community: Int64
    start: Int64
    before: Float
    group: Int64


@nb.njit(inline="always", cache=True)
def _pick(order: Int64, before: Float, low: int, high: int, u: float) -> int:
    """Return an agent of ``order[low:high]`` by popularity."""
    at = np.searchsorted(before, before[low] + u * (before[high] - before[low]), side="right") - 1
    chosen: int = order[min(max(at, low), high - 1)]
    return chosen


@nb.njit(inline="always", cache=True)
def _one_of(head: Int64, earlier: Int64, whom: Int32, agent: int, many: int, u: float) -> int:
    """Return one of the ``many`` accounts that an agent follows so far."""
    at = head[agent]
    for _ in range(min(int(u * many), many - 1)):
        at = earlier[at]
    chosen: int = whom[at]
    return chosen


@nb.njit(cache=True)
def _seek(
    turn: Int64, members: Members, stance: Float, taste: Float, want: Int64, seek: Seek, base: U64,
    who: Int32, whom: Int32,
) -> int:  # fmt: skip
    """Fill in follows, and return how many there are. Each agent's follows are a list linked from new to old."""
    n = stance.shape[0]
    order, before = members.order, members.before
    head, many = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    earlier = np.empty(who.shape[0], np.int64)
    taken_by = np.full(n, -1, np.int32)
    size = 0
    for i in turn:
        taken_by[i] = i
        at = head[i]
        while at >= 0:
            taken_by[whom[at]] = i
            at = earlier[at]
        low, high = members.start[members.community[i]], members.start[members.community[i] + 1]
        sought = 0
        for attempt in range(TRIES * want[i]):
            if sought == want[i]:
                break
            key = U64(attempt) * U64(8)
            way, u = u01(key2(base, i, key)), u01(key2(base, i, key + U64(1)))
            if way < seek.inside:
                j = _pick(order, before, low, high, u)
            elif way < seek.inside + seek.closure and many[i] > 0:
                between = _one_of(head, earlier, whom, i, many[i], u)
                if many[between] == 0:
                    continue
                j = _one_of(head, earlier, whom, between, many[between], u01(key2(base, i, key + U64(2))))
            else:
                j = _pick(order, before, 0, n, u)
            if taken_by[j] == i:
                continue
            apart = seek.homophily * abs(stance[i] - stance[j]) + seek.taste_homophily * abs(taste[i] - taste[j])
            if members.group[i] != members.group[j]:
                apart += seek.by_homophily
            if u01(key2(base, i, key + U64(3))) >= np.exp(-apart):
                continue
            taken_by[j] = i
            who[size], whom[size], earlier[size] = i, j, head[i]
            head[i] = size
            many[i] += 1
            size += 1
            sought += 1
            if u01(key2(base, i, key + U64(4))) >= seek.follow_back:
                continue
            at = head[j]
            while at >= 0 and whom[at] != i:
                at = earlier[at]
            if at < 0:
                who[size], whom[size], earlier[size] = j, i, head[j]
                head[j] = size
                many[j] += 1
                size += 1
    return size


def seek_follows(
    turn: Int64, members: Members, stance: Float, taste: Float, want: Int64, seek: Seek, base: U64
) -> Edges:
    """Let agents seek the accounts that they follow, one agent after the other.

    Parameters
    ----------
    turn : (n,) int64
        Agents in the order in which they seek.
    members : Members
        Who is in which community, and how popular.
    stance, taste : (n,) float64
        What makes agents alike; 0 for all where it is to have no effect.
    want : (n,) int64
        Accounts that each agent seeks; an agent looks at :data:`TRIES` candidates for each at most.
    seek : Seek
        Chances.
    base : uint64
        Key of the draws.

    Returns
    -------
    Edges
        Sorted by follower, then followed.
    """
    most = 2 * int(want.sum())
    who, whom = np.empty(most, np.int32), np.empty(most, np.int32)
    size = _seek(turn, members, stance, taste, want, seek, base, who, whom)
    by = np.lexsort((whom[:size], who[:size]))
    return Edges(who[by], whom[by])
