"""Draw directed random graphs in which the chance of a follow depends on blocks alone."""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Int32, Int64
from townsquare.core.draws import U64, key2, u01
from townsquare.core.threads import Part, in_parts
from townsquare.scenario.graphs.contract import Edges


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _walk(
    part: Part, order: Int64, start: Int64, block: Int64, within: npt.NDArray[np.float64], between: float, base: U64,
    offsets: Int64, followed: Int32,
) -> None:  # fmt: skip
    """Walk the agents of one's own block, then all others, in geometric leaps; count the follows, or fill them in.

    ``order`` (n,) lists agents block by block, ``start`` (B + 1,) says where each block begins in it. Follows are
    counted where ``followed`` has no room for any.
    """
    n = order.shape[0]
    fill = followed.shape[0] > 0
    for here in range(part.start, part.stop):
        i = order[here]
        first = start[block[i]]
        many = start[block[i] + 1] - first
        count = 0
        for outside in range(2):
            p = within[block[i]] if outside == 0 else between
            end = many - 1 if outside == 0 else n - many
            log_miss = np.log1p(-p)  # -inf at p = 1, where every leap is one
            at = -1.0
            leap = 0
            while p > 0:
                u = u01(key2(base, i, (U64(outside) << U64(32)) + U64(leap)))
                leap += 1
                at += 1.0 + np.floor(np.log1p(-u) / log_miss)
                if not at < end:
                    break
                if fill:
                    spot = np.int64(at)
                    if outside == 0:
                        spot += first
                        spot += spot >= here
                    else:
                        spot += many * (spot >= first)
                    followed[offsets[i] + count] = np.int32(order[spot])
                count += 1
        if not fill:
            offsets[i + 1] = count


def follow_by_block(block: Int64, within: npt.NDArray[np.float64], between: float, base: U64) -> Edges:
    """Draw each possible follow independently.

    Batagelj and Brandes 2005, "Efficient generation of large random networks": the gap to the next success of a row
    of Bernoulli trials is geometric, so that the cost is in line with follows and not with n squared.

    Parameters
    ----------
    block : (n,) int64
        The block of each agent, from 0.
    within : (B,) float64
        Chance of a follow inside each block.
    between : float
        Chance of a follow from one block to another.
    base : uint64
        Key of the draws.
    """
    order = np.argsort(block, kind="stable")
    start = np.searchsorted(block[order], np.arange(within.shape[0] + 1))
    offsets = np.zeros(block.shape[0] + 1, np.int64)
    in_parts(_walk, block.shape[0], order, start, block, within, between, base, offsets, np.empty(0, np.int32))
    np.cumsum(offsets, out=offsets)
    followed = np.empty(int(offsets[-1]), np.int32)
    in_parts(_walk, block.shape[0], order, start, block, within, between, base, offsets, followed)
    return Edges(np.repeat(np.arange(block.shape[0], dtype=np.int32), np.diff(offsets)), followed)
