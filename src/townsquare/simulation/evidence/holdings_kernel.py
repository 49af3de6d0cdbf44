"""Compiled conflict resolution (appendix B) for a block of agents, each with its own records.

The rules are those of :func:`townsquare.beliefs.evidence.conflict.resolve_conflict`, in feed order, and these of
``docs/evidence.md``: a claim that an agent holds and that is active changes nothing; one that it holds archived is
judged anew, as if it came for the first time; one that is shown with a label weight that archives is archived.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.core.schema import HoldingChange, Origin
from townsquare.simulation.world_kernels import ACTIVE, AGREED, EVER, HELD, ORIGIN_SHIFT, Flags

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
Float = npt.NDArray[np.float64]

NOTHING = 255
"""Outcome of a claim that changed nothing."""

_ACCEPTED, _ARCHIVED = int(HoldingChange.ACCEPTED), int(HoldingChange.ARCHIVED)
_RESTORED, _REFUSED = int(HoldingChange.RESTORED), int(HoldingChange.REFUSED)
_SELF, _PEER = int(Origin.SELF) << ORIGIN_SHIFT, int(Origin.PEER) << ORIGIN_SHIFT


class Claims(NamedTuple):
    """Columns of the table claims, (c,) each, and for each claim its near-duplicates as a CSR."""

    proposition: npt.NDArray[np.int16]
    polarity: npt.NDArray[np.int8]
    strength: Float
    near_indptr: Int64
    near_claim: Int32
    near_similarity: Float


class Incoming(NamedTuple):
    """Claims that reach the n agents of a block, in feed order and then own ones: a CSR, (m,) each.

    ``slot`` is where each stands among the block's records, which hold all of them.
    """

    indptr: Int64
    slot: Int64
    own: npt.NDArray[np.bool_]
    weight: Float


class Held(NamedTuple):
    """The records of the block, by claim within an agent; ``flags`` are changed in place."""

    indptr: Int64
    claim: Int32
    flags: Flags


class Outcome(NamedTuple):
    """What came of each incoming claim, (m,) each, written by the kernel.

    ``change`` is a :class:`townsquare.core.schema.HoldingChange` or :data:`NOTHING`; ``flags`` those of the record
    after it; ``by`` the claim that stopped it, -1 if none; ``replaced`` the claim that it replaced, -1 if none, and
    ``replaced_flags`` the flags of that.
    """

    change: npt.NDArray[np.uint8]
    flags: Flags
    by: Int32
    replaced: Int32
    replaced_flags: Flags


class Thresholds(NamedTuple):
    """θ and θ_self in (0, 1], and the label weight up to which a showing archives."""

    theta: float
    theta_self: float
    archive_weight: float


def room_for(m: int) -> Outcome:
    """Outcomes of ``m`` incoming claims, nothing having changed."""
    return Outcome(
        np.full(m, NOTHING, np.uint8),
        np.zeros(m, np.uint8),
        np.full(m, -1, np.int32),
        np.full(m, -1, np.int32),
        np.zeros(m, np.uint8),
    )


@nb.njit(cache=True)
def _find(claim: Int32, lo: int, hi: int, wanted: int) -> int:
    """Where ``wanted`` stands among ascending claims lo to hi; -1 if it does not."""
    end = hi
    while lo < hi:
        mid = (lo + hi) >> 1
        if claim[mid] < wanted:
            lo = mid + 1
        else:
            hi = mid
    return lo if lo < end and claim[lo] == wanted else -1


@nb.njit(cache=True)
def _nearest_active(i: int, x: int, threshold: float, claims: Claims, held: Held) -> int:
    """Where the nearest active near-duplicate of claim ``x`` stands; the one made first of equals; -1 if none."""
    best, best_similarity = -1, -2.0
    for e in range(claims.near_indptr[x], claims.near_indptr[x + 1]):
        similarity = claims.near_similarity[e]
        if similarity < threshold or similarity < best_similarity:
            continue
        at = _find(held.claim, held.indptr[i], held.indptr[i + 1], claims.near_claim[e])
        if at < 0 or not held.flags[at] & ACTIVE:
            continue
        if similarity > best_similarity or held.claim[at] < held.claim[best]:
            best, best_similarity = at, similarity
    return best


@nb.njit(cache=True)
def _agrees(stance: float, polarity: int) -> bool:
    return stance * polarity > 0.0


@nb.njit(cache=True)
def _receive(i: int, r: int, rows: Incoming, claims: Claims, held: Held, stance: Float, at: Thresholds) -> int:
    """The outcome of one claim, and the place of the record that stopped it or that it replaced, in one number."""
    s = rows.slot[r]
    before, x = int(held.flags[s]), held.claim[s]
    origin = _SELF if rows.own[r] else _PEER
    if not rows.own[r] and rows.weight[r] <= at.archive_weight:
        if before & ACTIVE:
            held.flags[s] = before & ~ACTIVE
            return _ARCHIVED
        if before == 0:
            held.flags[s] = HELD | origin
            return _REFUSED
        return NOTHING
    if before & ACTIVE:
        return NOTHING
    near = _nearest_active(i, x, at.theta_self if rows.own[r] else at.theta, claims, held)
    other = (near + 1) << 8
    if near >= 0 and claims.strength[x] <= claims.strength[held.claim[near]]:
        if before == 0:
            held.flags[s] = HELD | origin
            return _REFUSED | other
        return NOTHING
    if near >= 0:
        held.flags[near] = int(held.flags[near]) & ~ACTIVE
    if before & EVER:
        held.flags[s] = before | ACTIVE
        return _RESTORED | other
    agreed = AGREED if _agrees(stance[i, claims.proposition[x]], claims.polarity[x]) else 0
    held.flags[s] = HELD | ACTIVE | EVER | agreed | origin
    return _ACCEPTED | other


@nb.njit(parallel=True, cache=True)
def receive(rows: Incoming, claims: Claims, held: Held, stance: Float, at: Thresholds, out: Outcome) -> None:
    """Take in every incoming claim of n agents, in order; ``stance`` (n, P) is that before the step."""
    indptr, slot = rows.indptr, rows.slot
    change, flags, by, replaced, replaced_flags = out
    for i in nb.prange(indptr.shape[0] - 1):
        for r in range(indptr[i], indptr[i + 1]):
            result = _receive(i, r, rows, claims, held, stance, at)
            kind, other = result & 255, (result >> 8) - 1
            change[r] = kind
            flags[r] = held.flags[slot[r]]
            if other >= 0 and kind == _REFUSED:
                by[r] = held.claim[other]
            elif other >= 0:
                replaced[r] = held.claim[other]
                replaced_flags[r] = held.flags[other]
