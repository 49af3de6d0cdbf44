"""Compiled: chooses which posts each reader is shown, and in which order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np

from townsquare.core.array_types import Array, Bool, Int32, Int64
from townsquare.core.draws import U64, key1, mix
from townsquare.core.pairs import has
from townsquare.core.threads import Part
from townsquare.simulation.feed.candidates import CANDIDATE, Candidates, Pool

_ALL = U64(0xFFFFFFFFFFFFFFFF)

FEED_ROW = np.dtype([("post", "i4"), ("root", "i4"), ("author", "i4"), ("slot", "i4")])
"""A row of a feed: ``root`` is an index of roots, ``author`` wrote the post or passed it on."""
_ENTRY = np.dtype([("score", "f8"), ("draw", "u8"), ("position", "i8")])
_BUCKET = np.dtype([("agent", "i4"), ("at", "i4")])


class Readers(NamedTuple):
    """The readers: ``agents`` (n,) int32 ascend, all of the block that starts at agent ``first``.

    Follows, seen roots, rated notes and hidden authors of the block's agents are offsets and keys of pair stores, see
    :class:`townsquare.core.pairs.PairBlock`. ``others`` (n,) int64 is how many rows from other accounts each agent is
    shown at most; ``labels`` (n,) bool whether it is shown labels.
    """

    agents: Int32
    first: int
    follow_ptr: Int64
    followed: Int32
    seen_ptr: Int64
    seen: Int32
    rated_ptr: Int64
    rated: Int32
    hidden_ptr: Int64
    hidden: Int32
    others: Int64
    labels: Bool


class Ranked(NamedTuple):
    """Feeds in order: ``rows`` (n, width) of :data:`FEED_ROW`, of which the first ``counts`` (n,) are used."""

    rows: Array
    counts: Int64


class Given(NamedTuple):
    """Roots that a ranker retrieved: those of the reader at position ``i`` are ``row[ptr[i] : ptr[i + 1]]``."""

    ptr: Int64
    row: Array


class Scratch(NamedTuple):
    """Memory of one thread for one feed at a time.

    ``candidate`` holds the candidates of all followed accounts, ``owner`` the account of each, ``newest`` positions of
    the newest candidate of each root, ``table`` positions in ``newest`` by root. ``best`` are entries in order,
    ``root`` their roots. ``drawn`` are the draws of the pool, ``smallest`` the smallest of these in order, ``position``
    their positions, ``picked`` the positions of the roots that are shown.
    """

    candidate: Array
    owner: Array
    newest: Array
    table: Array
    best: Array
    root: Array
    drawn: Array
    position: Array
    smallest: Array
    picked: Array


@nb.njit(cache=True)
def _scratch(part: Part, candidates: Candidates, pool: Pool, readers: Readers) -> Scratch:
    """Memory for the largest of the feeds of some readers."""
    most, others = 1, 0
    for i in range(part.start, part.stop):
        size, local = 0, readers.agents[i] - readers.first
        for j in range(readers.follow_ptr[local], readers.follow_ptr[local + 1]):
            size += candidates.ptr[readers.followed[j] + 1] - candidates.ptr[readers.followed[j]]
        most, others = max(most, size), max(others, readers.others[i])
    n_buckets = 16
    while n_buckets < 2 * most:
        n_buckets *= 2
    table = np.empty(n_buckets, _BUCKET)
    for x in range(n_buckets):
        table[x].agent = -1
    rows, n_pool = candidates.limit + others, pool.post.shape[0]
    return Scratch(
        np.empty(most, CANDIDATE), np.empty(most, np.int32), np.empty(most, np.int32), table, np.empty(rows, _ENTRY),
        np.empty(rows, np.int32), np.empty(n_pool, np.uint64), np.empty(n_pool + 1, np.int64),
        np.empty(n_pool, np.uint64), np.empty(others, np.int64),
    )  # fmt: skip


@nb.njit(inline="always", cache=True)
def _before(score: float, draw: U64, other: Any) -> bool:
    return bool(score > other.score or (score == other.score and draw < other.draw))


@nb.njit(inline="always", cache=True)
def _insert(best: Array, n: int, limit: int, score: float, draw: U64, position: int) -> int:
    """Insert into the ordered ``best[:n]``: highest score first, then smallest draw. Keeps ``limit``; returns how many.

    Feeds are short, so that this is an insertion sort.
    """
    if n == limit:
        if n == 0 or not _before(score, draw, best[n - 1]):
            return n
        n -= 1
    x = n
    while x > 0 and _before(score, draw, best[x - 1]):
        best[x] = best[x - 1]
        x -= 1
    best[x].score, best[x].draw, best[x].position = score, draw, position
    return n + 1


@nb.njit(cache=True)
def _gather(followed: Array, candidates: Candidates, scratch: Scratch) -> int:
    """Copy the candidates of the followed accounts side by side; returns how many.

    Nothing is decided yet, so that the processor waits for the memory of many of them at once.
    """
    ptr, row, copied, owner, n = candidates.ptr, candidates.row, scratch.candidate, scratch.owner, 0
    for j in range(followed.shape[0]):
        for c in range(ptr[followed[j]], ptr[followed[j] + 1]):
            copied[n], owner[n] = row[c], followed[j]
            n += 1
    return n


@nb.njit(cache=True)
def _newest_of_roots(agent: int, hidden: Array, n_candidates: int, start: U64, scratch: Scratch) -> int:
    """Find the newest candidate of each root by neither the agent nor a hidden author; equal age by draw.

    Returns how many.

    Buckets of another agent count as empty, so that nobody empties the table.
    """
    candidate, newest, table = scratch.candidate, scratch.newest, scratch.table
    mask, n = table.shape[0] - 1, 0
    for c in range(n_candidates):
        post = candidate[c]
        if post.author == agent or has(hidden, 0, hidden.shape[0], post.author):
            continue
        h = (np.int64(post.root) * 2654435761) & mask
        while table[h].agent == agent and candidate[newest[table[h].at]].root != post.root:
            h = (h + 1) & mask
        if table[h].agent != agent:
            table[h].agent, table[h].at = agent, n
            newest[n] = c
            n += 1
            continue
        old = candidate[newest[table[h].at]]
        if post.step > old.step or (post.step == old.step and mix(start ^ post.key) < mix(start ^ old.key)):
            newest[table[h].at] = c
    return n


@nb.njit(cache=True)
def _rank_followed(agent: int, followed: Array, hidden: Array, candidates: Candidates, scratch: Scratch) -> int:
    """Put the best candidates of followed accounts into ``best``; returns how many."""
    if candidates.limit == 0:
        return 0
    candidate, newest, best, root = scratch.candidate, scratch.newest, scratch.best, scratch.root
    n_candidates, n = _gather(followed, candidates, scratch), 0
    order = key1(candidates.order, agent)
    for x in range(_newest_of_roots(agent, hidden, n_candidates, key1(candidates.newest, agent), scratch)):
        post = candidate[newest[x]]
        n = _insert(best, n, candidates.limit, post.score, mix(order ^ post.key), newest[x])
    for x in range(n):
        root[x] = candidate[best[x].position].root
    return n


@nb.njit(inline="always", cache=True)
def _among(values: Array, n: int, wanted: int) -> bool:
    part, among = values[:n], False  # without a branch: many at a time
    for x in range(part.shape[0]):
        among |= part[x] == wanted
    return among


@nb.njit(cache=True)
def _smallest(pool: Pool, wanted: int, scratch: Scratch) -> int:
    """Put about ``wanted`` roots of the pool with the smallest draws into ``position``, in order; returns how many.

    Injected roots that are fewer than the rest weigh as much as the rest: their draws are scaled by how many there are.
    """
    drawn, smallest, position, size, n = scratch.drawn, scratch.smallest, scratch.position, pool.post.shape[0], 0
    n_rest = size - pool.n_injected
    n_scaled = pool.n_injected if pool.n_injected < n_rest else 0
    bound = _ALL if wanted >= size else _ALL // U64(2 * n_rest if n_scaled else size) * U64(wanted)
    bound_scaled = _ALL
    if n_scaled and bound // U64(n_scaled) < _ALL // U64(n_rest):
        bound_scaled = (bound // U64(n_scaled) + U64(1)) * U64(n_rest) - U64(1)
    for x in range(n_scaled):  # without a branch that the processor could guess wrong
        position[n] = x
        n += drawn[x] <= bound_scaled
    for x in range(n_scaled, size):
        position[n] = x
        n += drawn[x] <= bound
    for x in range(n):
        p = position[x]
        draw, y = drawn[p], x
        if p < n_scaled:
            draw = draw // U64(n_rest) * U64(n_scaled)
        while y > 0 and draw < smallest[y - 1]:
            smallest[y], position[y] = smallest[y - 1], position[y - 1]
            y -= 1
        smallest[y], position[y] = draw, p
    return n


@nb.njit(cache=True)
def _pick_others(agent: int, followed: Array, hidden: Array, n: int, limit: int, pool: Pool, scratch: Scratch) -> int:
    """Put the ``limit`` roots of the pool with the smallest draws by (agent, root) into ``picked``; returns how many.

    Roots of the agent, of followed and hidden accounts, and the ``n`` roots chosen already are left out.
    """
    size, start, chosen = pool.post.shape[0], key1(pool.draw, agent), scratch.root
    if limit == 0 or size == 0:
        return 0
    for x in range(size):
        scratch.drawn[x] = mix(start ^ pool.key[x])
    # Only the smallest draws are looked at, some more than are wanted; many more where those do not do.
    wanted = limit + limit // 2 + 6
    while True:
        m = 0
        for y in range(_smallest(pool, wanted, scratch)):
            x = scratch.position[y]
            author = pool.author[x]
            if author == agent or has(followed, 0, followed.shape[0], author) or _among(chosen, n, pool.root[x]):
                continue
            if has(hidden, 0, hidden.shape[0], author):
                continue
            scratch.picked[m] = x
            m += 1
            if m == limit:
                return m
        if wanted >= size:
            return m
        wanted *= 4


@nb.njit(nogil=True, cache=True)
def rank(part: Part, candidates: Candidates, pool: Pool, readers: Readers, out: Ranked) -> None:
    """Rank the feeds of ``readers`` into ``out``, which is ``candidates.limit`` + the largest of ``others`` wide.

    Scores and keyed draws alone decide the order, so neither the block nor the number of threads can change it.
    """
    scratch = _scratch(part, candidates, pool, readers)
    for i in range(part.start, part.stop):
        agent, local = readers.agents[i], readers.agents[i] - readers.first
        followed = readers.followed[readers.follow_ptr[local] : readers.follow_ptr[local + 1]]
        hidden = readers.hidden[readers.hidden_ptr[local] : readers.hidden_ptr[local + 1]]
        n = _rank_followed(agent, followed, hidden, candidates, scratch)
        m = _pick_others(agent, followed, hidden, n, readers.others[i], pool, scratch)
        order = key1(candidates.order, agent)
        for x in range(m):
            p = scratch.picked[x]
            _insert(scratch.best, n + x, n + m, pool.score[p], mix(order ^ pool.key[p]), -1 - p)
        for x in range(n + m):
            c, row = scratch.best[x].position, out.rows[i, x]
            if c >= 0:
                post = scratch.candidate[c]
                row.post, row.root, row.author, row.slot = post.post, post.root, scratch.owner[c], 0
            else:
                p = -1 - c
                row.post, row.root, row.author, row.slot = pool.post[p], pool.root[p], pool.author[p], 1
        out.counts[i] = n + m


# In two stages: :func:`collect` gathers candidates, a ranker scores them, :func:`choose` makes feeds of them.


@nb.njit(nogil=True, cache=True)
def collect(
    part: Part, candidates: Candidates, pool: Pool, given: Given, readers: Readers, ptr: Array, rows: Array,
    counts: Array,
) -> None:  # fmt: skip
    """Gather candidates of ``readers`` into ``rows`` of :data:`FEED_ROW`, ``counts[i]`` of them from ``ptr[i]`` on.

    First the newest row of each root from followed accounts, then the ``others`` roots of the pool with the smallest
    draws, in order, then what is given.
    """
    scratch = _scratch(part, candidates, pool, readers)
    for i in range(part.start, part.stop):
        agent, local, at = readers.agents[i], readers.agents[i] - readers.first, ptr[i]
        followed = readers.followed[readers.follow_ptr[local] : readers.follow_ptr[local + 1]]
        hidden = readers.hidden[readers.hidden_ptr[local] : readers.hidden_ptr[local + 1]]
        if candidates.limit > 0:
            n = _gather(followed, candidates, scratch)
            for x in range(_newest_of_roots(agent, hidden, n, key1(candidates.newest, agent), scratch)):
                c = scratch.newest[x]
                post, row = scratch.candidate[c], rows[at]
                row.post, row.root, row.author, row.slot = post.post, post.root, scratch.owner[c], 0
                at += 1
        n = _pick_others(agent, followed, hidden, 0, readers.others[i], pool, scratch) if pool.post.shape[0] else 0
        for x in range(n):
            p, row = scratch.picked[x], rows[at]
            row.post, row.root, row.author, row.slot = pool.post[p], pool.root[p], pool.author[p], 1
            at += 1
        for x in range(given.ptr[i], given.ptr[i + 1]):
            author = given.row[x].author
            if author == agent or has(followed, 0, followed.shape[0], author):
                continue
            if has(hidden, 0, hidden.shape[0], author):
                continue
            rows[at] = given.row[x]
            at += 1
        counts[i] = at - ptr[i]


@nb.njit(nogil=True, cache=True)
def count_room(part: Part, ptr: Array, given_ptr: Array, readers: Readers, out: Array) -> None:
    """Count the candidates that each reader can have at most, into ``out[i + 1]``: as :func:`collect` finds them."""
    for i in range(part.start, part.stop):
        local = readers.agents[i] - readers.first
        n = readers.others[i] + given_ptr[i + 1] - given_ptr[i]
        for j in range(readers.follow_ptr[local], readers.follow_ptr[local + 1]):
            n += ptr[readers.followed[j] + 1] - ptr[readers.followed[j]]
        out[i + 1] = n


@nb.njit(nogil=True, cache=True)
def lay_out(
    part: Part, agents: Array, ptr: Array, collected: Array, indptr: Array, root_row: Array, rows: Array,
    columns: tuple[Array, ...],
) -> None:  # fmt: skip
    """Write what each reader has in ``collected`` into ``rows``, and reader, post, root and author as columns.

    Candidates of the reader at position ``i`` stand there from ``ptr[i]`` on, and go to ``indptr[i]`` and after.
    """
    reader, post, root, author = columns
    for i in range(part.start, part.stop):
        for at in range(indptr[i], indptr[i + 1]):
            row = collected[ptr[i] + at - indptr[i]]
            rows[at] = row
            reader[at], post[at], root[at], author[at] = agents[i], row.post, root_row[row.root], row.author


class Scored(NamedTuple):
    """Candidates with scores: those of the reader at position ``i`` are ``rows[ptr[i] : ptr[i + 1]]``.

    ``key`` (m,) uint64 and ``score`` (m,) float64 are of the rows.
    """

    ptr: Array
    rows: Array
    key: Array
    score: Array


@nb.njit(nogil=True, cache=True)
def choose(part: Part, readers: Readers, limit: int, order: U64, by_score: bool, scored: Scored, out: Ranked) -> None:
    """Make feeds of what :func:`collect` gave: the best ``limit`` rows of followed accounts, ``others`` from others.

    From others come the best ones where ``by_score``, else the first ones.
    """
    ptr, rows, key, score = scored
    most = 0
    for i in range(part.start, part.stop):
        most = max(most, readers.others[i])
    best, rest, root = np.empty(limit + most, _ENTRY), np.empty(most, _ENTRY), np.empty(limit, np.int32)
    for i in range(part.start, part.stop):
        start, n, m = key1(order, readers.agents[i]), 0, 0
        for e in range(ptr[i], ptr[i + 1]):
            if rows[e].slot == 0:
                n = _insert(best, n, limit, score[e], mix(start ^ key[e]), e)
        for x in range(n):
            root[x] = rows[best[x].position].root
        for e in range(ptr[i], ptr[i + 1]):
            if rows[e].slot == 1 and not _among(root, n, rows[e].root):
                order_by = score[e] if by_score else -float(e)  # the pool's are in the order of their draws
                m = _insert(rest, m, readers.others[i], order_by, mix(start ^ key[e]), e)
        for x in range(m):
            e = rest[x].position
            _insert(best, n + x, n + m, score[e], mix(start ^ key[e]), e)
        for x in range(n + m):
            out.rows[i, x] = rows[best[x].position]
        out.counts[i] = n + m
