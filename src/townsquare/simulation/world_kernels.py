"""The compiled part of :mod:`townsquare.simulation.world`: counting what was done, and cutting rows by agent."""

from __future__ import annotations

import numba as nb
import numpy as np

from townsquare.core.array_types import Array, Int64


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
    """Compute ``value[slot] |= bits``, also where a slot occurs twice."""
    for x in range(slot.shape[0]):
        value[slot[x]] |= bits[x]


@nb.njit(nogil=True, cache=True)
def offsets(agents: Array, first: int, n: int) -> Int64:
    """Return CSR offsets (n + 1,) of rows whose ``agents`` ascend from ``first`` to at most ``first + n - 1``."""
    out = np.zeros(n + 1, np.int64)
    for x in range(agents.shape[0]):
        out[agents[x] - first + 1] += 1
    for i in range(n):
        out[i + 1] += out[i]
    return out
