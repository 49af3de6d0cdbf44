"""The compiled part of the statistical policy: a chance for each row and kind."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numba as nb
import numpy as np

from townsquare.core.array_types import Array, Float, Int64
from townsquare.core.draws import U64, key1, key2, mix, u01
from townsquare.core.enums import Slot
from townsquare.core.threads import Part
from townsquare.simulation.policies.reading_kernels import READ, Posts, Readers, stance_distance

COEFFICIENTS = (
    "base", "distance", "engagement", "followed", "verdict_false", "verdict_true", "verdict_unverified", "unlabeled",
    "noted", "plausibility", "appeal", "repeated", "taste",
)  # fmt: skip
"""Rows of tables of coefficients, by the names of their settings."""
_BASE, _DISTANCE, _ENGAGEMENT, _FOLLOWED, _FALSE, _TRUE, _UNVERIFIED, _UNLABELED, _NOTED, *_REST = range(13)
_PLAUSIBILITY, _APPEAL, _REPEATED, _TASTE = _REST
_FOLLOWED_SLOT, _COMMENT_SLOT = int(Slot.FOLLOWED), int(Slot.COMMENT)
_ABSENT, _NO_LABEL = 8, 0
# No draw above entry k is below the chance at a logit of -k or less; at a logit above 0 any may be.
_UP_TO = np.array(
    [min(int((1 + 1e-9) / (1.0 + math.exp(k)) * 2.0**64), 2**64 - 1) if k else 2**64 - 1 for k in range(32)], np.uint64
)
REGISTER = 8
"""Kinds of action that kernels take at once: a row has room for so many, or for a multiple of it."""
SLOTS = len(Slot)
"""Which kinds can be done to a row follows from its slot."""
REFERENCE_POSTS, FEWEST_POSTS, MOST_POSTS = 15.0, 10, 20
"""Posts in the feed that bases refer to, and the lengths between which attention was measured: none is known beyond."""


class Rows(NamedTuple):
    """Columns of what the agents are shown, (m,) each; ``code`` is a position in the result of :func:`read`."""

    code: Array
    slot: Array
    offered: Array
    first_seen: Array


class Kinds(NamedTuple):
    """The kinds of action that are done to rows.

    ``table`` (13, kinds) float64 holds the coefficients in the order of ``COEFFICIENTS``; ``draws`` (kinds,) uint64,
    one base a kind, and ``tastes`` likewise, lasting ones; ``on_notes`` (kinds,) bool is for those done to an offered
    note. ``slot_kinds`` (SLOTS, width) int64 are the kinds that can be done to a row of each slot, -1 for none, see
    :func:`kinds_by_slot`; ``laid`` (SLOTS, 13, width) and ``labels`` (SLOTS, 9, width) are the table, and what labels
    add, laid out like them. ``attention`` is its coefficient.
    """

    table: Array
    draws: Array
    tastes: Array
    on_notes: Array
    slot_kinds: Array
    laid: Array
    labels: Array
    attention: float


def kinds_by_slot(slots: Sequence[Collection[Slot]]) -> Int64:
    """Return which kinds can be done to a row of each slot, (SLOTS, width), -1 for none; ``slots`` are by kind.

    >>> kinds_by_slot([{Slot.FOLLOWED, Slot.OTHER}, {Slot.COMMENT}, {Slot.OTHER}])[:, :3].tolist()
    [[0, -1, -1], [0, 2, -1], [1, -1, -1], [-1, -1, -1]]
    """
    kinds_of = [[k for k, where in enumerate(slots) if slot in where] for slot in Slot]
    registers = max(1, math.ceil(max(map(len, kinds_of)) / REGISTER))
    out = np.full((SLOTS, registers * REGISTER), -1, np.int64)
    for slot, kinds in enumerate(kinds_of):
        out[slot, : len(kinds)] = kinds
    return out


def laid_out(table: Array, slot_kinds: Int64) -> Float:
    """Return columns of a table (rows, kinds) by lane, (SLOTS, rows, width); 0 where a lane is not used."""
    return np.ascontiguousarray(np.where(slot_kinds[:, None, :] >= 0, table[:, slot_kinds].transpose(1, 0, 2), 0.0))


@nb.njit(cache=True)
def label_sums(table: Array) -> Float:
    """Return what labels add to each logit: row 2 v + n for verdict v with (n = 1) or without a note, 8 for none.

    ``table`` (13, kinds); a row without labels adds nothing where no row has any, so row 0 is 0.
    """
    out = np.zeros((9, table.shape[1]))
    for verdict, name in ((1, _TRUE), (2, _FALSE), (3, _UNVERIFIED)):
        out[2 * verdict] = table[name]
    for verdict in range(4):
        out[2 * verdict + 1] = out[2 * verdict] + table[_NOTED]
    out[_ABSENT] = table[_UNLABELED]
    return out


@nb.njit(inline="always", cache=True, error_model="numpy")
def _prepare(
    a: int, activity: float, crowding: float, kinds: Kinds, wide: tuple[int, ...], start: Array, words: Array
) -> None:
    """Compute the agent's part of each logit and of each draw, by slot and lane."""
    table, known = kinds.table, math.log(activity)
    for slot in range(SLOTS):
        for lane in range(len(wide)):
            k = kinds.slot_kinds[slot, lane]
            if k < 0:
                start[slot, lane], words[slot, lane] = -np.inf, U64(0)
                continue
            if slot and kinds.slot_kinds[slot - 1, lane] == k:
                start[slot, lane], words[slot, lane] = start[slot - 1, lane], words[slot - 1, lane]
                continue
            words[slot, lane] = key1(kinds.draws[k], a)
            start[slot, lane] = table[_BASE, k] + known + crowding
            if table[_TASTE, k] > 0.0:
                u = u01(key2(kinds.tastes[k], a, U64(0))) + 5e-17
                start[slot, lane] += table[_TASTE, k] * math.log(u / (1.0 - u))


