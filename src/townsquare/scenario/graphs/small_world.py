"""``small_world``: a ring of neighbors with some follows turned to anywhere.

Watts and Strogatz 1998, "Collective dynamics of 'small-world' networks", in a directed form: agents stand on a ring in
the order of their rows, and each follows the k/2 before it and the k/2 after it; then each of these follows, with
probability p, is turned to an agent drawn evenly from those that it does not follow. So everyone follows exactly k
whatever p is, and p = 0 is the ring; a turned follow is not turned for both, as it is in the undirected original.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from townsquare.core.array_types import Int32
from townsquare.core.draws import U64, StageDraws, key2, u01
from townsquare.core.threads import Part, in_parts
from townsquare.scenario.graphs.contract import Edges, GraphKind, check_size
from townsquare.settings.config import MemberParams, setting


class SmallWorldParams(MemberParams):
    """Settings of ``small_world``."""

    k: int = setting(10, "accounts that each agent follows, half on each side", ge=2, le=1000, multiple_of=2)
    p: float = setting(0.1, "probability that a follow is rewired to a random account", ge=0, le=1)


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _ring(part: Part, k: int, p: float, turn: U64, target: U64, followed: Int32) -> None:
    """Fill ``followed`` (n, k): the ring, then each follow in turn, turned or not.

    A target is drawn until it is one that the agent does not follow; its key holds the place in the row and the try.
    """
    n = followed.shape[0]
    for i in range(part.start, part.stop):
        row = followed[i]
        for q in range(k):
            step = q // 2 + 1
            row[q] = (i + step if q % 2 == 0 else i - step + n) % n
        for q in range(k):
            if u01(key2(turn, i, U64(q))) >= p:
                continue
            tried = 0
            while True:
                drawn = np.int32(u01(key2(target, i, (U64(q) << U64(32)) + U64(tried))) * n)
                tried += 1
                free = drawn != i
                for other in row:
                    free = free and other != drawn
                if free:
                    row[q] = drawn
                    break


def _build(n: int, params: SmallWorldParams, draws: StageDraws, **_: object) -> Edges:
    """Return the graph of this file's heading; with at most k + 1 agents, everyone follows everyone."""
    check_size("graph.k", n * min(params.k, n - 1), f"{params.k}")
    everyone = n - 1 <= params.k
    k, p = (n - 1, 0.0) if everyone else (params.k, params.p)
    followed = np.empty((n, k), np.int32)
    in_parts(_ring, n, k, p, draws.base("turn", lasting=True), draws.base("target", lasting=True), followed)
    return Edges(np.repeat(np.arange(n, dtype=np.int32), k), followed.reshape(-1))


SMALL_WORLD = GraphKind("small_world", SmallWorldParams, _build, lambda params, n: params.k)
