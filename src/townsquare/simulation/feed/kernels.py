"""The compiled part of :mod:`townsquare.simulation.feed.build` that chooses: which posts one agent is shown, and in
which order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.core.draws import U64, key1, mix
from townsquare.core.simd import LANES, MANY, among
from townsquare.simulation.feed.candidates import Cards, author_of, post_of, root_of, step_of
from townsquare.simulation.feed.order import MOST, has_equal, sort_lanes

Array = npt.NDArray[Any]
_ALL = U64(0xFFFFFFFFFFFFFFFF)
_LOW = np.int64(0xFFFFFFFF)
_CHUNK = 128
"""Agents that one thread takes at a time, with room made once for all of them."""


class Readers(NamedTuple):
    """Whose feeds: ``agents`` (n,) int32 ascend, all of the block that starts at agent ``first``.

    ``ptr`` and ``followed`` are the follows of the block's agents, as :class:`townsquare.core.pairs.PairBlock` has
    them; ``others`` (n,) int64 is how many rows from other accounts each of ``agents`` is shown at most.
    """

    agents: npt.NDArray[np.int32]
    first: int
    ptr: npt.NDArray[np.int64]
    followed: npt.NDArray[np.int32]
    others: npt.NDArray[np.int64]


class PoolColumns(NamedTuple):
    """What the shared pool holds: (k,) each; the first ``n_injected`` are injected ones.

    ``number`` is the root's, ``rank`` how many different scores are higher than that of the root.
    """

    post: npt.NDArray[np.int32]
    number: npt.NDArray[np.int32]
    author: npt.NDArray[np.int32]
    key: npt.NDArray[np.uint64]
    rank: npt.NDArray[np.uint64]
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


class _Bits(NamedTuple):
    """How the words that are put in order are made up: so many bits of rank, then of a draw, then of place."""

    rank: int
    place: int


class _Room(NamedTuple):
    """Scratch memory of one thread, for a feed a lane.

    ``hand`` (lanes, cards, 4) holds cards, ``owner`` whose ring each is from; ``first`` and ``last`` say where those
    of each account stand; ``found`` (lanes, cards) holds places in ``hand``, ``table`` places in that by root, each
    below its agent, 32 bits each. ``authors`` are those whose roots are not offered. ``words`` are put in order,
    ``counts`` is how many of them each lane has, ``column`` room for one lane. ``card`` (lanes, rows) holds what is
    chosen, places in ``hand`` or -1 less a place in the pool, ``n_cards`` and ``n_rows`` how many; ``number`` the
    numbers of their roots. ``drawn`` are the draws of the pool, ``small`` the least of them and ``place`` where these
    stand in it.
    """

    hand: Array
    owner: Array
    first: Array
    last: Array
    found: Array
    table: Array
    authors: Array
    words: Array
    counts: Array
    column: Array
    card: Array
    number: Array
    n_cards: Array
    n_rows: Array
    drawn: Array
    small: Array
    place: Array


@nb.njit(cache=True)
def _deal(followed: Array, cards: Cards, hand: Array, owner: Array, room: _Room) -> int:
    """Copy the cards of the followed, side by side; returns how many.

    Nothing is decided yet, so that the processor waits for the memory of many of them at once.
    """
    ptr, words, first, last = cards.ptr, cards.words, room.first, room.last
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
    """The newest card of each root among those of the followed; equal age by draw. Returns how many.

    What ``table`` holds of another agent counts as empty, so that it need not be emptied.
    """
    mask, mine, n = table.shape[0] - 1, np.int64(agent) << 32, 0
    for c in range(n_cards):
        if author_of(words[c, 2]) == agent:
            continue
        r = root_of(words[c, 1])
        h = (r * 2654435761) & mask
        while table[h] & ~_LOW == mine and root_of(words[found[table[h] & _LOW], 1]) != r:
            h = (h + 1) & mask
        if table[h] & ~_LOW != mine:
            table[h] = mine | n
            found[n] = c
            n += 1
            continue
        x = table[h] & _LOW
        age, old_age = step_of(words[c, 2]), step_of(words[found[x], 2])
        if age > old_age or (age == old_age and mix(start ^ words[c, 0]) < mix(start ^ words[found[x], 0])):
            found[x] = c
    return n


@nb.njit(inline="always", cache=True)
def _word(rank: U64, draw: U64, place: int, bits: _Bits) -> U64:
    """What puts a row in order: its rank, as much of its draw as there is room for, and its place."""
    lower = draw >> U64(bits.rank + bits.place) << U64(bits.place)
    return rank << U64(64 - bits.rank) | lower | U64(place)


@nb.njit(inline="always", cache=True)
def _place_of(word: U64, bits: _Bits) -> Any:
    return np.int64(word & ((U64(1) << U64(bits.place)) - U64(1)))


@nb.njit(cache=True)
def _settle(lane: int, n: int, full: Array, room: _Room, bits: _Bits) -> None:
    """Put words of one lane that are equal but for their place in the order of their ``full`` draws, by place.

    A word has room for a part of the draw only: of a billion pairs of rows of one rank, some are equal in that.
    """
    words, shift = room.words, U64(bits.place)
    for x in range(1, n):
        y = x
        while y > 0 and (words[y, lane] ^ words[y - 1, lane]) >> shift == U64(0):
            if full[_place_of(words[y, lane], bits)] >= full[_place_of(words[y - 1, lane], bits)]:
                break
            words[y, lane], words[y - 1, lane] = words[y - 1, lane], words[y, lane]
            y -= 1


@nb.njit(cache=True)
def _smallest(pool: PoolColumns, wanted: int, room: _Room) -> int:
    """Places of about ``wanted`` roots of the pool with the smallest draws, in no order; returns how many.

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
    return found


