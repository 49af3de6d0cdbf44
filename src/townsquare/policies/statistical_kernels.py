"""The compiled part of the statistical policy: a chance for each row and kind, and the choice of an argument."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.draws import U64, key1, key2, mix, u01

Array = npt.NDArray[Any]
_GOLDEN = U64(0x9E3779B97F4A7C15)
# Positions in statistical_params.ROW_KINDS; kernels cannot read an enum.
_LIKE_COMMENT, _FOLLOW, _UNFOLLOW, _ADD_NOTE, _RATE_NOTE = 4, 6, 7, 8, 9
# Positions in statistical_params.COEFFICIENTS.
_BASE, _DISTANCE, _ENGAGEMENT, _FOLLOWED, _FALSE, _TRUE, _UNVERIFIED, _UNLABELED, _NOTED = 0, 1, 2, 3, 4, 5, 6, 7, 8
_PLAUSIBILITY, _APPEAL, _REPEATED, _TASTE = 9, 10, 11, 12
_COMMENT_SLOT = 2
_ABSENT = 8
# No draw above entry k is below the chance at a logit of -k or less; at a logit above 0 any may be.
_UP_TO = np.array(
    [min(int((1 + 1e-9) / (1.0 + math.exp(k)) * 2.0**64), 2**64 - 1) if k else 2**64 - 1 for k in range(32)], np.uint64
)
WIDTH = 16
"""Kinds of action that kernels take at once, some of them unused: a whole number of the processor's registers."""
_CHUNK = 128  # agents that one thread takes at a time, with room made once for all of them
REFERENCE_POSTS, FEWEST_POSTS, MOST_POSTS = 15.0, 10, 20
"""Posts in the feed that bases refer to, and the lengths between which attention was measured: none is known beyond."""


@nb.njit(inline="always", cache=True)
def _distance(
    stance: Array, root: int, first: Array, count: Array, proposition: Array, said: Array, missing: float
) -> float:
    """Mean |own stance - stance of the post| over the propositions it speaks to; ``missing`` if to none."""
    n = count[root]
    if n == 0:
        return missing
    total = 0.0
    for x in range(first[root], first[root] + n):
        total += abs(stance[proposition[x]] - said[x])
    return float(total / n)


@nb.njit(inline="always", cache=True)
def _crowding(slot: Array, verdict: Array, note: Array, first: int, last: int) -> tuple[float, bool]:
    """ln(posts shown / 15) of one feed, within what was measured, and whether any row of it carries a label."""
    n, labeled = 0, False
    for e in range(first, last):
        n += slot[e] != _COMMENT_SLOT
        labeled |= (verdict[e] != 0) | (note[e] >= 0)
    return math.log(min(max(n, FEWEST_POSTS), MOST_POSTS) / REFERENCE_POSTS), labeled


class Rows(NamedTuple):
    """Columns of what the agents are shown, (m,) each."""

    root: Array
    slot: Array
    likes: Array
    verdict: Array
    note: Array
    offered: Array
    first_seen: Array


class Posts(NamedTuple):
    """What there is to know of posts, (posts,) each; the last two are columns of post_stances.

    ``appeal`` is what the words of a post add.
    """

    plausibility: Array
    appeal: Array
    key: Array
    first: Array
    n_stances: Array
    proposition: Array
    stance: Array


class Read(NamedTuple):
    """What matters of the posts that are read, each in one place of 64 bytes: they are few, and read often.

    ``number`` (posts,) int32 says which a post is. ``words`` (k, 8) uint64 and ``numbers``, the same memory as float64:
    key; plausibility less a half; appeal; how many stances; where they begin; proposition and stance of the first.
    """

    number: npt.NDArray[np.int32]
    words: npt.NDArray[np.uint64]
    numbers: npt.NDArray[np.float64]


@nb.njit(cache=True)
def _mark(root: Array, number: Array) -> int:
    n = 0
    for e in range(root.shape[0]):
        if number[root[e]] < 0:
            number[root[e]] = n
            n += 1
    return n


@nb.njit(parallel=True, cache=True)
def _collect(posts: Posts, number: Array, words: Array, numbers: Array) -> None:
    plausibility, appeal, key, first, count, proposition, stance = posts
    for p in nb.prange(number.shape[0]):
        k = number[p]
        if k >= 0:
            words[k, 0], numbers[k, 1], numbers[k, 2] = key[p], plausibility[p] - 0.5, appeal[p]
            words[k, 3], words[k, 4] = count[p], first[p]
            if count[p] > 0:
                words[k, 5], numbers[k, 6] = proposition[first[p]], stance[first[p]]


