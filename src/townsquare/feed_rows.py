"""The compiled part of :mod:`townsquare.feed` that writes: rows of exposures, with what stands beside each post."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.draws import U64, key1, mix, u01
from townsquare.feed_cards import Cards, root_of
from townsquare.pairs import has
from townsquare.schema import NoteStatus, Verdict
from townsquare.world import World

Array = npt.NDArray[Any]
_FALSE, _SHOWN = int(Verdict.FALSE), int(NoteStatus.SHOWN)
_CHUNK = 128


class Posts(NamedTuple):
    """Columns of posts, (posts,) each."""

    root: Array
    author: Array


class Roots(NamedTuple):
    """All that stands beside a root in a feed, in one place of 64 bytes: feeds show few roots, and often.

    ``number`` (posts,) int32 says which a root is, -1 where it can be in no feed of this step. ``record`` (k, 16)
    int32: likes, dislikes, shares, comments, flags, verdict, note; where its notes begin, how many of them are pending,
    how many there are (see :class:`Notes`). ``key`` (k, 8) uint64 is the same memory, the key its column 5.
    """

    number: npt.NDArray[np.int32]
    record: npt.NDArray[np.int32]
    key: npt.NDArray[np.uint64]


class Comments(NamedTuple):
    """Live comments by post, ``ptr`` (posts + 1,) int64, the best first; and how many stand under a post at most."""

    ptr: npt.NDArray[np.int64]
    row: npt.NDArray[np.int32]
    per_post: int


class Notes(NamedTuple):
    """Notes by root, those that are not shown yet first: ``note`` (notes, 2) int32 is the row of each, and its author.

    Which of them are a root's stands in its record.
    """

    note: npt.NDArray[np.int32]


class Pairs(NamedTuple):
    """Keys of a block of a pair store."""

    indptr: npt.NDArray[np.int64]
    key: npt.NDArray[np.int32]


class Ranked(NamedTuple):
    """The posts of some agents of one block in order; (n, width), (n, width) and (n,)."""

    rows: npt.NDArray[np.int32]
    slots: npt.NDArray[np.uint8]
    counts: npt.NDArray[np.int64]


class Exposed(NamedTuple):
    """The columns of exposures that are written, (m,) each."""

    agent: Array
    rank: Array
    post: Array
    root: Array
    author: Array
    under: Array
    slot: Array
    likes: Array
    dislikes: Array
    shares: Array
    comments: Array
    flags: Array
    verdict: Array
    note: Array
    offered: Array
    first_seen: Array
    weight: Array


class Labels(NamedTuple):
    """Who is shown labels, (n,) bool, and what a row counts with a shown note, or with the verdict `false`."""

    shows: npt.NDArray[np.bool_]
    if_noted: float
    if_false: float


@nb.njit(parallel=True, cache=True)
def count_rows(agents: Array, ranked: Ranked, posts: Posts, comments: Comments, out: Array) -> None:
    """Rows a feed once comments stand under its posts: up to ``per_post`` of others' comments each."""
    rows, counts, root, author = ranked.rows, ranked.counts, posts.root, posts.author
    ptr, comment, per_post = comments.ptr, comments.row, comments.per_post
    for i in nb.prange(agents.shape[0]):
        n = counts[i]
        if per_post > 0:
            for x in range(counts[i]):
                r = root[rows[i, x]]
                shown = 0
                for y in range(ptr[r], ptr[r + 1]):
                    if shown == per_post:
                        break
                    if author[comment[y]] != agents[i]:
                        shown += 1
                n += shown
        out[i + 1] = n


