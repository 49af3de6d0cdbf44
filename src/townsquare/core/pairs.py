"""The one sparse (agent, key) -> value store: trust, seen roots, reactions.

Rows are held in blocks of agents, and within a block as compressed sparse rows sorted by key: ``indptr`` (n + 1,)
int64, ``key`` (m,) int32, ``value`` (m,). A query is a CSR of keys over the same agents, in any order and with repeats.
:func:`upsert` merges a query into a block and returns a *new* block, so that a rule that works on a block is pure
without ever copying the whole store.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Array, Bool, Int32, Int64
from townsquare.core.draws import U64, key2
from townsquare.core.threads import Part, in_parts

BLOCK = 1 << 16  # agents a block: its pairs fit the cache better than the whole, and a new block is cheap to make
_SCAN = 512  # among fewer keys, looking at all of them is quicker than a search
_LONG = 64  # insertion beats other sorts up to about here
_PLACE = np.int64(0xFFFFFFFF)  # lower half of a packed word: the place within the agent's query


class PairBlock(NamedTuple):
    """The pairs of one block of agents; ``key`` ascends within each agent, ``value`` has a row for each pair."""

    indptr: Int64
    key: Int32
    value: npt.NDArray[np.generic]

    @property
    def n_agents(self) -> int:
        return int(self.indptr.shape[0]) - 1


def empty_block(n_agents: int, dtype: npt.DTypeLike) -> PairBlock:
    """Return a block of ``n_agents`` without any pair."""
    return PairBlock(np.zeros(n_agents + 1, np.int64), np.empty(0, np.int32), np.empty(0, dtype))


@nb.njit(inline="always", cache=True)
def _place(keys: Int32, lo: int, hi: int, wanted: int) -> int:
    """Return the first position in ascending ``keys[lo:hi]`` with a key of at least ``wanted``; ``hi`` for none.

    Without a branch that the processor could guess wrong.
    """
    at, n = lo, hi - lo
    while n > 1:
        half = n >> 1
        at += half * (keys[at + half - 1] < wanted)
        n -= half
    return at + 1 if n == 1 and keys[at] < wanted else at


@nb.njit(inline="always", cache=True)
def has(keys: Int32, lo: int, hi: int, wanted: int) -> bool:
    """Return whether ``wanted`` is in ``keys[lo:hi]``, which ascend."""
    if hi - lo > _SCAN:
        at = _place(keys, lo, hi, wanted)
        return bool(at < hi and keys[at] == wanted)
    part, is_there = keys[lo:hi], False  # many at a time: quicker than a search that waits for each look
    for x in range(part.shape[0]):
        is_there |= part[x] == wanted
    return is_there


@nb.njit(inline="always", cache=True)
def places(keys: Int32, first: int, end: int, wanted: Int32, lo: int, hi: int, at: Int64) -> None:
    """Find the first position in ascending ``keys[first:end]`` with a key of at least ``wanted[x]``; ``end`` for none.

    Written into ``at[x]``, for ``x`` from ``lo`` to ``hi``. No branch that the processor could guess wrong, and
    all of them take a step together, so that it looks at many keys at once.
    """
    for x in range(lo, hi):
        at[x] = first
    n = end - first
    while n > 1:
        half = n >> 1
        for x in range(lo, hi):
            at[x] += half * (keys[at[x] + half - 1] < wanted[x])
        n -= half
    if n == 1:
        for x in range(lo, hi):
            at[x] += keys[at[x]] < wanted[x]


@nb.njit(nogil=True, cache=True)
def _lookup(part: Part, optr: Int64, okey: Int32, qptr: Int64, qkey: Int32, slot: Int64) -> None:
    for i in range(part.start, part.stop):
        places(okey, optr[i], optr[i + 1], qkey, qptr[i], qptr[i + 1], slot)
        for x in range(qptr[i], qptr[i + 1]):
            at = slot[x]
            slot[x] = at if at < optr[i + 1] and okey[at] == qkey[x] else -1


@nb.njit(inline="always", cache=True)
def _sort(packed: Int64, lo: int, hi: int) -> None:
    """Sort ``packed[lo:hi]`` in place: by insertion, since a feed is short; long stretches by Shell's sort."""
    gap = 1
    while hi - lo > _LONG and 3 * gap < hi - lo:
        gap = 3 * gap + 1
    while gap > 0:
        for x in range(lo + gap, hi):
            v, y = packed[x], x - gap
            while y >= lo and packed[y] > v:
                packed[y + gap] = packed[y]
                y -= gap
            packed[y + gap] = v
        gap //= 3


class _Query(NamedTuple):
    """Keys asked for by agent, and what is found of them.

    ``slot`` says where each pair stands, ``known`` whether it was there. ``packed`` holds the new keys of each agent
    first, in order, each packed with its position.
    """

    indptr: Int64
    key: Int32
    slot: Int64
    known: Bool
    packed: Int64


