"""The trail of a step, put together from the parts of the move that a kernel wrote."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.beliefs.arrays import Moved, read_only
from townsquare.beliefs.contract import BeliefInputs, Exposed, Float, Own, Trail
from townsquare.core.schema import NONE, TrailKind

_EXPOSURE, _OWN = int(TrailKind.EXPOSURE), int(TrailKind.OWN)
_ANCHOR, _CLIP = int(TrailKind.ANCHOR), int(TrailKind.CLIP)
_NONE = NONE


class _Sources(NamedTuple):
    """Where the rows come from: columns of the exposures (m,) and of the own posts (k,)."""

    indptr: npt.NDArray[np.int64]
    proposition: npt.NDArray[np.int16]
    rank: npt.NDArray[np.int16]
    post: npt.NDArray[np.int32]
    own_indptr: npt.NDArray[np.int64]
    own_proposition: npt.NDArray[np.int16]
    own_post: npt.NDArray[np.int32]


class _Parts(NamedTuple):
    """What they contributed: (m,), (m,), (k,), (n, P), (n, P)."""

    exposure: Float
    trust: Float
    own: Float
    anchor: Float
    clip: Float


def no_trail() -> Trail:
    """No rows.

    >>> len(no_trail().amount)
    0
    """
    return _room(0)


def assemble(inputs: BeliefInputs, moved: Moved) -> Trail:
    """The rows of a step in stance units, agent by agent: exposures, own posts, anchor, clip.

    Every exposure of the input is a row, also where it moved nothing, so that a reader can see that it was weighed;
    own posts, anchors and clips are rows only where their amount is not 0. The order does not depend on how agents
    were cut into blocks.
    """
    sources = _sources(inputs.exposures, inputs.own)
    parts = _Parts(*(read_only(part, np.float64) for part in _parts(moved)))
    first = np.zeros(moved.stance.shape[0] + 1, np.int64)
    _count(sources, parts, first)
    np.cumsum(first, out=first)
    trail = _room(int(first[-1]))
    _fill(sources, parts, first, trail)
    return trail


def _sources(exposures: Exposed, own: Own) -> _Sources:
    return _Sources(
        read_only(exposures.indptr, np.int64),
        read_only(exposures.proposition, np.int16),
        read_only(exposures.rank, np.int16),
        read_only(exposures.post, np.int32),
        read_only(own.indptr, np.int64),
        read_only(own.proposition, np.int16),
        read_only(own.post, np.int32),
    )


def _parts(moved: Moved) -> tuple[Float, Float, Float, Float, Float]:
    return moved.exposure, moved.trust, moved.own, moved.anchor, moved.clip


def _room(n: int) -> Trail:
    return Trail(
        agent=np.empty(n, np.int32),
        proposition=np.empty(n, np.int16),
        kind=np.empty(n, np.uint8),
        rank=np.empty(n, np.int16),
        post=np.empty(n, np.int32),
        amount=np.empty(n, np.float64),
        trust=np.empty(n, np.float64),
    )


@nb.njit(parallel=True, nogil=True, cache=True, error_model="numpy")
def _count(sources: _Sources, parts: _Parts, rows: npt.NDArray[np.int64]) -> None:
    """Write into ``rows[i + 1]`` how many rows agent i gets."""
    indptr, own_indptr = sources.indptr, sources.own_indptr
    own, anchor, clip = parts.own, parts.anchor, parts.clip
    for i in nb.prange(rows.shape[0] - 1):
        n = indptr[i + 1] - indptr[i]
        for x in range(own_indptr[i], own_indptr[i + 1]):
            n += own[x] != 0.0
        for k in range(anchor.shape[1]):
            n += anchor[i, k] != 0.0
            n += clip[i, k] != 0.0
        rows[i + 1] = n


@nb.njit(cache=True, error_model="numpy")
def _put(
    trail: Trail, at: int, agent: int, proposition: int, kind: int, rank: int, post: int, amount: float, trust: float
) -> int:
    trail.agent[at] = agent
    trail.proposition[at] = proposition
    trail.kind[at] = kind
    trail.rank[at] = rank
    trail.post[at] = post
    trail.amount[at] = amount
    trail.trust[at] = trust
    return at + 1


@nb.njit(parallel=True, nogil=True, cache=True, error_model="numpy")
def _fill(sources: _Sources, parts: _Parts, first: npt.NDArray[np.int64], trail: Trail) -> None:
    indptr, proposition, rank, post, own_indptr, own_proposition, own_post = sources
    exposure, trust, own, anchor, clip = parts
    for i in nb.prange(first.shape[0] - 1):
        at = first[i]
        for x in range(indptr[i], indptr[i + 1]):
            at = _put(trail, at, i, proposition[x], _EXPOSURE, rank[x], post[x], exposure[x], trust[x])
        for x in range(own_indptr[i], own_indptr[i + 1]):
            if own[x] != 0.0:
                at = _put(trail, at, i, own_proposition[x], _OWN, _NONE, own_post[x], own[x], np.nan)
        for k in range(anchor.shape[1]):
            if anchor[i, k] != 0.0:
                at = _put(trail, at, i, k, _ANCHOR, _NONE, _NONE, anchor[i, k], np.nan)
            if clip[i, k] != 0.0:
                at = _put(trail, at, i, k, _CLIP, _NONE, _NONE, clip[i, k], np.nan)
