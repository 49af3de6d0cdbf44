"""The compiled part of :mod:`townsquare.feed` that chooses: which posts one agent is shown, and in which order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.draws import U64, key1, mix
from townsquare.feed_cards import Cards, author_of, post_of, root_of, step_of
from townsquare.pairs import has

Array = npt.NDArray[Any]
_ALL = U64(0xFFFFFFFFFFFFFFFF)
_CHUNK = 128
"""Agents that one thread takes at a time, with room made once for all of them."""


class PoolColumns(NamedTuple):
    """What the shared pool holds: (k,) each; the first ``n_injected`` are injected ones."""

    post: npt.NDArray[np.int32]
    author: npt.NDArray[np.int32]
    key: npt.NDArray[np.uint64]
    score: npt.NDArray[np.float64]
    n_injected: int


class Bases(NamedTuple):
    """The draws of a feed: which of equally old rows of a root, the order of equal scores, which rows of the pool."""

    age: np.uint64
    order: np.uint64
    pool: np.uint64


class _Room(NamedTuple):
    """Scratch memory of one thread.

    ``hand`` holds the cards of one agent, ``scores`` is the same memory as float64; ``first`` and ``last`` say whose
    they are; ``found`` holds places in it and ``table`` places in that, by root; the rest holds rows in order with
    their scores and draws.
    """

    hand: Array
    scores: Array
    first: Array
    last: Array
    found: Array
    table: Array
    post: Array
    root: Array
    score: Array
    tie: Array
    drawn: Array
    small: Array
    place: Array
    other: Array


@nb.njit(inline="always", cache=True)
def _before(score_a: float, tie_a: U64, score_b: float, tie_b: U64) -> bool:
    """Whether a stands above b: higher score, or the smaller draw of equal ones."""
    return bool(score_a > score_b or (score_a == score_b and tie_a < tie_b))


@nb.njit(cache=True)
def _deal(followed: Array, cards: Cards, room: _Room) -> int:
    """Copy the cards of the followed, side by side; returns how many.

    Nothing is decided yet, so that the processor waits for the memory of many of them at once.
    """
    ptr, words, first, last, hand = cards.ptr, cards.words, room.first, room.last, room.hand
    for j in range(followed.shape[0]):
        first[j], last[j] = ptr[followed[j]], ptr[followed[j] + 1]
    n = 0
    for j in range(followed.shape[0]):
        for c in range(first[j], last[j]):
            hand[n, 0], hand[n, 1], hand[n, 2], hand[n, 3] = words[c, 0], words[c, 1], words[c, 2], words[c, 3]
            n += 1
    return n


@nb.njit(cache=True)
def _gather(agent: int, n_cards: int, words: Array, start: U64, found: Array, table: Array) -> int:
    """The newest card of each root among those of the followed; equal age by draw. Returns how many."""
    mask, n = table.shape[0] - 1, 0
    for c in range(n_cards):
        if author_of(words[c, 2]) == agent:
            continue
        r = root_of(words[c, 1])
        h = (r * 2654435761) & mask
        while table[h] >= 0 and root_of(words[found[table[h]], 1]) != r:
            h = (h + 1) & mask
        if table[h] < 0:
            table[h] = n
            found[n] = c
            n += 1
            continue
        old = found[table[h]]
        age, old_age = step_of(words[c, 2]), step_of(words[old, 2])
        if age > old_age or (age == old_age and mix(start ^ words[c, 0]) < mix(start ^ words[old, 0])):
            found[table[h]] = c
    return n


@nb.njit(cache=True)
def _clear(words: Array, found: Array, n: int, table: Array) -> None:
    """Empty the places of the table that were used."""
    mask = table.shape[0] - 1
    for x in range(n):
        h = (root_of(words[found[x], 1]) * 2654435761) & mask
        while table[h] >= 0:  # a run of places in use ends with an empty one
            table[h] = -1
            h = (h + 1) & mask


@nb.njit(cache=True)
def _best(n: int, limit: int, start: U64, room: _Room) -> int:
    """The best ``limit`` of what was found in order, with their scores and draws; returns how many."""
    words, numbers = room.hand, room.scores
    found, post, root, score, tie = room.found, room.post, room.root, room.score, room.tie
    m = 0
    for x in range(n):
        c = found[x]
        s = numbers[c, 3]
        if m == limit and s < score[m - 1]:
            continue
        t = mix(start ^ words[c, 0])
        if m == limit and not _before(s, t, score[m - 1], tie[m - 1]):
            continue
        y = m if m < limit else m - 1
        if m < limit:
            m += 1
        while y > 0 and _before(s, t, score[y - 1], tie[y - 1]):
            post[y], root[y], score[y], tie[y] = post[y - 1], root[y - 1], score[y - 1], tie[y - 1]
            y -= 1
        post[y], root[y], score[y], tie[y] = post_of(words[c, 1]), root_of(words[c, 1]), s, t
    return m


@nb.njit(cache=True)
def _smallest(pool: PoolColumns, wanted: int, room: _Room) -> int:
    """Places of about ``wanted`` roots of the pool with the smallest draws, in the order of these; returns how many.

    Injected ones that are fewer than the rest weigh as much as these: their draws are scaled by how many there are.
    """
    drawn, small, place = room.drawn, room.small, room.place
    n, n_injected = pool.post.shape[0], pool.n_injected
    n_rest = n - n_injected
    scaled = n_injected if n_injected < n_rest else 0
    bound = _ALL if wanted >= n else _ALL // U64(n) * U64(wanted)
    found = 0
    if scaled:
        # (draw // n_rest) * n_injected <= bound, without a division of each draw
        most = bound // U64(n_injected)
        every = most >= _ALL // U64(n_rest)
        below = _ALL if every else (most + U64(1)) * U64(n_rest)
        for x in range(scaled):
            place[found] = x
            found += 1 if every or drawn[x] < below else 0
        for y in range(found):
            small[y] = drawn[place[y]] // U64(n_rest) * U64(n_injected)
    kept = found
    for x in range(scaled, n):
        place[found] = x
        found += drawn[x] <= bound
    for y in range(kept, found):
        small[y] = drawn[place[y]]
    for x in range(1, found):  # by insertion: they are few
        t, v = small[x], place[x]
        y = x - 1
        while y >= 0 and small[y] > t:
            small[y + 1], place[y + 1] = small[y], place[y]
            y -= 1
        small[y + 1], place[y + 1] = t, v
    return found


@nb.njit(cache=True)
def _others(
    agent: int, followed: Array, pool: PoolColumns, limit: int, start: U64, above: Array, n_above: int, room: _Room
) -> int:
    """The ``limit`` roots of the pool with the smallest draw by (agent, root), not followed and not above."""
    drawn, place, other, key = room.drawn, room.place, room.other, pool.key
    n = pool.post.shape[0]
    for x in range(n):
        drawn[x] = mix(start ^ key[x])
    # Only the smallest draws are put in order, some more than are wanted; many more if those do not do.
    wanted = limit + limit // 2 + 6
    while True:
        m = 0
        for y in range(_smallest(pool, wanted, room)):
            x = place[y]
            author, p = pool.author[x], pool.post[x]
            hidden = author == agent or has(followed, 0, followed.shape[0], author)
            for z in range(n_above):
                hidden |= above[z] == p
            if not hidden:
                other[m] = x
                m += 1
                if m == limit:
                    return m
        if wanted >= n:
            return m
        wanted *= 4


@nb.njit(cache=True)
def _fill_chunk(
    lo: int,
    hi: int,
    agents: Array,
    first: int,
    follow_ptr: Array,
    follow_key: Array,
    cards: Cards,
    pool: PoolColumns,
    n_followed: int,
    n_others: Array,
    bases: Bases,
    rows: Array,
    slots: Array,
    counts: Array,
) -> None:
    most, widest, longest = 1, 0, 1
    for i in range(lo, hi):
        size = 0
        longest = max(longest, follow_ptr[agents[i] - first + 1] - follow_ptr[agents[i] - first])
        for j in range(follow_ptr[agents[i] - first], follow_ptr[agents[i] - first + 1]):
            size += cards.ptr[follow_key[j] + 1] - cards.ptr[follow_key[j]]
        most, widest = max(most, size), max(widest, n_others[i])
    wide = 16
    while wide < 2 * most:
        wide *= 2
    k, n_pool = n_followed + widest + 1, pool.post.shape[0]
    hand = np.empty((most, 4), np.uint64)
    room = _Room(
        hand, hand.view(np.float64), np.empty(longest, np.int64), np.empty(longest, np.int64),
        np.empty(most, np.int32), np.full(wide, -1, np.int32), np.empty(k, np.int32), np.empty(k, np.int32),
        np.empty(k, np.float64), np.empty(k, np.uint64), np.empty(n_pool, np.uint64), np.empty(n_pool + 1, np.uint64),
        np.empty(n_pool + 1, np.int64), np.empty(widest + 1, np.int64),
    )  # fmt: skip
    post, score, tie = room.post, room.score, room.tie
    for i in range(lo, hi):
        agent = agents[i]
        followed = follow_key[follow_ptr[agent - first] : follow_ptr[agent - first + 1]]
        n_cards = _deal(followed, cards, room)
        n = _gather(agent, n_cards, room.hand, key1(bases.age, agent), room.found, room.table)
        _clear(room.hand, room.found, n, room.table)
        order = key1(bases.order, agent)
        m = _best(n, n_followed, order, room) if n_followed else 0
        n_other = 0
        if n_others[i]:
            start = key1(bases.pool, agent)
            n_other = _others(agent, followed, pool, n_others[i], start, room.root, m, room)
        # The followed are in order; the others are put among them by score, equal ones by draw.
        for x in range(m):
            rows[i, x], slots[i, x] = post[x], 0
        for x in range(n_other):
            c = room.other[x]
            s, t = pool.score[c], mix(order ^ pool.key[c])
            y = m + x
            while y > 0 and _before(s, t, score[y - 1], tie[y - 1]):
                rows[i, y], slots[i, y], score[y], tie[y] = rows[i, y - 1], slots[i, y - 1], score[y - 1], tie[y - 1]
                y -= 1
            rows[i, y], slots[i, y], score[y], tie[y] = pool.post[c], 1, s, t
        counts[i] = m + n_other


@nb.njit(parallel=True, cache=True)
def fill_feeds(
    agents: Array,
    first: int,
    follow_ptr: Array,
    follow_key: Array,
    cards: Cards,
    pool: PoolColumns,
    n_followed: int,
    n_others: Array,
    bases: Bases,
    rows: Array,
    slots: Array,
    counts: Array,
) -> None:
    """Rows of the feeds of ``agents`` (all of one block that starts at ``first``), ranked.

    ``n_others`` (n,) int64 is the number of rows from other accounts for each agent. Writes ``rows`` and ``slots`` (n,
    n_followed + the largest of them) and ``counts`` (n,). Scores and keyed draws alone decide
    the order, so neither the block nor the number of threads can change it. ``pool`` holds live roots only.
    """
    n = agents.shape[0]
    for chunk in nb.prange((n + _CHUNK - 1) // _CHUNK):
        _fill_chunk(
            chunk * _CHUNK, min(n, (chunk + 1) * _CHUNK), agents, first, follow_ptr, follow_key, cards, pool,
            n_followed, n_others, bases, rows, slots, counts,
        )  # fmt: skip