def read(posts: Posts, root: npt.NDArray[np.int32]) -> Read:
    """Gather what matters of the posts in ``root`` (m,)."""
    number = np.full(posts.key.shape[0], -1, np.int32)
    words = np.zeros((_mark(root, number), 8), np.uint64)
    numbers = words.view(np.float64)
    _collect(posts, number, words, numbers)
    return Read(number, words, numbers)


@nb.njit(inline="always", cache=True)
def _distance_read(stance: Array, k: int, read: Read, proposition: Array, said: Array, missing: float) -> float:
    """As :func:`_distance`, of a post that was gathered."""
    n = np.int64(read.words[k, 3])
    if n == 1:
        return float(abs(stance[np.int64(read.words[k, 5])] - read.numbers[k, 6]))
    if n == 0:
        return missing
    total, first = 0.0, np.int64(read.words[k, 4])
    for x in range(first, first + n):
        total += abs(stance[proposition[x]] - said[x])
    return float(total / n)


class Kinds(NamedTuple):
    """What there is to know of the kinds of action in ``ROW_KINDS``, as columns that are :data:`WIDTH` long.

    ``table`` (13, WIDTH) float64 holds the coefficients in the order of ``COEFFICIENTS``; ``labels`` (9, WIDTH) what
    the labels of a row add, see :func:`label_sums`; ``allowed`` (WIDTH,) bool; ``draws`` (WIDTH,) uint64, one base a
    kind, and ``tastes`` likewise, lasting ones. ``logs`` (most likes + 1,) is ln(1 + likes).
    """

    table: Array
    labels: Array
    allowed: Array
    draws: Array
    tastes: Array
    logs: Array


@nb.njit(cache=True)
def label_sums(table: Array) -> npt.NDArray[np.float64]:
    """What labels add to each logit: rows 2 v + n for verdict v with (n = 1) or without a note, 8 for none among some.

    ``table`` (13, kinds); a row without labels adds nothing where no row has any, so row 0 is 0.
    """
    out = np.zeros((9, table.shape[1]))
    for verdict, name in ((1, _TRUE), (2, _FALSE), (3, _UNVERIFIED)):
        out[2 * verdict] = table[name]
    for verdict in range(4):
        out[2 * verdict + 1] = out[2 * verdict] + table[_NOTED]
    out[_ABSENT] = table[_UNLABELED]
    return out


@nb.njit(cache=True, error_model="numpy")
def log_likes(most: int) -> npt.NDArray[np.float64]:
    """ln(1 + n) for n from 0 to ``most``."""
    out = np.empty(most + 1)
    for n in range(most + 1):
        out[n] = math.log1p(n)
    return out


@nb.njit(inline="always", cache=True)
def _possible(k: int, slot: int, offered: int) -> bool:
    """Whether a kind can be done to such a row."""
    if (slot == _COMMENT_SLOT) != (k == _LIKE_COMMENT):
        return False
    return not ((k == _FOLLOW and slot != 1) or (k == _UNFOLLOW and slot != 0) or (k == _RATE_NOTE and offered < 0))


@nb.njit(inline="always", cache=True, error_model="numpy")
def _prepare(a: int, activity: float, crowding: float, kinds: Kinds, start: Array, words: Array) -> None:
    """The agent's part of each logit, and of each draw."""
    table, known = kinds.table, math.log(activity)
    for k in range(WIDTH):
        words[k] = key1(kinds.draws[k], a)
        start[k] = table[_BASE, k] + known + crowding
        if table[_TASTE, k] > 0.0:
            u = u01(key2(kinds.tastes[k], a, U64(0))) + 5e-17
            start[k] += table[_TASTE, k] * math.log(u / (1.0 - u))


