"""The compiled part of what rankers read of reactions: ties between two people, and reactions from two sides."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from townsquare.core.array_types import Array
from townsquare.core.threads import Part


class Reactions(NamedTuple):
    """Agent ``a`` reacted to ``root[indptr[a] : indptr[a + 1]]``; ``done`` are bits of kinds."""

    indptr: Array
    root: Array
    done: Array


@nb.njit(nogil=True, cache=True)
def count_ties(
    part: Part, reader: Array, author: Array, reactions: Reactions, author_of: Array, bits: int, out: Array
) -> None:
    """Count to how many roots of its author each reader did a kind of ``bits``, (m,); ``author_of`` is by post.

    Quickest where rows of a reader stand together. Only the reactions of these readers are read.
    """
    indptr, root, done = reactions
    most = 0
    for x in range(part.start, part.stop):
        most = max(most, author[x])
    count = np.zeros(most + 1, np.int32)
    x = part.start
    while x < part.stop:
        i, lo, hi = reader[x], 0, 0
        if i + 1 < indptr.shape[0]:
            lo, hi = indptr[i], indptr[i + 1]
        for e in range(lo, hi):
            if done[e] & bits and author_of[root[e]] <= most:
                count[author_of[root[e]]] += 1
        while x < part.stop and reader[x] == i:
            out[x] = count[author[x]]
            x += 1
        for e in range(lo, hi):
            if author_of[root[e]] <= most:
                count[author_of[root[e]]] = 0


@nb.njit(cache=True)
def count_sides(reactions: Reactions, proposition: Array, stance: Array, like: int, share: int, out: Array) -> None:
    """Add likes, and shares twice, by the side of those who did them: ``out`` (posts, 2), below 0 and above 0.

    ``proposition`` (posts,) is the one whose stance counts, -1 for none; ``stance`` (agents, P).
    """
    indptr, root, done = reactions
    for i in range(min(indptr.shape[0] - 1, stance.shape[0])):
        for e in range(indptr[i], indptr[i + 1]):
            p = proposition[root[e]]
            if p < 0 or stance[i, p] == 0.0:
                continue
            side = 1 if stance[i, p] > 0.0 else 0
            if done[e] & like:
                out[root[e], side] += 1
            if done[e] & share:
                out[root[e], side] += 2
