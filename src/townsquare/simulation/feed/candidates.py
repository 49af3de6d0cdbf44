"""What of a post decides who is shown it, side by side: the rows that stand in rings, author by author.

A feed looks at some 30 rows of followed accounts, and of each at its root, that root's author, its age, its key and
its score. In the table of posts these are six places in memory that are megabytes apart; here they are one, and what
was taken down is not there at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.simulation.world import World

Array = npt.NDArray[Any]
_LOW = np.uint64(0xFFFFFFFF)


class Cards(NamedTuple):
    """Rows that can be shown to followers of their author, by author.

    ``ptr`` (n_agents + 1,) int64; ``words`` (k, 4) uint64, 32 bytes a row: its key; row of posts and root, 32 bits
    each; author of the root and step, likewise; the bits of the score, until
    :func:`townsquare.simulation.feed.order.ranks` of all scores stand there. ``numbers`` is the same memory as float64.
    Roots are rows of posts until :func:`townsquare.simulation.feed.roots.number_roots` puts their numbers there.
    """

    ptr: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint64]
    numbers: npt.NDArray[np.float64]


@nb.njit(parallel=True, cache=True)
def _count(ring: Array, n_rows: Array, in_degree: Array, root: Array, status: Array, out: Array) -> None:
    for f in nb.prange(ring.shape[0]):
        n = 0
        if in_degree[f] > 0:
            for q in range(min(n_rows[f], ring.shape[1])):
                n += status[root[ring[f, q]]] == 0
        out[f + 1] = n


@nb.njit(parallel=True, cache=True)
def _fill(
    ring: Array,
    n_rows: Array,
    author: Array,
    root: Array,
    status: Array,
    step: Array,
    key: Array,
    score: Array,
    ptr: Array,
    words: Array,
    numbers: Array,
) -> None:
    for f in nb.prange(ring.shape[0]):
        at = ptr[f]
        if at == ptr[f + 1]:
            continue
        for q in range(min(n_rows[f], ring.shape[1])):
            p = ring[f, q]
            r = root[p]
            if status[r] == 0:
                words[at, 0] = key[p]
                words[at, 1] = np.uint64(p) | np.uint64(r) << np.uint64(32)
                words[at, 2] = np.uint64(author[r]) | np.uint64(step[p]) << np.uint64(32)
                numbers[at, 3] = score[p]
                at += 1


@nb.njit(inline="always", cache=True)
def post_of(word: np.uint64) -> Any:
    """Row of posts, of word 1; the author of the root, of word 2."""
    return np.int64(word & _LOW)


@nb.njit(inline="always", cache=True)
def root_of(word: np.uint64) -> Any:
    """Root, of word 1; the step, of word 2."""
    return np.int64(word >> np.uint64(32))


author_of, step_of = post_of, root_of


def cards(world: World, score: npt.NDArray[np.float64]) -> Cards:
    """The rows in the rings of all accounts that somebody follows, but for what was taken down.

    ``score`` (posts,) is the ranker's.
    """
    posts, ring, n_rows = world.posts, world.newest, world.n_rows
    ptr = np.zeros(ring.shape[0] + 1, np.int64)
    _count(ring, n_rows, world.in_degree, posts["root"], posts["status"], ptr)
    np.cumsum(ptr, out=ptr)
    words = np.empty((int(ptr[-1]), 4), np.uint64)
    numbers = words.view(np.float64)
    author, root, status, step, key = (posts[name] for name in ("author", "root", "status", "step", "key"))
    _fill(ring, n_rows, author, root, status, step, key, score, ptr, words, numbers)
    return Cards(ptr, words, numbers)
