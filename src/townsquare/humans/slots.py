"""Authors of one person's events, numbered: where each stands in a small table of trust."""

from __future__ import annotations

import numba as nb

from townsquare.humans.replayed import Replayed
from townsquare.humans.trajectories import Int


@nb.njit(cache=True, error_model="numpy")
def author_slots(rows: Replayed, i: int, slot: Int) -> int:
    """Write the number of the author of each event of person ``i``, from 0 as they appear; how many there are."""
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
