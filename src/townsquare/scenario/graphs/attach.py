"""Whom newcomers follow, regardless of the graph was at the start."""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Int32, Int64
from townsquare.core.draws import U64, StageDraws, key2, u01
from townsquare.core.threads import Part, in_parts
from townsquare.scenario.graphs.contract import Edges


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _attach(part: Part, new: Int64, before: Int64, m: int, base: U64, followed: Int32) -> None:
    """Draw ``m`` distinct agents for each newcomer, each by its weight among those not yet drawn.

    ``before`` (N + 1,) holds the weights summed up. Exactly one draw a follow: a number below the weight that is
    left, shifted past those drawn already in order of their rows.
    """
    n = before.shape[0] - 1
    for i in range(part.start, part.stop):
        drawn = np.empty(m, np.int64)
        left = before[n]
        for q in range(m):
            spot = np.int64(u01(key2(base, new[i], U64(q))) * left)
            for x in range(q):
                if spot >= before[drawn[x]]:
                    spot += before[drawn[x] + 1] - before[drawn[x]]
            chosen = np.searchsorted(before, spot, side="right") - 1
            left -= before[chosen + 1] - before[chosen]
            followed[i * m + q] = chosen
            y = q
            while y > 0 and drawn[y - 1] > chosen:
                drawn[y] = drawn[y - 1]
                y -= 1
            drawn[y] = chosen


def attach(new: Int64, in_degree: npt.NDArray[np.integer], m: int, draws: StageDraws) -> Edges:
    """Return whom newcomers follow: ``m`` distinct agents, each with probability in proportion to in-degree + 1.

    Parameters
    ----------
    new : (k,) int64
        Rows of the newcomers. A newcomer's draws are keyed by its row: others who join do not change them.
    in_degree : (N,) int
        Followers of each agent that was there before; -1 for one that nobody new may follow. All newcomers of a step
        see the same in-degrees and do not follow one another.
    m : int
        Follows a newcomer; all that may be followed if they are fewer.
    draws : StageDraws
        Of the stage ``GRAPH``; drawn as lasting.

    Returns
    -------
    Edges
        k * m follows, in the order of ``new``.
    """
    weight = np.asarray(in_degree, np.int64) + 1
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(weight)])
    m = min(m, int(np.count_nonzero(weight > 0)))
    new = np.ascontiguousarray(new, np.int64)
    followed = np.empty(new.shape[0] * m, np.int32)
    in_parts(_attach, new.shape[0], new, before, m, draws.base("attach", lasting=True), followed)
    return Edges(np.repeat(new.astype(np.int32), m), followed)