@nb.njit(cache=True)
def _draw_pool(pool: PoolColumns, start: U64, drawn: Array) -> None:
    for x in range(pool.post.shape[0]):
        drawn[x] = mix(start ^ pool.key[x])


@nb.njit(cache=True)
def _offered(agent: int, followed: Array, pool: PoolColumns, limit: int, lane: int, room: _Room) -> int:
    """Roots of the pool with small draws, not followed and not chosen, at least ``limit`` if there are; how many."""
    place, small, number, authors = room.place, room.small, room.number[lane], room.authors
    n, n_chosen, n_authors = pool.post.shape[0], room.n_cards[lane], followed.shape[0] + 1
    for x in range(n_chosen, -(-n_chosen // MANY) * MANY):
        number[x] = -1
    authors[0], authors[1:n_authors] = agent, followed
    for x in range(n_authors, -(-n_authors // MANY) * MANY):
        authors[x] = -1
    # Only the smallest draws are put in order, some more than are wanted; many more if those do not do.
    wanted = limit + limit // 2 + 6
    while True:
        m = 0
        for y in range(_smallest(pool, wanted, room)):
            x = place[y]
            author, root = pool.author[x], pool.number[x]
            hidden = False
            for z in range(0, n_authors, MANY):
                hidden |= among(authors, z, author)  # type: ignore[call-arg]
            for z in range(0, n_chosen, MANY):
                hidden |= among(number, z, root)  # type: ignore[call-arg]
            place[m], small[m] = x, small[y]
            m += not hidden
        if m >= limit or wanted >= n:
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
    k, n_pool = n_followed + widest + MANY, pool.post.shape[0]
    rows = max(most, k, n_pool, MOST)
    return _Room(
        np.empty((LANES, most, 4), np.uint64), np.empty((LANES, most), np.int32), np.empty(longest, np.int64),
        np.empty(longest, np.int64), np.empty((LANES, most), np.int32), np.full(wide, -1, np.int64),
        np.empty(longest + 1 + MANY, np.int32), np.empty((rows, LANES), np.uint64), np.zeros(LANES, np.int64),
        np.empty(rows, np.uint64), np.empty((LANES, k), np.int64), np.empty((LANES, k), np.int32),
        np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), np.empty(n_pool, np.uint64),
        np.empty(n_pool + 1, np.uint64), np.empty(n_pool + 1, np.int64),
    )  # fmt: skip


@nb.njit(inline="always", cache=True)
def _followed_by(i: int, readers: Readers) -> Array:
    local = readers.agents[i] - readers.first
    return readers.followed[readers.ptr[local] : readers.ptr[local + 1]]


@nb.njit(cache=True)
def _choose_followed(
    at: int, hi: int, readers: Readers, cards: Cards, n_followed: int, bases: Bases, room: _Room, bits: _Bits
) -> None:
    """The best rows of followed accounts of each lane: ``card``, ``number`` and ``n_cards``."""
    words, counts, shift = room.words, room.counts, bits.place
    for lane in range(LANES):
        counts[lane] = 0
        if at + lane < hi and n_followed:
            agent, hand, found = readers.agents[at + lane], room.hand[lane], room.found[lane]
            n = _deal(_followed_by(at + lane, readers), cards, hand, room.owner[lane], room)
            n = _gather(agent, n, hand, key1(bases.age, agent), found, room.table)
            order = key1(bases.order, agent)
            for x in range(n):
                c = found[x]
                words[x, lane] = _word(hand[c, 3], mix(order ^ hand[c, 0]), c, bits)
            counts[lane] = n
    if has_equal(words, sort_lanes(words, counts, room.column), shift):
        for lane in range(LANES):
            if counts[lane] > 1:
                hand, order = room.hand[lane], key1(bases.order, readers.agents[at + lane])
                full = np.empty(hand.shape[0], np.uint64)
                for x in range(hand.shape[0]):
                    full[x] = mix(order ^ hand[x, 0])
                _settle(lane, counts[lane], full, room, bits)
    for lane in range(LANES):
        n = min(counts[lane], n_followed)
        for x in range(n):
            c = _place_of(words[x, lane], bits)
            room.card[lane, x], room.number[lane, x] = c, root_of(room.hand[lane, c, 1])
        room.n_cards[lane] = room.n_rows[lane] = n


@nb.njit(cache=True)
def _choose_others(
    at: int, hi: int, readers: Readers, pool: PoolColumns, bases: Bases, room: _Room, bits: _Bits
) -> None:
    """After the followed ones, the roots of the pool with the smallest draws by (agent, root): ``card``, ``n_rows``."""
    words, counts = room.words, room.counts
    for lane in range(LANES):
        counts[lane] = 0
        if at + lane < hi and readers.others[at + lane]:
            agent = readers.agents[at + lane]
            _draw_pool(pool, key1(bases.pool, agent), room.drawn)
            n = _offered(agent, _followed_by(at + lane, readers), pool, readers.others[at + lane], lane, room)
            for x in range(n):
                words[x, lane] = room.small[x] >> U64(bits.place) << U64(bits.place) | U64(room.place[x])
            counts[lane] = n
    if has_equal(words, sort_lanes(words, counts, room.column), bits.place):
        for lane in range(LANES):
            if counts[lane] > 1:
                _draw_pool(pool, key1(bases.pool, readers.agents[at + lane]), room.drawn)
                full = np.empty(pool.post.shape[0], np.uint64)
                for x in range(_smallest(pool, pool.post.shape[0], room)):
                    full[room.place[x]] = room.small[x]
                _settle(lane, counts[lane], full, room, bits)
    for lane in range(LANES):
        if counts[lane]:
            n = min(counts[lane], readers.others[at + lane])
            for x in range(n):
                room.card[lane, room.n_cards[lane] + x] = -1 - _place_of(words[x, lane], bits)
            room.n_rows[lane] = room.n_cards[lane] + n


@nb.njit(cache=True)
def _order(at: int, readers: Readers, pool: PoolColumns, bases: Bases, room: _Room, bits: _Bits) -> None:
    """Put what was chosen in order, into ``words``: places in ``card``."""
    words, counts = room.words, room.counts
    for lane in range(LANES):
        counts[lane] = room.n_rows[lane]
        if counts[lane]:
            order, hand = key1(bases.order, readers.agents[at + lane]), room.hand[lane]
            for x in range(counts[lane]):
                c = room.card[lane, x]
                if c >= 0:
                    words[x, lane] = _word(hand[c, 3], mix(order ^ hand[c, 0]), x, bits)
                else:
                    words[x, lane] = _word(pool.rank[-1 - c], mix(order ^ pool.key[-1 - c]), x, bits)
    if has_equal(words, sort_lanes(words, counts, room.column), bits.place):
        for lane in range(LANES):
            if counts[lane] > 1:
                order, hand = key1(bases.order, readers.agents[at + lane]), room.hand[lane]
                full = np.empty(counts[lane], np.uint64)
                for x in range(counts[lane]):
                    c = room.card[lane, x]
                    full[x] = mix(order ^ (hand[c, 0] if c >= 0 else pool.key[-1 - c]))
                _settle(lane, counts[lane], full, room, bits)


@nb.njit(cache=True)
def _fill_chunk(
    lo: int,
    hi: int,
    readers: Readers,
    cards: Cards,
    pool: PoolColumns,
    n_followed: int,
    bases: Bases,
    rank_bits: int,
    out: Ranked,
) -> None:
    room = _room(lo, hi, readers, cards, pool, n_followed)
    place_bits = 1
    while 1 << place_bits < room.words.shape[0]:
        place_bits += 1
    bits = _Bits(rank_bits, place_bits)
    posts, numbers, authors, slots, counts = out
    for at in range(lo, hi, LANES):
        _choose_followed(at, hi, readers, cards, n_followed, bases, room, bits)
        _choose_others(at, hi, readers, pool, bases, room, bits)
        _order(at, readers, pool, bases, room, bits)
        for lane in range(min(LANES, hi - at)):
            post, number, author, slot = posts[at + lane], numbers[at + lane], authors[at + lane], slots[at + lane]
            for x in range(room.n_rows[lane]):
                c = room.card[lane, _place_of(room.words[x, lane], bits)]
                if c >= 0:
                    word = room.hand[lane, c, 1]
                    post[x], number[x], author[x], slot[x] = post_of(word), root_of(word), room.owner[lane, c], 0
                else:
                    c = -1 - c
                    post[x], number[x], author[x], slot[x] = pool.post[c], pool.number[c], pool.author[c], 1
            counts[at + lane] = room.n_rows[lane]


@nb.njit(parallel=True, cache=True)
def fill_feeds(
    readers: Readers, cards: Cards, pool: PoolColumns, n_followed: int, bases: Bases, rank_bits: int, out: Ranked
) -> None:
    """The feeds of ``readers``, ranked, into ``out``, which is ``n_followed`` + the largest of ``others`` wide.

    Ranks and keyed draws alone decide the order, so neither the block nor the number of threads can change it.
    ``pool`` holds live roots only; word 3 of ``cards`` is a rank like the pool's, and all of them fit ``rank_bits``.
    """
    n = readers.agents.shape[0]
    for chunk in nb.prange((n + _CHUNK - 1) // _CHUNK):
        _fill_chunk(
            chunk * _CHUNK, min(n, (chunk + 1) * _CHUNK), readers, cards, pool, n_followed, bases, rank_bits, out
        )
