"""What the world keeps of each argument record that an agent holds: one byte, brought up to date from the rows."""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.schema import HoldingChange

HELD, ACTIVE, EVER, AGREED = 1, 2, 4, 8
"""Bits: it is on record; it counts; it counted at some time; it agreed with the stance when it was accepted."""
ORIGIN_SHIFT = 4  # schema.Origin stands in the bits above

Flags = npt.NDArray[np.uint8]
_ACCEPTED, _ARCHIVED = int(HoldingChange.ACCEPTED), int(HoldingChange.ARCHIVED)
_RESTORED = int(HoldingChange.RESTORED)


def origin_of(flags: Flags) -> npt.NDArray[np.uint8]:
    """:class:`townsquare.schema.Origin` of each record.

    >>> origin_of(np.array([HELD | ACTIVE | 2 << ORIGIN_SHIFT], np.uint8)).tolist()
    [2]
    """
    return flags >> np.uint8(ORIGIN_SHIFT)


def has(flags: Flags, bit: int) -> npt.NDArray[np.bool_]:
    """Whether a bit is set, by record."""
    return (flags & np.uint8(bit)) > 0


@nb.njit(cache=True)
def apply_changes(
    flags: Flags,
    slot: npt.NDArray[np.int64],
    change: npt.NDArray[np.uint8],
    origin: npt.NDArray[np.uint8],
    agreed: npt.NDArray[np.bool_],
) -> None:
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
