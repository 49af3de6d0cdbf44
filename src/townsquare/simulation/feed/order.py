"""Putting the few rows of feeds in order, of several feeds at once.

What is put in order is 64-bit words, smallest first: one a row, in the lane of its feed. Rows of a feed are few, and a
sort that asks of two of them which is smaller guesses wrong half of the time. A sorting network asks nothing: it puts
fixed places in order, and takes as long for eight feeds as for one.

Source: Batcher, Sorting networks and their applications (1968): odd-even merge sort.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.core.draws import U64
from townsquare.core.simd import LANES, put_in_order

Array = npt.NDArray[Any]
LAST = U64(0xFFFFFFFFFFFFFFFF)
"""Stands after every other word: what a lane holds beyond its rows."""


def _network(rows: int) -> list[tuple[int, int]]:
    """Pairs of places which, put in order one after the other, sort so many rows."""
    n, pairs, p = 1 << (rows - 1).bit_length(), [], 1
    while p < n:
        k = p
        while k:
            for j in range(k % p, n - k, 2 * k):
                for i in range(j, min(j + k, n - k)):
                    if i // (2 * p) == (i + k) // (2 * p):
                        pairs.append((i, i + k))
            k //= 2
        p *= 2
    return [(one, other) for one, other in pairs if other < rows]  # what would be above them never moves


_STEP = 8
MOST = 64
"""Rows that have a network; more are sorted lane by lane."""
_NETWORKS = [_network(rows) for rows in range(_STEP, MOST + 1, _STEP)]
_PAIRS = np.array([pair for network in _NETWORKS for pair in network], np.int64)
_ENDS = np.cumsum([0, *map(len, _NETWORKS)])


@nb.njit(cache=True)
def sort_lanes(words: Array, counts: Array, column: Array) -> Any:
    """Sort the first ``counts[lane]`` words of each ``lane``; what follows them, up to the longest lane, becomes LAST.

    ``words`` (at least max(64, longest), 8) uint64, C-contiguous; ``counts`` (8,) int64; ``column`` is room for the
    longest lane. Returns how long that is.
    """
    n = counts.max()
    wide = n if n > MOST else -(-n // _STEP) * _STEP
    for lane in range(LANES):
        for x in range(counts[lane], wide):
            words[x, lane] = LAST
    if n > MOST:
        for lane in range(LANES):
            m = counts[lane]
            if m > 1:
                column[:m] = words[:m, lane]
                column[:m].sort()
                words[:m, lane] = column[:m]
    elif n > 1:
        for x in range(_ENDS[wide // _STEP - 1], _ENDS[wide // _STEP]):
            put_in_order(words, _PAIRS[x, 0], _PAIRS[x, 1])  # type: ignore[call-arg]
    return n


@nb.njit(cache=True)
def has_equal(words: Array, n: int, shift: int) -> bool:
    """Whether two neighbors of a sorted lane, LAST aside, are equal but for their ``shift`` lowest bits."""
    found = False
    for x in range(1, n):
        for lane in range(LANES):
            same = ((words[x, lane] ^ words[x - 1, lane]) >> U64(shift)) == U64(0)
            found |= same & (words[x, lane] != LAST)
    return found


def bits_for(n: int) -> int:
    """Bits that tell ``n`` things apart, at least 1.

    >>> bits_for(1), bits_for(2), bits_for(3), bits_for(256), bits_for(257)
    (1, 1, 2, 8, 9)
    """
    return max(1, (n - 1).bit_length())


@nb.njit(parallel=True, cache=True)
def _rank(values: Array, distinct: Array, out: Array) -> None:
    for x in nb.prange(values.shape[0]):
        lo, n = 0, distinct.shape[0]
        while n > 1:
            half = n >> 1
            lo += half * (distinct[lo + half - 1] < values[x])
            n -= half
        out[x] = distinct.shape[0] - 1 - lo


def ranks(scores: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.uint64], int]:
    """How many different scores are higher than each (n,), and how many different ones there are.

    >>> found, n = ranks(np.array([0.5, 2.0, 0.5, 1.0]))
    >>> found.tolist(), n
    ([2, 0, 2, 1], 3)
    """
    distinct = np.unique(scores)
    out = np.empty(scores.shape[0], np.uint64)
    _rank(scores, distinct, out)
    return out, distinct.shape[0]
