"""Trust of an agent in an author: one number a pair, kept in ``state.pairs["trust"]``."""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.beliefs.arrays import read_only, settings
from townsquare.beliefs.contract import AgentParams, BeliefState, Exposed, Float
from townsquare.pairs import PairBlock, upsert

TRUST = "trust"


@nb.njit(parallel=True, cache=True, error_model="numpy")
def _start(indptr: npt.NDArray[np.int64], credibility: Float, trust_start: Float, out: Float) -> None:
    """What each row's author would start with: its credibility, or the reader's own ``trust_start`` where NaN."""
    rows = trust_start.shape[0]
    for i in nb.prange(indptr.shape[0] - 1):
        unknown = trust_start[i % rows, 0]
        for x in range(indptr[i], indptr[i + 1]):
            out[x] = unknown if np.isnan(credibility[x]) else credibility[x]


def author_trust(
    state: BeliefState, exposures: Exposed, params: AgentParams
) -> tuple[PairBlock, npt.NDArray[np.int64]]:
    """A new block that holds every author of the exposures, and where each row's author stands in its ``value``.

    Authors that the agent never met start at their ``credibility``, or at ``trust_start`` where that is NaN. The
    ``value`` of the new block is the caller's to step; the old block is not touched.
    """
    indptr = read_only(exposures.indptr, np.int64)
    fresh = np.empty(exposures.author.shape[0])
    trust_start = settings(params, ("trust_start",), state.stance.shape[0])
    _start(indptr, read_only(exposures.credibility, np.float64), trust_start, fresh)
    old = state.pairs[TRUST]
    before = PairBlock(read_only(old.indptr, np.int64), read_only(old.key, np.int32), read_only(old.value, np.float64))
    block, slot, _ = upsert(before, indptr, read_only(exposures.author, np.int32), fresh)
    return block, slot
