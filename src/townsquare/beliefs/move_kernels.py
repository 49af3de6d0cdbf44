"""Compiled parts of a move that several rules share."""

from __future__ import annotations

import numba as nb

from townsquare.beliefs.contract import Replayed
from townsquare.core.array_types import Int64


@nb.njit(cache=True, error_model="numpy")
def clipped(value: float, low: float, high: float) -> float:
    """Return ``value`` within its bounds; NaN stays NaN."""
    # Comparisons, not min and max, whose result for NaN depends on the order of the arguments.
    if value < low:
        return low
    if value > high:
        return high
    return value


@nb.njit(cache=True, error_model="numpy")
def anchored(before: float, start: float, anchor: float) -> float:
    """Return the move toward the initial stance: the share ``anchor`` of the gap."""
    return anchor * (start - before)


@nb.njit(cache=True, error_model="numpy")
def settled(before: float, delta: float, low: float, high: float) -> tuple[float, float]:
    """Return the stance after a move of ``delta`` from ``before``, and what the bounds took off or added."""
    free = before + delta
    after = clipped(free, low, high)
    return after, 0.0 if after == free else (after - before) - delta


@nb.njit(cache=True, error_model="numpy")
def learned(trust: float, shown: float, stance: float, rate: float) -> float:
    """Return trust in [0, 1] after a row that showed ``shown`` to an agent whose stance came to be ``stance``.

    Full agreement adds half of ``rate``, full disagreement takes as much.

    >>> learned(0.5, 1.0, 1.0, 0.05), learned(0.5, 1.0, -1.0, 0.05)
    (0.525, 0.475)
    """
    apart = abs(shown - stance)
    return clipped(trust + ((1.0 - apart / 2.0) - 0.5) * rate, 0.0, 1.0)


@nb.njit(cache=True, error_model="numpy")
def author_slots(rows: Replayed, i: int, slot: Int64) -> int:
    """Write the number of the author of each event of person ``i``, from 0 as they appear; return how many."""
    first, n = rows.indptr[i], 0
    for x in range(first, rows.indptr[i + 1]):
        slot[x - first] = -1
        for y in range(first, x):
            if rows.author[y] == rows.author[x]:
                slot[x - first] = slot[y - first]
                break
        if slot[x - first] < 0:
            slot[x - first] = n
            n += 1
    return n
