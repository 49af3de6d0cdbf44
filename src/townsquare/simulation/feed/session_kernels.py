"""Compiled: feeds of sessions, in which agents examine some rows and are shown a root once."""

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from townsquare.core.array_types import Array
from townsquare.core.draws import U64, key1, key2, mix, u01
from townsquare.core.threads import Part
from townsquare.simulation.feed.rank_kernels import _ENTRY, Ranked, Readers, Scored, _among, _insert

_LEAST = 2.0**-54
"""Half a unit of the draws: the logit of a draw of 0 would be infinite."""


@nb.njit(nogil=True, cache=True)
def keep_fresh(
    part: Part, readers: Readers, ptr: Array, root_row: Array, post_step: Array, oldest: int, repeat: bool, rows: Array,
    counts: Array,
) -> None:  # fmt: skip
    """Keep the candidates that may be shown, those of each reader still from ``ptr[i]`` on, and count them.

    ``rows`` and ``counts`` are as :func:`townsquare.simulation.feed.rank_kernels.collect` gives them, ``root_row`` are
    the rows of posts of the roots, ``post_step`` the steps of posts. Roots of step ``oldest`` or later may be shown,
    and again if ``repeat``.
    """
    agents, seen_ptr, seen = readers.agents, readers.seen_ptr, readers.seen
    seen_by = np.full(0 if repeat else post_step.shape[0], -1, np.int32)  # the last reader that saw a root
    for i in range(part.start, part.stop):
        local, at = agents[i] - readers.first, ptr[i]
        for x in range(seen_ptr[local], seen_ptr[local + 1] if not repeat else seen_ptr[local]):
            seen_by[seen[x]] = i
        for e in range(ptr[i], ptr[i] + counts[i]):
            root = root_row[rows[e].root]
            if post_step[root] >= oldest and (repeat or seen_by[root] != i):
                rows[at] = rows[e]
                at += 1
        counts[i] = at - ptr[i]


@nb.njit(nogil=True, cache=True)
def add_error(part: Part, reader: Array, key: Array, scale: float, base: U64, score: Array) -> None:
    """Add a logistic error to each score, drawn by reader and key of the root: (m,) each."""
    for e in range(part.start, part.stop):
        u = max(u01(key2(base, reader[e], key[e])), _LEAST)
        score[e] += scale * (math.log(u) - math.log1p(-u))


class Sessions(NamedTuple):
    """How feeds of sessions are composed: rows that each reader examines, ``depth`` (n,) int64; and the mix.

    Each row is from another account with probability ``outside_share``, by draws of the base ``mix``; where one kind is
    used up, the other follows.
    """

    depth: Array
    outside_share: float
    mix: U64


@nb.njit(nogil=True, cache=True)
def compose(
    part: Part, readers: Readers, limit: int, order: U64, sessions: Sessions, scored: Scored, out: Ranked
) -> None:
    """Make feeds of scored candidates: the best rows of followed accounts and of others, mixed row by row.

    At most ``limit`` rows are from followed accounts and ``readers.others`` from others.
    """
    ptr, rows, key, score = scored
    most = 0
    for i in range(part.start, part.stop):
        most = max(most, readers.others[i])
    inside, outside, root = np.empty(limit, _ENTRY), np.empty(most, _ENTRY), np.empty(limit, np.int32)
    for i in range(part.start, part.stop):
        start, n, m = key1(order, readers.agents[i]), 0, 0
        for e in range(ptr[i], ptr[i + 1]):
            if rows[e].slot == 0:
                n = _insert(inside, n, limit, score[e], mix(start ^ key[e]), e)
        for x in range(n):
            root[x] = rows[inside[x].position].root
        for e in range(ptr[i], ptr[i + 1]):
            if rows[e].slot == 1 and not _among(root, n, rows[e].root):
                m = _insert(outside, m, readers.others[i], score[e], mix(start ^ key[e]), e)
        pick, a, b = key1(sessions.mix, readers.agents[i]), 0, 0
        while a + b < min(sessions.depth[i], n + m):
            from_others = u01(mix(pick ^ U64(a + b))) < sessions.outside_share
            if b < m and (from_others or a == n):
                out.rows[i, a + b] = rows[outside[b].position]
                b += 1
            else:
                out.rows[i, a + b] = rows[inside[a].position]
                a += 1
        out.counts[i] = a + b
