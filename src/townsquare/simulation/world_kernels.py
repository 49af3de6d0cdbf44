"""The compiled part of :mod:`townsquare.simulation.world`: counting what was done, and cutting rows by agent."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.core.schema import HoldingChange

Array = npt.NDArray[Any]


@nb.njit(nogil=True, cache=True)
def count_actions(kind: Array, target: Array, column_of: Array, counts: tuple[Array, ...]) -> None:
    """Add one to ``counts[column_of[kind]][target]`` for each action whose kind has a column; -1 is none.

    ``kind`` (n,) uint8, ``target`` (n,) int32, ``column_of`` (256,) int8; ``counts`` are (posts,) int32 each.
    """
    for x in range(kind.shape[0]):
        column = column_of[kind[x]]
        if column >= 0:
            counts[column][target[x]] += 1


@nb.njit(nogil=True, cache=True)
def set_bits(value: Array, slot: Array, bits: Array) -> None:
    """``value[slot] |= bits``, also where a slot comes twice."""
    for x in range(slot.shape[0]):
        value[slot[x]] |= bits[x]


@nb.njit(nogil=True, cache=True)
def offsets(agents: Array, first: int, n: int) -> npt.NDArray[np.int64]:
    """CSR offsets (n + 1,) of rows whose ``agents`` ascend from ``first`` to at most ``first + n - 1``."""
    out = np.zeros(n + 1, np.int64)
    for x in range(agents.shape[0]):
        out[agents[x] - first + 1] += 1
    for i in range(n):
        out[i + 1] += out[i]
    return out


# What the world keeps of each argument record that an agent holds: one byte, brought up to date from the rows.


HELD, ACTIVE, EVER, AGREED = 1, 2, 4, 8
"""Bits: it is on record; it counts; it counted at some time; it agreed with the stance when it was accepted."""
ORIGIN_SHIFT = 4  # schema.Origin stands in the bits above

Flags = npt.NDArray[np.uint8]
_ACCEPTED, _ARCHIVED = int(HoldingChange.ACCEPTED), int(HoldingChange.ARCHIVED)
_RESTORED = int(HoldingChange.RESTORED)


def origin_of(flags: Flags) -> npt.NDArray[np.uint8]:
    """:class:`townsquare.core.schema.Origin` of each record.

    >>> origin_of(np.array([HELD | ACTIVE | 2 << ORIGIN_SHIFT], np.uint8)).tolist()
    [2]
    """
    return flags >> np.uint8(ORIGIN_SHIFT)


def has_flag(flags: Flags, bit: int) -> npt.NDArray[np.bool_]:
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
