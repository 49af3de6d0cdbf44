"""Compiled: writes rows of exposures, comments under posts among them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.core.draws import key1, mix, u01
from townsquare.core.pairs import has, places
from townsquare.simulation.feed.candidates import FeedInputs
from townsquare.simulation.feed.rank_kernels import CHUNK, Ranked, Readers

Array = npt.NDArray[Any]
_COMMENT = 2  # schema.Slot.COMMENT


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
def _comments_under(root: int, agent: int, inputs: FeedInputs, out: Array) -> int:
    """Write the comments of others that are shown under a root into ``out``; returns how many."""
    n, comments = 0, inputs.comments
    if comments.per_post > 0:
        r = inputs.roots.row[root]
        for y in range(comments.ptr[r], comments.ptr[r + 1]):
            if n == comments.per_post:
                break
            if inputs.author[comments.row[y]] != agent:
                out[n] = comments.row[y]
                n += 1
    return n


@nb.njit(parallel=True, cache=True)
def count_rows(inputs: FeedInputs, readers: Readers, ranked: Ranked, out: Array) -> None:
    """Count the rows of each feed with the comments under its posts, into ``out[i + 1]``."""
    for i in nb.prange(readers.agents.shape[0]):
        n = ranked.counts[i]
        if inputs.comments.per_post > 0:
            under = np.empty(inputs.comments.per_post, np.int32)
            for x in range(ranked.counts[i]):
                n += _comments_under(ranked.rows[i, x].root, readers.agents[i], inputs, under)
        out[i + 1] = n


@nb.njit(inline="always", cache=True)
def _offer(agent: int, lo: int, hi: int, inputs: FeedInputs, readers: Readers, out: Rows) -> None:
    """Offer a note to rate with each row whose root has one: a pending one if there is, drawn by (agent, root).

    An agent is not offered its own note, nor one it has rated.
    """
    offered, note, start = out.offered, inputs.notes.note, key1(inputs.draws.offer, agent)
    for e in range(lo, hi):
        root = inputs.notes.root[out.code[e]]
        choices = root.pending if root.pending > 0 else root.count
        offered[e] = -1
        if choices > 0:
            offered[e] = root.first + min(np.int64(u01(mix(start ^ root.key)) * choices), choices - 1)
    local = agent - readers.first
    for e in range(lo, hi):
        if offered[e] >= 0:
            one = note[offered[e]]
            mine = one.author == agent
            rated = has(readers.rated, readers.rated_ptr[local], readers.rated_ptr[local + 1], one.note)
            offered[e] = -1 if mine or rated else one.note


@nb.njit(inline="always", cache=True)
def _write_feed(i: int, at: int, inputs: FeedInputs, readers: Readers, ranked: Ranked, out: Rows) -> None:
    """Write the rows of a feed from row ``at`` on: posts in order, each followed by the comments under it."""
    agent, under = readers.agents[i], np.empty(inputs.comments.per_post, np.int32)
    for x in range(ranked.counts[i]):
        row = ranked.rows[i, x]
        out.agent[at], out.rank[at], out.post[at], out.author[at] = agent, x, row.post, row.author
        out.slot[at], out.code[at] = row.slot, row.root
        at += 1
        for y in range(_comments_under(row.root, agent, inputs, under)):
            c = under[y]
            out.agent[at], out.rank[at], out.post[at], out.author[at] = agent, x, c, inputs.author[c]
            out.slot[at], out.code[at] = _COMMENT, inputs.roots.index[c]
            at += 1


@nb.njit(cache=True)
def _write_chunk(
    first: int, last: int, inputs: FeedInputs, readers: Readers, ranked: Ranked, indptr: Array, out: Rows
) -> None:
    most = 0
    for i in range(first, last):
        most = max(most, indptr[i + 1] - indptr[i])
    root, place = np.empty(most, np.int32), np.empty(most, np.int64)
    for i in range(first, last):
        agent, lo, hi, local = readers.agents[i], indptr[i], indptr[i + 1], readers.agents[i] - readers.first
        _write_feed(i, lo, inputs, readers, ranked, out)
        first_seen, last_seen = readers.seen_ptr[local], readers.seen_ptr[local + 1]
        for x in range(hi - lo):
            root[x] = inputs.roots.row[out.code[lo + x]]
        places(readers.seen, first_seen, last_seen, root, 0, hi - lo, place)
        for x in range(hi - lo):
            out.first_seen[lo + x] = place[x] == last_seen or readers.seen[place[x]] != root[x]
        if inputs.notes.note.shape[0] > 0 and readers.labels[i]:
            _offer(agent, lo, hi, inputs, readers, out)
        else:
            out.offered[lo:hi] = -1
        if readers.labels[i] and inputs.labeled > 0:
            for e in range(lo, hi):
                out.code[e] += inputs.labeled


@nb.njit(parallel=True, cache=True)
def write_rows(inputs: FeedInputs, readers: Readers, ranked: Ranked, indptr: Array, out: Rows) -> None:
    """Write the feeds of ``readers``; ``indptr`` (n + 1,) says where in ``out`` each agent's rows stand."""
    n = readers.agents.shape[0]
    for chunk in nb.prange((n + CHUNK - 1) // CHUNK):
        _write_chunk(chunk * CHUNK, min(n, (chunk + 1) * CHUNK), inputs, readers, ranked, indptr, out)