@nb.njit(inline="always", cache=True, error_model="numpy")
def _look(lo: int, n: int, stance: Array, rows: Rows, posts: Posts, seen: Array, out: Array) -> tuple[float, bool]:
    """Copy what is read of every row of a feed first, so that the processor waits for many of them at once.

    ``stance`` becomes the distance to the agent's own, less a half. Returns ln(posts shown / 15), within what was
    measured, and whether any row carries a label.
    """
    shown, labeled = 0, False
    for x in range(n):
        out[x] = seen[rows.code[lo + x]]
        post = out[x]
        post.stance = stance_distance(stance, post, posts, 0.5) - 0.5
        shown += rows.slot[lo + x] != _COMMENT_SLOT
        labeled |= post.label != _NO_LABEL
    return math.log(min(max(shown, FEWEST_POSTS), MOST_POSTS) / REFERENCE_POSTS), labeled


@nb.njit(nogil=True, cache=True, error_model="numpy")
def choose_kinds(
    part: Part, readers: Readers, rows: Rows, posts: Posts, seen: Array, kinds: Kinds, wide: tuple[int, ...],
    out: Array, counts: Array,
) -> None:  # fmt: skip
    """Bit k of ``out[row]``: the agent does kind ``k`` of ``kinds`` to this row. Kinds are drawn independently.

    ``seen`` (k,) are what is :func:`read`; ``out`` (m,) has a bit a kind; ``counts`` (n,) is how much an agent does.
    ``wide`` has one 0 a lane: the length of a tuple is known when a kernel is compiled, so that its loops over lanes
    become whole registers.
    """
    agents, indptr, activity, stance = readers
    width = len(wide)
    start, words, scratch = np.empty((SLOTS, width)), np.empty((SLOTS, width), np.uint64), np.empty(64, READ)
    z, draws, entry = np.empty(width), np.empty(width, np.uint64), np.empty(width, np.int64)
    for i in range(part.start, part.stop):
        if activity[i] <= 0.0:  # never acts: the logarithm is minus infinity
            out[indptr[i] : indptr[i + 1]], counts[i] = 0, 0
            continue
        lo, n, done = indptr[i], indptr[i + 1] - indptr[i], 0
        if n > scratch.shape[0]:
            scratch = np.empty(2 * n, READ)
        crowding, labeled = _look(lo, n, stance[i], rows, posts, seen, scratch)
        _prepare(agents[i], activity[i], kinds.attention * crowding, kinds, wide, start, words)
        for x in range(n):
            e, slot, post = lo + x, rows.slot[lo + x], scratch[x]
            doubt, words_add, distance, engaged = post.doubt, post.appeal, post.stance, post.engagement
            row_key, case = post.key, post.label
            label = kinds.labels[slot, _ABSENT if case == _NO_LABEL and labeled else case]
            followed, repeated = 1.0 if slot == _FOLLOWED_SLOT else 0.0, 0.0 if rows.first_seen[e] else 1.0
            laid, begin, word, kind_of = kinds.laid[slot], start[slot], words[slot], kinds.slot_kinds[slot]
            # All kinds at once, without a branch, and few arrays in each loop: that is compiled to wide registers.
            for k in range(width):
                z[k] = begin[k] + laid[_DISTANCE, k] * distance
            for k in range(width):
                z[k] = z[k] + laid[_ENGAGEMENT, k] * engaged + laid[_PLAUSIBILITY, k] * doubt
            for k in range(width):
                z[k] += laid[_APPEAL, k] * words_add + label[k]
            for k in range(width):
                z[k] = z[k] + laid[_FOLLOWED, k] * followed + laid[_REPEATED, k] * repeated
            for k in range(width):
                draws[k] = mix(word[k] ^ row_key)
            for k in range(width):
                entry[k] = int(min(max(-z[k], 0.0), 31.0))
            bits = 0
            for k in range(width):
                # Of most draws the exponential is spared.
                if draws[k] <= _UP_TO[entry[k]] and kind_of[k] >= 0:
                    if kinds.on_notes[kind_of[k]] and rows.offered[e] < 0:
                        continue
                    hit = int(u01(draws[k]) < 1.0 / (1.0 + math.exp(-z[k])))
                    bits |= hit << kind_of[k]
                    done += hit
            out[e] = bits
        counts[i] = done


@nb.njit(nogil=True, cache=True, error_model="numpy")
def choose_writers(part: Part, agents: Array, activity: Array, rate: float, base: U64, out: Array) -> None:
    """Draw whether each agent writes a post in this step: chance 1 - exp(-rate x activity)."""
    for i in range(part.start, part.stop):
        out[i] = u01(key2(base, agents[i], U64(0))) < -math.expm1(-rate * activity[i])