@nb.njit(inline="always", cache=True)
def _beside(lo: int, hi: int, posts: Posts, roots: Roots, out: Exposed) -> None:
    """Root and author of the rows of an agent, and what stands beside each but for labels.

    In passes, so that the processor waits for the memory of many rows at once.
    """
    for e in range(lo, hi):
        out.root[e], out.author[e] = posts.root[out.post[e]], posts.author[out.post[e]]
    for e in range(lo, hi):
        out.offered[e] = roots.number[out.root[e]]
    for e in range(lo, hi):
        beside = roots.record[out.offered[e]]
        out.likes[e], out.dislikes[e], out.shares[e] = beside[0], beside[1], beside[2]
        out.comments[e], out.flags[e] = beside[3], beside[4]
        out.verdict[e], out.note[e], out.weight[e] = 0, -1, 1.0


@nb.njit(inline="always", cache=True)
def _label(lo: int, hi: int, roots: Roots, labels: Labels, out: Exposed) -> None:
    """Labels of the rows of an agent that is shown them, and their weights; ``offered`` is the root's number."""
    for e in range(lo, hi):
        beside = roots.record[out.offered[e]]
        out.verdict[e], out.note[e] = beside[5], beside[6]
        weight = 1.0
        if beside[6] >= 0:
            weight = labels.if_noted
        if beside[5] == _FALSE:
            weight = min(weight, labels.if_false)
        out.weight[e] = weight


@nb.njit(inline="always", cache=True)
def _offer(
    agent: int, lo: int, hi: int, notes: Notes, roots: Roots, start: U64, rated: Pairs, local: int, out: Exposed
) -> None:
    """A note to rate for each row whose root has one: a pending one if there is, drawn by (agent, root).

    An agent is not offered its own note, nor one it has rated. ``offered`` is the root's number before.
    """
    offered, by_post = out.offered, notes.note
    for e in range(lo, hi):
        number = offered[e]
        beside = roots.record[number]
        choices = beside[8] if beside[8] > 0 else beside[9]
        offered[e] = -1
        if choices > 0:
            pick = min(np.int64(u01(mix(start ^ roots.key[number, 5])) * choices), choices - 1)
            offered[e] = beside[7] + pick
    first_rated, last_rated = rated.indptr[local], rated.indptr[local + 1]
    for e in range(lo, hi):
        if offered[e] >= 0:
            note, author = by_post[offered[e], 0], by_post[offered[e], 1]
            if author == agent or has(rated.key, first_rated, last_rated, note):
                note = -1
            offered[e] = note


@nb.njit(cache=True)
def _write_chunk(
    first_agent: int,
    last_agent: int,
    agents: Array,
    first: int,
    ranked: Ranked,
    indptr: Array,
    posts: Posts,
    roots: Roots,
    comments: Comments,
    notes: Notes,
    offers: U64,
    seen: Pairs,
    rated: Pairs,
    labels: Labels,
    out: Exposed,
) -> None:
    rows, slots, counts = ranked
    agent_out, rank, post, under, slot = out.agent, out.rank, out.post, out.under, out.slot
    for i in range(first_agent, last_agent):
        agent, at, local = agents[i], indptr[i], agents[i] - first
        for x in range(counts[i]):
            agent_out[at], rank[at], post[at], under[at], slot[at] = agent, x, rows[i, x], -1, slots[i, x]
            at += 1
            if comments.per_post == 0:
                continue
            r, shown = posts.root[rows[i, x]], 0
            for y in range(comments.ptr[r], comments.ptr[r + 1]):
                if shown == comments.per_post:
                    break
                c = comments.row[y]
                if posts.author[c] != agent:
                    agent_out[at], rank[at], post[at], under[at], slot[at] = agent, x, c, r, 2
                    at += 1
                    shown += 1
        _beside(indptr[i], at, posts, roots, out)
        for e in range(indptr[i], at):
            out.first_seen[e] = not has(seen.key, seen.indptr[local], seen.indptr[local + 1], out.root[e])
        if labels.shows[i]:
            _label(indptr[i], at, roots, labels, out)
        if labels.shows[i] and notes.note.shape[0] > 0:
            _offer(agent, indptr[i], at, notes, roots, key1(offers, agent), rated, local, out)
        else:
            out.offered[indptr[i] : at] = -1


