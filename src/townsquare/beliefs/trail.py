"""Assemble the trail of a step from the parts of the move that a kernel wrote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.beliefs.arrays import Beliefs, Moved, columns, settings, unmoved
from townsquare.beliefs.contract import DTYPES, AgentParams, BeliefInputs, BeliefState, Exposed, Own, Trail
from townsquare.core.array_types import Int64
from townsquare.core.enums import TrailKind
from townsquare.core.schema import NONE
from townsquare.core.threads import Part, in_parts

_EXPOSURE, _OWN = int(TrailKind.EXPOSURE), int(TrailKind.OWN)
_ANCHOR, _CLIP = int(TrailKind.ANCHOR), int(TrailKind.CLIP)
_RETRACTED, _NONE = int(TrailKind.RETRACTED), NONE


def step_by(
    kernel: Callable[..., None], names: tuple[str, ...], state: BeliefState, inputs: BeliefInputs, params: AgentParams
) -> tuple[BeliefState, Trail]:
    """Return the step of a rule whose compiled ``kernel`` moves stances alone by its settings ``names``."""
    rows, n = columns(Exposed, inputs.exposures), state.stance.shape[0]
    moved = unmoved(state, rows.stance.shape[0], inputs.own.post.shape[0])
    in_parts(kernel, n, rows, columns(Beliefs, state), settings(params, names, n), moved)
    return replace(state, stance=moved.stance), assemble(inputs, moved)


def no_trail() -> Trail:
    """Return no rows.

    >>> len(no_trail().amount)
    0
    """
    return _room(0)


def trail_rows(n: int, **columns: npt.ArrayLike) -> Trail:
    """Return ``n`` trail rows of these columns, each (n,) or one value; rank and post are -1, trust NaN by default."""
    given = {"rank": NONE, "post": NONE, "trust": np.nan, **columns}
    return Trail(*(np.broadcast_to(np.asarray(given[name], DTYPES[name]), n) for name in Trail._fields))


def assemble(inputs: BeliefInputs, moved: Moved) -> Trail:
    """Return the rows of a step in stance units, agent by agent: exposures, own posts, anchor, clip.

    Every exposure of the input is a row, also where it moved nothing, so that a reader can see that it was weighed.
    What an exposure took back of an earlier move, own posts, anchors and clips are rows only where their amount is not
    0. The order does not depend on how agents were cut into blocks.
    """
    exposures, own = columns(Exposed, inputs.exposures), columns(Own, inputs.own)
    first = np.zeros(moved.stance.shape[0] + 1, np.int64)
    in_parts(_count, moved.stance.shape[0], exposures, own, moved, first)
    np.cumsum(first, out=first)
    trail = _room(int(first[-1]))
    in_parts(_fill, moved.stance.shape[0], exposures, own, moved, first, trail)
    return trail


def _room(n: int) -> Trail:
    return Trail(*(np.empty(n, DTYPES[name]) for name in Trail._fields))


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _count(part: Part, exposures: Exposed, written: Own, moved: Moved, rows: Int64) -> None:
    """Write into ``rows[i + 1]`` how many rows agent i gets."""
    indptr, own_indptr = exposures.indptr, written.indptr
    own, anchor, clip, retracted = moved.own, moved.anchor, moved.clip, moved.retracted
    retracts = retracted.shape[0] > 0
    for i in range(part.start, part.stop):
        n = indptr[i + 1] - indptr[i]
        for x in range(indptr[i], indptr[i + 1] if retracts else indptr[i]):
            n += retracted[x] != 0.0
        for x in range(own_indptr[i], own_indptr[i + 1]):
            n += own[x] != 0.0
        for k in range(anchor.shape[1]):
            n += anchor[i, k] != 0.0
            n += clip[i, k] != 0.0
        rows[i + 1] = n


@nb.njit(cache=True, error_model="numpy")
def _put(
    trail: Trail, at: int, cell: tuple[int, int], source: tuple[int, int, int], amount: float, trust: float
) -> int:
    """Write a row of a cell (agent, proposition) and a source (kind, rank, post); return the place of the next."""
    trail.agent[at], trail.proposition[at] = cell
    trail.kind[at], trail.rank[at], trail.post[at] = source
    trail.amount[at], trail.trust[at] = amount, trust
    return at + 1


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _fill(part: Part, exposures: Exposed, written: Own, moved: Moved, first: Int64, trail: Trail) -> None:
    indptr, proposition, post, rank = exposures[:4]
    own_indptr, own_proposition, own_post = written.indptr, written.proposition, written.post
    _, _, exposure, trust, own, anchor, clip, retracted = moved
    retracts = retracted.shape[0] > 0
    for i in range(part.start, part.stop):
        at = first[i]
        for x in range(indptr[i], indptr[i + 1]):
            at = _put(trail, at, (i, proposition[x]), (_EXPOSURE, rank[x], post[x]), exposure[x], trust[x])
            if retracts and retracted[x] != 0.0:
                at = _put(trail, at, (i, proposition[x]), (_RETRACTED, rank[x], post[x]), retracted[x], np.nan)
        for x in range(own_indptr[i], own_indptr[i + 1]):
            if own[x] != 0.0:
                at = _put(trail, at, (i, own_proposition[x]), (_OWN, _NONE, own_post[x]), own[x], np.nan)
        for k in range(anchor.shape[1]):
            if anchor[i, k] != 0.0:
                at = _put(trail, at, (i, k), (_ANCHOR, _NONE, _NONE), anchor[i, k], np.nan)
            if clip[i, k] != 0.0:
                at = _put(trail, at, (i, k), (_CLIP, _NONE, _NONE), clip[i, k], np.nan)
