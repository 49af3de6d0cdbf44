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


class Readers(NamedTuple):
    """Whose feeds: ``agents`` (n,) int32 ascend, all of the block that starts at agent ``first``.

    ``ptr`` and ``followed`` are the follows of the block's agents, as :class:`townsquare.pairs.PairBlock` has them;
    ``others`` (n,) int64 is how many rows from other accounts each of ``agents`` is shown at most.
    """

    agents: npt.NDArray[np.int32]
    first: int
    ptr: npt.NDArray[np.int64]
    followed: npt.NDArray[np.int32]
    others: npt.NDArray[np.int64]


class PoolColumns(NamedTuple):
    """What the shared pool holds: (k,) each; the first ``n_injected`` are injected ones. ``number`` is the root's."""

    post: npt.NDArray[np.int32]
    number: npt.NDArray[np.int32]
    author: npt.NDArray[np.int32]
    key: npt.NDArray[np.uint64]
    score: npt.NDArray[np.float64]
    n_injected: int


class Ranked(NamedTuple):
    """The posts of the feeds of some agents in order: (n, width) each, of which the first ``counts`` (n,) are used.

    ``number`` is the number of the root, ``author`` who wrote the post or passed it on.
    """

    post: npt.NDArray[np.int32]
    number: npt.NDArray[np.int32]
    author: npt.NDArray[np.int32]
    slot: npt.NDArray[np.uint8]
    counts: npt.NDArray[np.int64]


class Bases(NamedTuple):
    """The draws of a feed: which of equally old rows of a root, the order of equal scores, which rows of the pool."""

    age: np.uint64
    order: np.uint64
    pool: np.uint64


class _Room(NamedTuple):
    """Scratch memory of one thread.

    ``hand`` holds the cards of one agent, ``scores`` is the same memory as float64, ``owner`` whose ring each is
    from; ``first`` and ``last`` say where those of each account stand; ``found`` holds places in ``hand``, ``table``
    places in that, by root; ``card``, ``score`` and ``tie`` hold rows in order with their scores and draws: places in
    ``hand``, or -1 less a place in the pool.
    """

    hand: Array
    scores: Array
    owner: Array
    first: Array
    last: Array
    found: Array
    table: Array
    card: Array
    number: Array
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
    ptr, words, first, last, hand, owner = cards.ptr, cards.words, room.first, room.last, room.hand, room.owner
    for j in range(followed.shape[0]):
        first[j], last[j] = ptr[followed[j]], ptr[followed[j] + 1]
    n = 0
    for j in range(followed.shape[0]):
        for c in range(first[j], last[j]):
            hand[n, 0], hand[n, 1], hand[n, 2], hand[n, 3] = words[c, 0], words[c, 1], words[c, 2], words[c, 3]
            owner[n] = followed[j]
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
    found, card, number, score, tie = room.found, room.card, room.number, room.score, room.tie
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
            card[y], score[y], tie[y] = card[y - 1], score[y - 1], tie[y - 1]
            y -= 1
        card[y], score[y], tie[y] = c, s, t
    for x in range(m):
        number[x] = root_of(words[card[x], 1])
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
    many = 2 * n_rest if scaled else n  # how many unscaled ones would weigh as much
    bound = _ALL if wanted >= n else _ALL // U64(many) * U64(wanted)
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
            author, number = pool.author[x], pool.number[x]
            hidden = author == agent or has(followed, 0, followed.shape[0], author)
            for z in range(n_above):
                hidden |= above[z] == number
            if not hidden:
                other[m] = x
                m += 1
                if m == limit:
                    return m
        if wanted >= n:
            return m
        wanted *= 4