@nb.njit(parallel=True, cache=True)
def write_rows(
    agents: Array,
    first: int,
    ranked: Ranked,
    indptr: Array,
    posts: Posts,
    roots: Roots,
    comments: Comments,
    notes: Notes,
    offers: U64,
    seen: Pairs,
    rated: Pairs,
    labels: Labels,
    out: Exposed,
) -> None:
    """Write the feeds of ``agents`` (n,), all of the block that starts at ``first``: posts in order, each followed by
    the comments shown under it.

    ``indptr`` (n + 1,) says where in ``out`` each agent's rows stand. ``offers`` is the draw of the note to rate;
    ``seen`` and ``rated`` are what the agents of the block have seen and rated.
    """
    n = agents.shape[0]
    for chunk in nb.prange((n + _CHUNK - 1) // _CHUNK):
        _write_chunk(
            chunk * _CHUNK, min(n, (chunk + 1) * _CHUNK), agents, first, ranked, indptr, posts, roots, comments, notes,
            offers, seen, rated, labels, out,
        )  # fmt: skip


@nb.njit(cache=True)
def _by_post(post: Array, author: Array, status: Array, roots: Roots, note: Array) -> int:
    """Put the notes of roots that can be shown in the order of these, pending ones first; returns how many."""
    number, record = roots.number, roots.record
    for x in range(post.shape[0]):
        k = number[post[x]]
        if k >= 0:
            record[k, 8] += status[x] != _SHOWN
            record[k, 9] += 1
    at = 0
    for k in range(record.shape[0]):
        record[k, 7] = at
        at += record[k, 9]
    done = np.zeros((record.shape[0], 2), np.int32)  # pending, shown
    for x in range(post.shape[0]):
        k = number[post[x]]
        if k < 0:
            continue
        shown = np.int64(status[x] == _SHOWN)
        place = record[k, 7] + shown * record[k, 8] + done[k, shown]
        done[k, shown] += 1
        note[place, 0], note[place, 1] = x, author[x]
    return at


@nb.njit(cache=True)
def _number(words: Array, more: Array, comments: Comments, number: Array) -> npt.NDArray[np.int32]:
    """Number the roots of cards, ``more`` roots, and the comments that stand under any of them; returns these rows."""
    n = 0
    for c in range(words.shape[0]):
        r = root_of(words[c, 1])
        if number[r] < 0:
            number[r] = n
            n += 1
    for x in range(more.shape[0]):
        if number[more[x]] < 0:
            number[more[x]] = n
            n += 1
    if comments.per_post > 0:
        above = n
        for r in range(number.shape[0]):
            if 0 <= number[r] < above:
                for y in range(comments.ptr[r], comments.ptr[r + 1]):
                    if number[comments.row[y]] < 0:
                        number[comments.row[y]] = n
                        n += 1
    out = np.empty(n, np.int32)
    for r in range(number.shape[0]):
        if number[r] >= 0:
            out[number[r]] = r
    return out


def roots_and_notes(world: World, deck: Cards, more: npt.NDArray[np.int32], comments: Comments) -> tuple[Roots, Notes]:
    """What stands beside every post that can be in a feed: roots of cards, ``more`` roots, and comments on these."""
    posts = world.posts
    number = np.full(posts.n, -1, np.int32)
    rows = _number(deck.words, more, comments, number)
    record = np.zeros((rows.size, 16), np.int32)
    for column, name in enumerate(("likes", "dislikes", "shares", "comments", "flags", "verdict", "note")):
        record[:, column] = posts[name][rows]
    key = record.view(np.uint64)
    key[:, 5] = posts["key"][rows]
    roots = Roots(number, record, key)
    post, author, status = (world.notes[name] for name in ("post", "author", "status"))
    note = np.empty((post.shape[0], 2), np.int32)
    n = _by_post(post, author, status, roots, note)
    return roots, Notes(note[:n])