@nb.njit(cache=True, error_model="numpy")
def _choose_chunk(
    first_agent: int,
    last_agent: int,
    agents: Array,
    indptr: Array,
    activity: Array,
    stance: Array,
    rows: Rows,
    posts: Posts,
    read: Read,
    kinds: Kinds,
    attention: float,
    out: Array,
) -> None:
    root, slot, likes, verdict, note, offered, first_seen = rows
    proposition, said, words_of, numbers_of = posts.proposition, posts.stance, read.words, read.numbers
    by_distance, by_likes, by_doubt = kinds.table[_DISTANCE], kinds.table[_ENGAGEMENT], kinds.table[_PLAUSIBILITY]
    by_appeal, if_followed, if_repeated = kinds.table[_APPEAL], kinds.table[_FOLLOWED], kinds.table[_REPEATED]
    start, words = np.empty(WIDTH), np.empty(WIDTH, np.uint64)
    z, draws, place = np.empty(WIDTH), np.empty(WIDTH, np.uint64), np.empty(WIDTH, np.int64)
    place_of, keys, terms = np.empty(64, np.int32), np.empty(64, np.uint64), np.empty((64, 4))
    for i in range(first_agent, last_agent):
        if activity[i] <= 0.0:  # never acts: the logarithm is minus infinity
            out[indptr[i] : indptr[i + 1]] = 0
            continue
        crowding, labeled = _crowding(slot, verdict, note, indptr[i], indptr[i + 1])
        _prepare(agents[i], activity[i], attention * crowding, kinds, start, words)
        lo, n = indptr[i], indptr[i + 1] - indptr[i]
        if n > place_of.shape[0]:
            place_of, keys, terms = np.empty(2 * n, np.int32), np.empty(2 * n, np.uint64), np.empty((2 * n, 4))
        # Of all rows first, so that the processor waits for many of them at once.
        for x in range(n):
            place_of[x] = read.number[root[lo + x]]
        for x in range(n):
            p = place_of[x]
            keys[x], terms[x, 0], terms[x, 1] = words_of[p, 0], numbers_of[p, 1], numbers_of[p, 2]
            terms[x, 2] = _distance_read(stance[i], p, read, proposition, said, 0.5) - 0.5
            terms[x, 3] = kinds.logs[likes[lo + x]]
        for x in range(n):
            e = lo + x
            doubt, words_add, distance, engaged, row_key = terms[x, 0], terms[x, 1], terms[x, 2], terms[x, 3], keys[x]
            case = 2 * verdict[e] + (note[e] >= 0)
            label = kinds.labels[_ABSENT if case == 0 and labeled else case]
            followed, repeated = 1.0 if slot[e] == 0 else 0.0, 0.0 if first_seen[e] else 1.0
            # All kinds at once, without a branch, and few arrays in each loop: that is compiled to wide registers.
            for k in range(WIDTH):
                z[k] = start[k] + by_distance[k] * distance
            for k in range(WIDTH):
                z[k] = z[k] + by_likes[k] * engaged + by_doubt[k] * doubt
            for k in range(WIDTH):
                z[k] += by_appeal[k] * words_add + label[k]
            for k in range(WIDTH):
                z[k] = z[k] + if_followed[k] * followed + if_repeated[k] * repeated
            for k in range(WIDTH):
                draws[k] = mix(words[k] ^ row_key)
            for k in range(WIDTH):
                place[k] = int(min(max(-z[k], 0.0), 31.0))
            bits = 0
            for k in range(WIDTH):
                # Of most draws the exponential is spared.
                if draws[k] <= _UP_TO[place[k]] and kinds.allowed[k] and _possible(k, slot[e], offered[e]):
                    bits |= int(u01(draws[k]) < 1.0 / (1.0 + math.exp(-z[k]))) << k
            out[e] = bits