@nb.njit(cache=True)
def _room(lo: int, hi: int, readers: Readers, cards: Cards, pool: PoolColumns, n_followed: int) -> _Room:
    """Room for the largest of the feeds at places ``lo`` to ``hi``."""
    most, widest, longest = 1, 0, 1
    for i in range(lo, hi):
        size, local = 0, readers.agents[i] - readers.first
        longest = max(longest, readers.ptr[local + 1] - readers.ptr[local])
        for j in range(readers.ptr[local], readers.ptr[local + 1]):
            size += cards.ptr[readers.followed[j] + 1] - cards.ptr[readers.followed[j]]
        most, widest = max(most, size), max(widest, readers.others[i])
    wide = 16
    while wide < 2 * most:
        wide *= 2
    k, n_pool = n_followed + widest + 1, pool.post.shape[0]
    hand = np.empty((most, 4), np.uint64)
    return _Room(
        hand, hand.view(np.float64), np.empty(most, np.int32), np.empty(longest, np.int64), np.empty(longest, np.int64),
        np.empty(most, np.int32), np.full(wide, -1, np.int32), np.empty(k, np.int32), np.empty(k, np.int32),
        np.empty(k, np.float64), np.empty(k, np.uint64), np.empty(n_pool, np.uint64), np.empty(n_pool + 1, np.uint64),
        np.empty(n_pool + 1, np.int64), np.empty(widest + 1, np.int64),
    )  # fmt: skip


@nb.njit(cache=True)
def _fill_chunk(
    lo: int, hi: int, readers: Readers, cards: Cards, pool: PoolColumns, n_followed: int, bases: Bases, out: Ranked
) -> None:
    room = _room(lo, hi, readers, cards, pool, n_followed)
    card, score, tie, words = room.card, room.score, room.tie, room.hand
    posts, numbers, authors, slots, counts = out
    for i in range(lo, hi):
        agent, local = readers.agents[i], readers.agents[i] - readers.first
        followed = readers.followed[readers.ptr[local] : readers.ptr[local + 1]]
        n_cards = _deal(followed, cards, room)
        n = _gather(agent, n_cards, words, key1(bases.age, agent), room.found, room.table)
        _clear(words, room.found, n, room.table)
        order = key1(bases.order, agent)
        m = _best(n, n_followed, order, room) if n_followed else 0
        n_other = 0
        if readers.others[i]:
            start = key1(bases.pool, agent)
            n_other = _others(agent, followed, pool, readers.others[i], start, room.number, m, room)
        # The followed are in order; the others are put among them by score, equal ones by draw.
        for x in range(n_other):
            c = room.other[x]
            s, t = pool.score[c], mix(order ^ pool.key[c])
            y = m + x
            while y > 0 and _before(s, t, score[y - 1], tie[y - 1]):
                card[y], score[y], tie[y] = card[y - 1], score[y - 1], tie[y - 1]
                y -= 1
            card[y], score[y], tie[y] = -1 - c, s, t
        post, number, author, slot = posts[i], numbers[i], authors[i], slots[i]
        for x in range(m + n_other):
            c = card[x]
            if c >= 0:
                word = words[c, 1]
                post[x], number[x], author[x], slot[x] = post_of(word), root_of(word), room.owner[c], 0
            else:
                c = -1 - c
                post[x], number[x], author[x], slot[x] = pool.post[c], pool.number[c], pool.author[c], 1
        counts[i] = m + n_other


@nb.njit(parallel=True, cache=True)
def fill_feeds(readers: Readers, cards: Cards, pool: PoolColumns, n_followed: int, bases: Bases, out: Ranked) -> None:
    """The feeds of ``readers``, ranked, into ``out``, which is ``n_followed`` + the largest of ``others`` wide.

    Scores and keyed draws alone decide the order, so neither the block nor the number of threads can change it.
    ``pool`` holds live roots only.
    """
    n = readers.agents.shape[0]
    for chunk in nb.prange((n + _CHUNK - 1) // _CHUNK):
        _fill_chunk(chunk * _CHUNK, min(n, (chunk + 1) * _CHUNK), readers, cards, pool, n_followed, bases, out)