@nb.njit(nogil=True, cache=True)
def _find_new(part: Part, old_ptr: Int64, old_key: Int32, query: _Query, nptr: Int64) -> None:
    """Find the position of each pair, present or new, among the agent's own, from 0, and count the pairs."""
    indptr, key, slot, known, packed = query
    for i in range(part.start, part.stop):
        lo, hi, first, end = indptr[i], indptr[i + 1], old_ptr[i], old_ptr[i + 1]
        places(old_key, first, end, key, lo, hi, slot)
        new = lo
        for x in range(lo, hi):
            at = slot[x]
            known[x] = at < end and old_key[at] == key[x]
            slot[x] = at - first
            packed[new] = (np.int64(key[x]) << 32) | (x - lo)
            new += not known[x]
        _sort(packed, lo, new)
        n, last = 0, np.int64(-1)
        for x in range(lo, new):
            n += packed[x] >> 32 != last
            last = packed[x] >> 32
        nptr[i + 1] = end - first + n


@nb.njit(inline="always", cache=True)
def _copy(source: npt.NDArray[np.generic], first: int, n: int, target: npt.NDArray[np.generic], at: int) -> None:
    part, into = source[first : first + n], target[at : at + n]  # whose places are never negative: many at a time
    for x in range(n):
        into[x] = part[x]


@nb.njit(nogil=True, cache=True)
def _insert(part: Part, old: PairBlock, query: _Query, start: Array, new: PairBlock) -> None:
    """Copy pairs of some agents, whole stretches at a time with new ones between them; say where queried ones are."""
    old_ptr, old_key, old_value = old
    new_ptr, new_key, new_value = new
    indptr, key, slot, known, packed = query
    for i in range(part.start, part.stop):
        lo, hi, o, w = indptr[i], indptr[i + 1], old_ptr[i], new_ptr[i]
        end = lo
        for x in range(lo, hi):
            end += not known[x]
        x = distinct = lo
        while x < end:
            k = packed[x] >> 32
            at = lo + (packed[x] & _PLACE)
            n = old_ptr[i] + slot[at] - o
            _copy(old_key, o, n, new_key, w)
            _copy(old_value, o, n, new_value, w)
            o, w = o + n, w + n
            new_key[w], new_value[w] = k, start[at]
            while x < end and packed[x] >> 32 == k:
                slot[lo + (packed[x] & _PLACE)] = w
                x += 1
            packed[distinct] = k  # these words were read: the distinct new keys, for what follows
            distinct += 1
            w += 1
        _copy(old_key, o, old_ptr[i + 1] - o, new_key, w)
        _copy(old_value, o, old_ptr[i + 1] - o, new_value, w)
        for x in range(lo, hi):
            if known[x]:  # moved on by the new keys before it
                k, before = np.int64(key[x]), 0
                for y in range(lo, distinct):
                    before += packed[y] < k
                slot[x] += new_ptr[i] + before


def lookup(block: PairBlock, indptr: Int64, keys: Int32) -> Int64:
    """Return where each queried pair is in ``block.value``; -1 where it is not there. Shape of ``keys``."""
    slot = np.empty(keys.shape[0], np.int64)
    in_parts(_lookup, block.n_agents, block.indptr, block.key, indptr, keys, slot)
    return slot


def upsert(
    block: PairBlock, indptr: Int64, keys: Int32, start: npt.NDArray[np.generic]
) -> tuple[PairBlock, Int64, Bool]:
    """Merge a query into a block.

    Parameters
    ----------
    block : PairBlock
        Not changed.
    indptr : (n_agents + 1,) int64
        CSR over the same agents as the block.
    keys : (m,) int32
        In any order, repeats allowed.
    start : (m,) of the block's dtype
        Value of a pair that was not there; of repeats in one query, the first counts.

    Returns
    -------
    (PairBlock, (m,) int64, (m,) bool)
        The new block, where each queried pair is in its ``value``, and whether it was there before.
    """
    n, nptr = keys.shape[0], np.zeros_like(block.indptr)
    query = _Query(indptr, keys, np.empty(n, np.int64), np.empty(n, np.bool_), np.empty(n, np.int64))
    in_parts(_find_new, block.n_agents, block.indptr, block.key, query, nptr)
    np.cumsum(nptr, out=nptr)
    new = PairBlock(nptr, np.empty(int(nptr[-1]), np.int32), np.empty(int(nptr[-1]), block.value.dtype))
    in_parts(_insert, block.n_agents, block, query, start, new)
    return new, query.slot, query.known


