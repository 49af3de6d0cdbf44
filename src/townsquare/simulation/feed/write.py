"""The compiled part of :mod:`townsquare.simulation.feed.build` that writes: rows of exposures, comments under posts
among them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.core.draws import U64, key1, mix, u01
from townsquare.core.pairs import has, places
from townsquare.simulation.feed.kernels import Ranked
from townsquare.simulation.feed.roots import Comments, Notes, Roots

Array = npt.NDArray[Any]
_CHUNK = 128
_COMMENT = 2  # schema.Slot.COMMENT


class Known(NamedTuple):
    """What the agents of the block that starts at ``first`` know: roots seen and notes rated, keys of pair stores.

    ``offers`` is the draw of the note to rate.
    """

    first: int
    seen_ptr: npt.NDArray[np.int64]
    seen: npt.NDArray[np.int32]
    rated_ptr: npt.NDArray[np.int64]
    rated: npt.NDArray[np.int32]
    offers: U64


class Rows(NamedTuple):
    """Columns of exposures that differ from row to row, (m,) each, and the code of what stands beside the root."""

    agent: Array
    rank: Array
    post: Array
    author: Array
    slot: Array
    offered: Array
    first_seen: Array
    code: Array


@nb.njit(parallel=True, cache=True)
def count_rows(agents: Array, ranked: Ranked, roots: Roots, author: Array, comments: Comments, out: Array) -> None:
    """Rows a feed once comments stand under its posts, into ``out[i + 1]``: up to ``per_post`` of others' each.

    ``author`` (posts,) is the author of each post.
    """
    numbers, counts, row = ranked.number, ranked.counts, roots.row
    ptr, comment, per_post = comments.ptr, comments.row, comments.per_post
    for i in nb.prange(agents.shape[0]):
        n = counts[i]
        if per_post > 0:
            for x in range(counts[i]):
                r = row[numbers[i, x]]
                shown = 0
                for y in range(ptr[r], ptr[r + 1]):
                    if shown == per_post:
                        break
                    if author[comment[y]] != agents[i]:
                        shown += 1
                n += shown
        out[i + 1] = n


@nb.njit(inline="always", cache=True)
def _offer(agent: int, lo: int, hi: int, notes: Notes, known: Known, out: Rows) -> None:
    """A note to rate for each row whose root has one: a pending one if there is, drawn by (agent, root).

    An agent is not offered its own note, nor one it has rated.
    """
    offered, by_root, start = out.offered, notes.note, key1(known.offers, agent)
    for e in range(lo, hi):
        number = out.code[e]
        beside = notes.record[number]
        choices = beside[1] if beside[1] > 0 else beside[2]
        offered[e] = -1
        if choices > 0:
            pick = min(np.int64(u01(mix(start ^ notes.key[number, 2])) * choices), choices - 1)
            offered[e] = beside[0] + pick
    first_rated, last_rated = known.rated_ptr[agent - known.first], known.rated_ptr[agent - known.first + 1]
    for e in range(lo, hi):
        if offered[e] >= 0:
            note, author = by_root[offered[e], 0], by_root[offered[e], 1]
            if author == agent or has(known.rated, first_rated, last_rated, note):
                note = -1
            offered[e] = note


@nb.njit(inline="always", cache=True)
def _under(
    agent: int, number: int, rank: int, at: int, roots: Roots, author: Array, comments: Comments, out: Rows
) -> int:
    """Write the comments shown under a root from row ``at`` on; returns the row after them."""
    shown, r = 0, roots.row[number]
    for y in range(comments.ptr[r], comments.ptr[r + 1]):
        if shown == comments.per_post:
            break
        c = comments.row[y]
        if author[c] != agent:
            out.agent[at], out.rank[at], out.post[at], out.author[at] = agent, rank, c, author[c]
            out.slot[at], out.code[at] = _COMMENT, roots.number[c]
            at += 1
            shown += 1
    return at


@nb.njit(cache=True)
def _write_chunk(
    first_place: int,
    last_place: int,
    agents: Array,
    ranked: Ranked,
    indptr: Array,
    roots: Roots,
    author: Array,
    comments: Comments,
    notes: Notes,
    known: Known,
    code_of_labels: Array,
    out: Rows,
) -> None:
    with_notes, most = notes.note.shape[0] > 0, 0
    for i in range(first_place, last_place):
        most = max(most, indptr[i + 1] - indptr[i])
    root, place = np.empty(most, np.int32), np.empty(most, np.int64)
    for i in range(first_place, last_place):
        agent, lo, local = agents[i], indptr[i], agents[i] - known.first
        at = lo
        for x in range(ranked.counts[i]):
            out.agent[at], out.rank[at], out.post[at], out.author[at] = agent, x, ranked.post[i, x], ranked.author[i, x]
            out.slot[at], out.code[at] = ranked.slot[i, x], ranked.number[i, x]
            at += 1
            if comments.per_post > 0:
                at = _under(agent, ranked.number[i, x], x, at, roots, author, comments, out)
        first_key, last_key = known.seen_ptr[local], known.seen_ptr[local + 1]
        for x in range(at - lo):
            root[x] = roots.row[out.code[lo + x]]
        places(known.seen, first_key, last_key, root, 0, at - lo, place)
        for x in range(at - lo):
            out.first_seen[lo + x] = place[x] == last_key or known.seen[place[x]] != root[x]
        if with_notes and code_of_labels[i] >= 0:
            _offer(agent, lo, at, notes, known, out)
        else:
            out.offered[lo:at] = -1
        if code_of_labels[i] > 0:
            for e in range(lo, at):
                out.code[e] += code_of_labels[i]


@nb.njit(parallel=True, cache=True)
def write_rows(
    agents: Array,
    ranked: Ranked,
    indptr: Array,
    roots: Roots,
    author: Array,
    comments: Comments,
    notes: Notes,
    known: Known,
    code_of_labels: Array,
    out: Rows,
) -> None:
    """Write the feeds of ``agents`` (n,): posts in order, each followed by the comments shown under it.

    ``indptr`` (n + 1,) says where in ``out`` each agent's rows stand; ``code_of_labels`` (n,) int32 is what is added to
    the number of a root to have its code, -1 for who is shown no labels (and is added nothing).
    """
    n = agents.shape[0]
    for chunk in nb.prange((n + _CHUNK - 1) // _CHUNK):
        _write_chunk(
            chunk * _CHUNK, min(n, (chunk + 1) * _CHUNK), agents, ranked, indptr, roots, author, comments, notes, known,
            code_of_labels, out,
        )  # fmt: skip
