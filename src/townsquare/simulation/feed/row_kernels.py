"""Compiled: writes rows of exposures, comments under posts among them."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from townsquare.core.array_types import Array
from townsquare.core.draws import key1, mix, u01
from townsquare.core.pairs import has, places
from townsquare.core.threads import Part
from townsquare.simulation.feed.candidates import Comments, Notes, Roots
from townsquare.simulation.feed.rank_kernels import Ranked, Readers

_COMMENT = 2  # Slot.COMMENT


class Rows(NamedTuple):
    """Columns of exposures that differ from row to row, (m,) each, and the index of the columns per root."""

    agent: Array
    rank: Array
    post: Array
    author: Array
    slot: Array
    offered: Array
    first_seen: Array
    code: Array


@nb.njit(inline="always", cache=True)
def _comments_under(agent: int, hidden: Array, first: int, last: int, author: Array, out: Array) -> int:
    """Write the positions of the comments that an agent sees under a root into ``out``, and return how many.

    The root has the comments ``first`` to ``last`` - 1. Those are seen that are of others, but of no hidden author.
    """
    n = 0
    for c in range(first, last):
        if n == out.shape[0]:
            break
        if author[c] != agent and not (hidden.shape[0] and has(hidden, 0, hidden.shape[0], author[c])):
            out[n] = c
            n += 1
    return n


@nb.njit(nogil=True, cache=True)
def count_rows(part: Part, readers: Readers, ranked: Ranked, comments: Comments, out: Array) -> None:
    """Add the comments under the posts of each feed to the rows in ``out[i + 1]``."""
    rows, counts = ranked
    ptr, _, author, limit = comments
    agents, hidden, hidden_ptr = readers.agents, readers.hidden, readers.hidden_ptr
    under = np.empty(limit, np.int64)
    for i in range(part.start, part.stop):
        agent = agents[i]
        own_hidden = hidden[hidden_ptr[agent - readers.first] : hidden_ptr[agent - readers.first + 1]]
        for x in range(counts[i]):
            root = rows[i, x].root
            out[i + 1] += _comments_under(agent, own_hidden, ptr[root], ptr[root + 1], author, under)


@nb.njit(inline="always", cache=True)
def _offer(agent: int, local: int, lo: int, hi: int, notes: Notes, readers: Readers, out: Rows) -> None:
    """Offer a note to rate with each row whose root has one: a pending one if there is, drawn by (agent, root).

    An agent is not offered its own note, nor one it has rated.
    """
    offered, start = out.offered, key1(notes.draw, agent)
    for e in range(lo, hi):
        root = notes.root[out.code[e]]
        choices = root.pending if root.pending > 0 else root.count
        offered[e] = -1
        if choices > 0:
            offered[e] = root.first + min(np.int64(u01(mix(start ^ root.key)) * choices), choices - 1)
    for e in range(lo, hi):
        if offered[e] >= 0:
            note = notes.note[offered[e]]
            is_own = note.author == agent
            rated = has(readers.rated, readers.rated_ptr[local], readers.rated_ptr[local + 1], note.note)
            offered[e] = -1 if is_own or rated else note.note


@nb.njit(inline="always", cache=True)
def _write_feed(
    i: int, at: int, readers: Readers, ranked: Ranked, comments: Comments, roots: Roots, under: Array, out: Rows
) -> None:
    """Write the rows of a feed from row ``at`` on: posts in order, each followed by the comments under it."""
    agent, ptr = readers.agents[i], comments.ptr
    hidden = readers.hidden[readers.hidden_ptr[agent - readers.first] : readers.hidden_ptr[agent - readers.first + 1]]
    for x in range(ranked.counts[i]):
        row = ranked.rows[i, x]
        out.agent[at], out.rank[at], out.post[at], out.author[at] = agent, x, row.post, row.author
        out.slot[at], out.code[at] = row.slot, row.root
        at += 1
        first, last = (ptr[row.root], ptr[row.root + 1]) if under.shape[0] > 0 else (0, 0)
        shown = _comments_under(agent, hidden, first, last, comments.author, under)
        for y in range(shown):
            c = under[y]
            out.agent[at], out.rank[at], out.post[at], out.author[at] = agent, x, comments.post[c], comments.author[c]
            out.slot[at], out.code[at] = _COMMENT, roots.index_of[comments.post[c]]
            at += 1


@nb.njit(nogil=True, cache=True)
def write_rows(
    part: Part, readers: Readers, ranked: Ranked, comments: Comments, roots: Roots, notes: Notes, indptr: Array,
    out: Rows,
) -> None:  # fmt: skip
    """Write the feeds of ``readers``; ``indptr`` (n + 1,) says where in ``out`` each agent's rows stand."""
    most = 0
    for i in range(part.start, part.stop):
        most = max(most, indptr[i + 1] - indptr[i])
    root, position, under = np.empty(most, np.int32), np.empty(most, np.int64), np.empty(comments.limit, np.int64)
    for i in range(part.start, part.stop):
        agent, lo, hi, local = readers.agents[i], indptr[i], indptr[i + 1], readers.agents[i] - readers.first
        _write_feed(i, lo, readers, ranked, comments, roots, under, out)
        first_seen, last_seen = readers.seen_ptr[local], readers.seen_ptr[local + 1]
        for x in range(hi - lo):
            root[x] = roots.row[out.code[lo + x]]
        places(readers.seen, first_seen, last_seen, root, 0, hi - lo, position)
        for x in range(hi - lo):
            out.first_seen[lo + x] = position[x] == last_seen or readers.seen[position[x]] != root[x]
        if notes.note.shape[0] > 0 and readers.labels[i]:
            _offer(agent, local, lo, hi, notes, readers, out)
        else:
            out.offered[lo:hi] = -1
        if readers.labels[i] and roots.labeled > 0:
            for e in range(lo, hi):
                out.code[e] += roots.labeled
