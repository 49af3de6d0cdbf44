"""``scale_free``: preferential attachment by degree.

Barabási and Albert 1999, "Emergence of scaling in random networks", with edges that point from the newer agent to the
older. In theory degrees have a power-law tail of exponent 3, and 2/(m + 2) of all agents have no follower. It is the
graph of MOSAIC's main text.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from townsquare.core.array_types import Int32
from townsquare.core.draws import U64, StageDraws, key2, u01
from townsquare.scenario.graphs.contract import Edges, GraphKind, check_size
from townsquare.settings.config import MemberParams, setting


class ScaleFreeParams(MemberParams):
    """Settings of ``scale_free``."""

    m: int = setting(10, "accounts that each agent follows; 3 in MOSAIC's code", ge=1, le=1000)


@nb.njit(cache=True, error_model="numpy")
def _grow(n: int, m: int, base: U64, followed: Int32) -> None:
    """Fill ``followed`` (n, m). Of all slots, an earlier agent holds one for each end of a follow that is its own."""
    for i in range(m + 1):
        for q in range(m):
            followed[i, q] = q if q < i else q + 1
    taken_by = np.full(n, -1, np.int32)
    for i in range(m + 1, n):
        filled = 0
        tried = 0
        while filled < m:
            slot = np.int64(u01(key2(base, i, U64(tried))) * (i * 2 * m))
            tried += 1
            owner = slot // (2 * m)
            at = slot - owner * 2 * m
            chosen = owner if at >= m else np.int64(followed[owner, at])
            if taken_by[chosen] != i:
                taken_by[chosen] = i
                followed[i, filled] = chosen
                filled += 1


def _build(n: int, params: ScaleFreeParams, draws: StageDraws, **_: object) -> Edges:
    """Agent ``i`` follows ``m`` distinct earlier agents, each with probability in proportion to its degree.

    The degree counts follows in both directions. The first m + 1 agents follow one another; with fewer agents than
    that, everyone follows everyone.
    """
    m = max(0, min(params.m, n - 1))
    check_size("graph.m", n * m, f"{params.m}")
    followed = np.empty((n, m), np.int32)
    _grow(n, m, draws.base("follow", lasting=True), followed)
    return Edges(np.repeat(np.arange(n, dtype=np.int32), m), followed.reshape(-1))


SCALE_FREE = GraphKind("scale_free", ScaleFreeParams, _build, lambda params, n: params.m)