@nb.njit(parallel=True, cache=True, error_model="numpy")
def choose_kinds(
    agents: Array,
    indptr: Array,
    activity: Array,
    stance: Array,
    rows: Rows,
    posts: Posts,
    read: Read,
    kinds: Kinds,
    attention: float,
    out: Array,
) -> None:
    """Bit k of ``out[row]``: the agent does ``ROW_KINDS[k]`` to this row. Kinds are drawn independently.

    ``agents`` (n,), ``indptr`` (n + 1,), ``activity`` (n,), ``stance`` (n, P); ``out`` (m,) uint16.
    """
    n = agents.shape[0]
    for chunk in nb.prange((n + _CHUNK - 1) // _CHUNK):
        lo, hi = chunk * _CHUNK, min(n, (chunk + 1) * _CHUNK)
        _choose_chunk(lo, hi, agents, indptr, activity, stance, rows, posts, read, kinds, attention, out)


@nb.njit(parallel=True, cache=True)
def count_choices(indptr: Array, bits: Array, writes: Array, out: Array) -> None:
    """Write into ``out[i + 1]`` how much agent i does: its post, and the bits of its rows."""
    for i in nb.prange(writes.shape[0]):
        n = np.int64(writes[i])
        for e in range(indptr[i], indptr[i + 1]):
            b = bits[e]
            while b:
                b &= b - 1
                n += 1
        out[i + 1] = n


@nb.njit(parallel=True, cache=True)
def list_choices(
    indptr: Array, bits: Array, writes: Array, kind_of: Array, post: int, at: Array, out: tuple[Array, Array, Array]
) -> None:
    """Place of the agent, row (-1 for a post) and kind of each choice: an agent's post first, then row by row.

    ``at`` (n + 1,) says where those of each agent begin; ``kind_of`` (kinds,) uint8 is the kind of a bit.
    """
    places, rows, kinds = out
    for i in nb.prange(writes.shape[0]):
        x = at[i]
        if writes[i]:
            places[x], rows[x], kinds[x] = i, -1, post
            x += 1
        for e in range(indptr[i], indptr[i + 1]):
            if bits[e]:
                for k in range(kind_of.shape[0]):
                    if bits[e] >> k & 1:
                        places[x], rows[x], kinds[x] = i, e, kind_of[k]
                        x += 1


@nb.njit(parallel=True, cache=True, error_model="numpy")
def choose_writers(agents: Array, activity: Array, rate: float, base: U64, out: Array) -> None:
    """Whether each agent writes a post in this step: chance 1 - exp(-rate x activity)."""
    for i in nb.prange(agents.shape[0]):
        out[i] = u01(key2(base, agents[i], U64(0))) < -math.expm1(-rate * activity[i])


@nb.njit(parallel=True, cache=True, error_model="numpy")
def rate_helpful(
    agents: Array,
    stance: Array,
    at: Array,
    root: Array,
    plausibility: Array,
    key: Array,
    first: Array,
    count: Array,
    proposition: Array,
    said: Array,
    by_distance: float,
    by_doubt: float,
    base: U64,
    out: Array,
) -> None:
    """Whether each rating finds its note helpful; ``at`` (n,) is the place of the agent in ``stance``.

    Drawn by (agent, root): an agent is offered at most one note a root and step, and rows of notes are no keys.
    """
    for i in nb.prange(agents.shape[0]):
        distance = _distance(stance[at[i]], root[i], first, count, proposition, said, 1.0)
        z = by_distance * (distance - 1.0) + by_doubt * (0.5 - plausibility[root[i]])
        u = u01(key2(base, agents[i], key[root[i]]))
        out[i] = 1 if u < 1.0 / (1.0 + math.exp(-z)) else 0


@nb.njit(parallel=True, cache=True, error_model="numpy")
def choose_arguments(
    agents: Array,
    keys: Array,
    stance: Array,
    ptr: Array,
    entry: Array,
    said: Array,
    proposition: Array,
    side: float,
    width: float,
    side_base: U64,
    base: U64,
    out: Array,
) -> None:
    """An entry of the argument bank for each writer; -1 where the proposition has none.

    The side is for with chance (1 + side S)/2; within it entries are drawn with weight exp(-|s - S|/width), as the
    largest of keyed Gumbel draws. ``ptr`` (P + 1,) and ``entry`` list the bank by proposition.
    """
    for i in nb.prange(agents.shape[0]):
        p = proposition[i]
        out[i] = -1
        if p < 0:
            continue
        pro = u01(key2(side_base, agents[i], keys[i])) < (1.0 + side * stance[i]) / 2.0
        start = key2(base, agents[i], keys[i])
        best, best_other, other = -np.inf, -np.inf, -1
        for x in range(ptr[p], ptr[p + 1]):
            j = entry[x]
            u = u01(mix(start + U64(j + 1) * _GOLDEN)) + 5e-17
            value = -abs(said[j] - stance[i]) / width - math.log(-math.log(u))
            if (said[j] > 0.0) == pro:
                if value > best:
                    best, out[i] = value, j
            elif value > best_other:
                best_other, other = value, j
        if out[i] < 0:
            out[i] = other
