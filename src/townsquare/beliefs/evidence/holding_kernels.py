"""Conflict resolution (seeds, section 3.1 and appendix B), compiled: of near-duplicates only the stronger stays active.

A claim that comes to an agent is compared with its active records of the same proposition and polarity. The nearest by
cosine decides: below the threshold θ the new record stays active next to it; at or above θ only the stronger of the two
does, and a tie keeps the old one. What is archived stays on record. Beside that these rules of ``docs/evidence.md``
hold: a claim that an agent holds and that is active changes nothing; one that it holds archived is judged again, as if
it came for the first time; one that is shown with a label weight that archives is archived.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.beliefs.evidence.near import NearPairs
from townsquare.core.array_types import Bool, Byte, Float, Int16, Int32, Int64
from townsquare.core.enums import HoldingChange, Origin
from townsquare.core.threads import Part, in_parts

NOTHING = 255
"""Outcome of a claim that changed nothing."""
HELD, ACTIVE, EVER, AGREED = 1, 2, 4, 8
"""Bits of a record: it is held; it counts; it counted at some time; it agreed with the stance when it was accepted."""
ORIGIN_SHIFT = 4
"""``Origin`` is in the bits above."""

_ACCEPTED, _ARCHIVED = int(HoldingChange.ACCEPTED), int(HoldingChange.ARCHIVED)
_RESTORED, _REFUSED = int(HoldingChange.RESTORED), int(HoldingChange.REFUSED)
_SELF, _PEER = int(Origin.SELF) << ORIGIN_SHIFT, int(Origin.PEER) << ORIGIN_SHIFT


def origin_of(flags: Byte) -> Byte:
    """Return the :class:`townsquare.core.enums.Origin` of each record.

    >>> origin_of(np.array([HELD | ACTIVE | 2 << ORIGIN_SHIFT], np.uint8)).tolist()
    [2]
    """
    return flags >> np.uint8(ORIGIN_SHIFT)


def has_flag(flags: Byte, bit: int) -> Bool:
    """Return whether a bit is set, by record."""
    return (flags & np.uint8(bit)) > 0


@nb.njit(cache=True)
def apply_changes(flags: Byte, slot: Int64, change: Byte, origin: Byte, agreed: Bool) -> None:
    """Write rows of the table holdings, in their order, into the flags at ``slot``."""
    for r in range(slot.shape[0]):
        before = int(flags[slot[r]])
        if change[r] == _ACCEPTED:
            after = HELD | ACTIVE | EVER | (AGREED if agreed[r] else 0) | int(origin[r]) << ORIGIN_SHIFT
        elif change[r] == _ARCHIVED:
            after = before & ~ACTIVE
        elif change[r] == _RESTORED:
            after = before | ACTIVE
        else:
            after = before if before else HELD | int(origin[r]) << ORIGIN_SHIFT
        flags[slot[r]] = after


class Claims(NamedTuple):
    """Columns of the table claims, (c,) each, and for each claim its near-duplicates as a CSR."""

    proposition: Int16
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
    own: Bool
    weight: Float


class HeldRecords(NamedTuple):
    """The records of the block, by claim within an agent; ``flags`` are changed in place."""

    indptr: Int64
    claim: Int32
    flags: Byte


class Outcome(NamedTuple):
    """Outcomes of m incoming claims, (2m,) each: each claim, and then the claim that it replaced.

    ``change`` is a :class:`townsquare.core.enums.HoldingChange` or :data:`NOTHING`, of the record of ``claim``;
    ``flags`` are those of the record after it, ``by`` is the claim that stopped or replaced it, -1 if none.
    """

    change: Byte
    claim: Int32
    by: Int32
    flags: Byte

    @property
    def replaced(self) -> Int32:
        """Return the claim that each incoming one replaced, (m,); -1 if none."""
        return np.where(self.change[1::2] == NOTHING, np.int32(-1), self.claim[1::2])


class Thresholds(NamedTuple):
    """θ and θ_self in (0, 1], and the label weight up to which an exposure archives."""

    theta: float
    theta_self: float
    archive_weight: float


def room_for(m: int) -> Outcome:
    """Return outcomes of ``m`` incoming claims, nothing having changed."""
    claim, by = (np.full(2 * m, -1, np.int32) for _ in range(2))
    return Outcome(np.full(2 * m, NOTHING, np.uint8), claim, by, np.zeros(2 * m, np.uint8))


@nb.njit(cache=True)
def _find(claim: Int32, lo: int, hi: int, wanted: int) -> int:
    """Return where ``wanted`` stands among ascending claims lo to hi; -1 if it does not."""
    end = hi
    while lo < hi:
        mid = (lo + hi) >> 1
        if claim[mid] < wanted:
            lo = mid + 1
        else:
            hi = mid
    return lo if lo < end and claim[lo] == wanted else -1


@nb.njit(cache=True)
def _nearest_active(i: int, x: int, threshold: float, claims: Claims, records: HeldRecords) -> int:
    """Return the row of the nearest active near-duplicate of claim ``x``, the earliest of equals; -1 if none."""
    best, best_similarity = -1, -2.0
    for e in range(claims.near_indptr[x], claims.near_indptr[x + 1]):
        similarity = claims.near_similarity[e]
        if similarity < threshold or similarity < best_similarity:
            continue
        at = _find(records.claim, records.indptr[i], records.indptr[i + 1], claims.near_claim[e])
        if at < 0 or not records.flags[at] & ACTIVE:
            continue
        if similarity > best_similarity or records.claim[at] < records.claim[best]:
            best, best_similarity = at, similarity
    return best


@nb.njit(cache=True)
def _receive(
    i: int, r: int, rows: Incoming, claims: Claims, records: HeldRecords, stance: Float, at: Thresholds
) -> tuple[int, int]:
    """Return the outcome of one claim, and the place of the record that stopped it or that it replaced; -1 if none."""
    s = rows.slot[r]
    before, x = int(records.flags[s]), records.claim[s]
    origin = _SELF if rows.own[r] else _PEER
    if not rows.own[r] and rows.weight[r] <= at.archive_weight:
        if before & ACTIVE:
            records.flags[s] = before & ~ACTIVE
            return _ARCHIVED, -1
        if before == 0:
            records.flags[s] = HELD | origin
            return _REFUSED, -1
        return NOTHING, -1
    if before & ACTIVE:
        return NOTHING, -1
    near = _nearest_active(i, x, at.theta_self if rows.own[r] else at.theta, claims, records)
    if near >= 0 and claims.strength[x] <= claims.strength[records.claim[near]]:
        if before == 0:
            records.flags[s] = HELD | origin
            return _REFUSED, near
        return NOTHING, -1
    if near >= 0:
        records.flags[near] = int(records.flags[near]) & ~ACTIVE
    if before & EVER:
        records.flags[s] = before | ACTIVE
        return _RESTORED, near
    agreed = AGREED if stance[i, claims.proposition[x]] * claims.polarity[x] > 0.0 else 0
    records.flags[s] = HELD | ACTIVE | EVER | agreed | origin
    return _ACCEPTED, near


@nb.njit(cache=True)
def _receive_agent(
    i: int, rows: Incoming, claims: Claims, records: HeldRecords, stance: Float, at: Thresholds, out: Outcome
) -> None:
    for r in range(rows.indptr[i], rows.indptr[i + 1]):
        kind, other = _receive(i, r, rows, claims, records, stance, at)
        claim, came, left = records.claim[rows.slot[r]], 2 * r, 2 * r + 1
        out.change[came], out.claim[came], out.flags[came] = kind, claim, records.flags[rows.slot[r]]
        if other >= 0 and kind == _REFUSED:
            out.by[came] = records.claim[other]
        elif other >= 0:
            out.change[left], out.claim[left], out.flags[left] = _ARCHIVED, records.claim[other], records.flags[other]
            out.by[left] = claim


@nb.njit(nogil=True, cache=True)
def receive(
    part: Part, rows: Incoming, claims: Claims, records: HeldRecords, stance: Float, at: Thresholds, out: Outcome
) -> None:
    """Take in every incoming claim of n agents, in order; ``stance`` (n, P) is that before the step."""
    for i in range(part.start, part.stop):
        _receive_agent(i, rows, claims, records, stance, at, out)


class Arrivals(NamedTuple):
    """Records of n agents on one proposition in the order in which they came: a CSR, (k,) each.

    Each record is a claim of its own. ``near`` are pairs of records of one agent at or above the threshold.
    """

    indptr: Int64
    polarity: npt.NDArray[np.int8]
    strength: Float
    near: NearPairs


def resolve(came: Arrivals, flags: Byte, first: int, stance: Float, theta: float, *, own: bool = False) -> Outcome:
    """Take in the records from ``first`` on, of which all are new, and write what becomes of all into ``flags`` (k,).

    Parameters
    ----------
    came : Arrivals
        Those before ``first`` are held already; there are none where there are several agents.
    stance : (n, 1) float64
        Before these records came.
    theta : float
        In (0, 1].
    own : bool
        Whether the agent said them itself.
    """
    k = flags.shape[0]
    same = came.polarity[came.near.later] == came.polarity[came.near.earlier]
    later, earlier, similarity = (column[same] for column in came.near)
    claims = Claims(
        np.zeros(k, np.int16), came.polarity, came.strength, np.searchsorted(later, np.arange(k + 1)).astype(np.int64),
        earlier.astype(np.int32), similarity,
    )  # fmt: skip
    rows = Incoming(came.indptr - first, np.arange(first, k), np.full(k - first, own), np.ones(k - first))
    rows.indptr[0] = 0
    records, out = HeldRecords(came.indptr, np.arange(k, dtype=np.int32), flags), room_for(k - first)
    at = Thresholds(theta, theta, -1.0)
    in_parts(receive, came.indptr.shape[0] - 1, rows, claims, records, stance, at, out)
    return out