@nb.njit(nogil=True, cache=True)
def _keep_newest(old: PairBlock, cap: int, base: U64, first: int, post_key: npt.NDArray[U64], new: PairBlock) -> None:
    """Copy what stays: find the age of which a part goes; older pairs all go, and of that age those of small draws."""
    old_ptr, old_key, old_value = old
    new_ptr, new_key, new_value = new
    for i in range(old_ptr.shape[0] - 1):
        key, value = old_key[old_ptr[i] : old_ptr[i + 1]], old_value[old_ptr[i] : old_ptr[i + 1]]
        at, excess = new_ptr[i], value.shape[0] - cap
        if excess <= 0:
            new_key[at : new_ptr[i + 1]], new_value[at : new_ptr[i + 1]] = key, value
            continue
        oldest = value.min()
        of_age = (value == oldest).sum()
        while of_age <= excess:
            excess -= of_age
            before, oldest = oldest, value.max()
            for x in range(value.shape[0]):
                oldest = value[x] if before < value[x] < oldest else oldest
            of_age = (value == oldest).sum()
        stays, here = value > oldest, np.flatnonzero(value == oldest)
        tie = np.empty(of_age, np.uint64)
        for x in range(of_age):
            tie[x] = key2(base, first + i, post_key[key[here[x]]]) >> U64(11)
        stays[here[np.argsort(tie, kind="mergesort")[excess:]]] = True
        new_key[at : new_ptr[i + 1]], new_value[at : new_ptr[i + 1]] = key[stays], value[stays]


def keep_newest(block: PairBlock, cap: int, base: U64, first: int, post_key: npt.NDArray[U64]) -> PairBlock:
    """Forget, agent by agent, the pairs with the smallest value until ``cap`` are left.

    Used for seen roots, whose value is the step of first sight; pairs of one step go in the order of a keyed draw by
    (agent, key of the post). ``first`` is the row of the block's first agent.
    """
    counts = np.diff(block.indptr)
    if int(counts.max(initial=0)) <= cap:
        return block
    ptr = np.zeros_like(block.indptr)
    np.cumsum(np.minimum(counts, cap), out=ptr[1:])
    new = PairBlock(ptr, np.empty(int(ptr[-1]), np.int32), np.empty(int(ptr[-1]), block.value.dtype))
    _keep_newest(block, cap, base, first, post_key, new)
    return new


class Pairs:
    """All blocks of one store. Grows with the number of agents; a block is replaced as a whole."""

    def __init__(self, dtype: npt.DTypeLike, n_agents: int = 0) -> None:
        self.dtype, self.n_agents = np.dtype(dtype), 0
        self.blocks: list[PairBlock] = []
        self.grow(n_agents)

    def grow(self, n_agents: int) -> None:
        """Make room for agents up to ``n_agents``; new ones have no pairs."""
        while self.n_agents < n_agents:
            if self.blocks and self.blocks[-1].n_agents < BLOCK:
                last = self.blocks[-1]
                more = min(BLOCK - last.n_agents, n_agents - self.n_agents)
                self.blocks[-1] = last._replace(indptr=np.append(last.indptr, np.full(more, last.indptr[-1])))
            else:
                more = min(BLOCK, n_agents - self.n_agents)
                self.blocks.append(empty_block(more, self.dtype))
            self.n_agents += more

    def astype(self, dtype: npt.DTypeLike) -> Pairs:
        """Return the same pairs with values of another type."""
        other = Pairs(dtype)
        other.n_agents = self.n_agents
        other.blocks = [block._replace(value=block.value.astype(other.dtype)) for block in self.blocks]
        return other

    def whole(self) -> PairBlock:
        """Return all agents as one block; a copy."""
        starts = np.cumsum([0, *(block.key.size for block in self.blocks)])
        indptr = [block.indptr[1:] + start for block, start in zip(self.blocks, starts, strict=False)]
        key, value = ([getattr(block, name) for block in self.blocks] for name in ("key", "value"))
        none = empty_block(0, self.dtype)
        parts = ([none.indptr, *indptr], [none.key, *key], [none.value, *value])
        return PairBlock(*map(np.concatenate, parts))

    def __len__(self) -> int:
        return sum(int(block.key.shape[0]) for block in self.blocks)

    def get(self, agent: int, key: int, default: float) -> float:
        """Return one value; slow, not for hot paths."""
        block = self.blocks[agent // BLOCK]
        row = agent % BLOCK
        lo, hi = int(block.indptr[row]), int(block.indptr[row + 1])
        at = lo + int(np.searchsorted(block.key[lo:hi], key))
        return float(block.value[at]) if at < hi and block.key[at] == key else default


def spans(n_agents: int) -> Iterator[tuple[int, int, int]]:
    """Yield blocks of agents as (number, first, after last).

    >>> list(spans(3))
    [(0, 0, 3)]
    """
    for number, first in enumerate(range(0, n_agents, BLOCK)):
        yield number, first, min(first + BLOCK, n_agents)


def rows_between(agents: npt.NDArray[np.generic], first: int, stop: int) -> tuple[int, int]:
    """Return the first row, and the row after the last, of agents ``first`` to ``stop`` - 1 among ascending ``agents``.

    >>> rows_between(np.array([0, 0, 2, 3, 3, 7]), 2, 5)
    (2, 5)
    """
    bounds = np.array([first, stop], agents.dtype)  # of another dtype, they would have all of ``agents`` copied
    lo, hi = np.searchsorted(agents, bounds)
    return int(lo), int(hi)
