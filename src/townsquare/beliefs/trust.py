"""Trust of an agent in an author: one number per pair, in ``state.pairs["trust"]``."""

from __future__ import annotations

import numba as nb
import numpy as np

from townsquare.beliefs.arrays import Table, columns, pairs_of, read_only, settings
from townsquare.beliefs.contract import AgentParams, BeliefState, ClaimExposures, Exposed
from townsquare.beliefs.move_kernels import learned
from townsquare.core.array_types import Float, Int64
from townsquare.core.pairs import PairBlock, upsert
from townsquare.core.threads import Part, in_parts

TRUST = "trust"


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _start(part: Part, indptr: Int64, credibility: Float, table: Table, out: Float) -> None:
    """Write each author's starting trust: its credibility, or the reader's own ``trust_start`` where NaN."""
    for i in range(part.start, part.stop):
        p = table[i % table.shape[0]]
        for x in range(indptr[i], indptr[i + 1]):
            out[x] = p.trust_start if np.isnan(credibility[x]) else credibility[x]


def author_trust(
    state: BeliefState, exposures: Exposed | ClaimExposures, params: AgentParams
) -> tuple[PairBlock, Int64]:
    """Return a new block that holds every author of the exposures, and where each row's author is in its ``value``.

    Authors that the agent never met start at their ``credibility``, or at ``trust_start`` where that is NaN. The
    ``value`` of the new block is the caller's to step; the old block is not touched.
    """
    indptr = read_only(exposures.indptr, np.int64)
    fresh = np.empty(exposures.author.shape[0])
    trust_start = settings(params, ("trust_start",), state.stance.shape[0])
    in_parts(_start, indptr.shape[0] - 1, indptr, read_only(exposures.credibility, np.float64), trust_start, fresh)
    block, slot, _ = upsert(pairs_of(state.pairs[TRUST]), indptr, read_only(exposures.author, np.int32), fresh)
    return block, slot


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _learn(part: Part, rows: Exposed, stance: Float, slot: Int64, table: Table, trust: Float) -> None:
    indptr, proposition, shown = rows.indptr, rows.proposition, rows.stance
    for i in range(part.start, part.stop):
        p = table[i % table.shape[0]]
        for x in range(indptr[i], indptr[i + 1]):
            trust[slot[x]] = learned(trust[slot[x]], shown[x], stance[i, proposition[x]], p.trust_rate)


def learn_trust(trust: Float, slot: Int64, exposures: Exposed, stance: Float, params: AgentParams) -> None:
    """Step trust toward agreement, row by row and clipped each time, as ``exposure`` does; ``trust`` is written.

    Parameters
    ----------
    trust : float64
        In [0, 1], by pair of agent and author.
    slot : (m,) int64
        Where each row's author is in ``trust``.
    exposures : Exposed
        Rows of m stances shown.
    stance : (n, P) float64
        What resulted from the step.
    params : mapping
        ``trust_rate`` of each agent.
    """
    table = settings(params, ("trust_rate",), stance.shape[0])
    in_parts(_learn, stance.shape[0], columns(Exposed, exposures), read_only(stance, np.float64), slot, table, trust)
