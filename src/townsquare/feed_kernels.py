"""The compiled part of :mod:`townsquare.feed`: which rows one agent is shown, agent by agent in parallel."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.draws import U64, key2
from townsquare.schema import Verdict

Array = npt.NDArray[Any]
_FALSE = int(Verdict.FALSE)
_ALL = U64(0xFFFFFFFFFFFFFFFF)


@nb.njit(inline="always", cache=True)
def _before(score_a: float, tie_a: U64, score_b: float, tie_b: U64) -> bool:
    """Whether a stands above b: higher score, or the smaller draw of equal ones."""
    return bool(score_a > score_b or (score_a == score_b and tie_a < tie_b))


@nb.njit(cache=True)
def _gather(
    agent: int,
    followed: Array,
    ring: Array,
    n_rows: Array,
    author: Array,
    root: Array,
    status: Array,
    step: Array,
    key: Array,
    base: U64,
    table: Array,
    found: Array,
) -> int:
    """The newest row of each root among the rows of the followed; equal age by draw. Returns how many."""
    mask = table.shape[0] - 1
    c, n = ring.shape[1], 0
    for j in range(followed.shape[0]):
        f = followed[j]
        for q in range(min(n_rows[f], c)):
            p = ring[f, q]
            r = root[p]
            if author[r] == agent or status[r] != 0:
                continue
            h = (r * 2654435761) & mask
            while table[h] >= 0 and root[found[table[h]]] != r:
                h = (h + 1) & mask
            if table[h] < 0:
                table[h] = n
                found[n] = p
                n += 1
                continue
            old = found[table[h]]
            newer = step[p] > step[old]
            if step[p] == step[old]:
                newer = key2(base, agent, key[p]) < key2(base, agent, key[old])
            if newer:
                found[table[h]] = p
    return n


@nb.njit(cache=True)
def _best(
    agent: int,
    found: Array,
    n: int,
    limit: int,
    score: Array,
    key: Array,
    base: U64,
    out: Array,
    out_score: Array,
    out_tie: Array,
) -> int:
    """The best ``limit`` of ``found`` in order, into ``out``; returns how many."""
    m = 0
    for x in range(n):
        p = found[x]
        s, tie = score[p], key2(base, agent, key[p])
        if m == limit and not _before(s, tie, out_score[m - 1], out_tie[m - 1]):
            continue
        y = m if m < limit else m - 1
        if m < limit:
            m += 1
        while y > 0 and _before(s, tie, out_score[y - 1], out_tie[y - 1]):
            out[y], out_score[y], out_tie[y] = out[y - 1], out_score[y - 1], out_tie[y - 1]
            y -= 1
        out[y], out_score[y], out_tie[y] = p, s, tie
    return m


@nb.njit(inline="always", cache=True)
def _among(keys: Array, wanted: int) -> bool:
    """Binary search in ascending keys."""
    lo, hi = 0, keys.shape[0]
    while lo < hi:
        mid = (lo + hi) >> 1
        if keys[mid] < wanted:
            lo = mid + 1
        else:
            hi = mid
    return bool(lo < keys.shape[0] and keys[lo] == wanted)


@nb.njit(inline="always", cache=True)
def _sort_places(place: Array, n: int, ties: Array) -> None:
    """Put the first ``n`` places in the order of their draws, equal ones as they are."""
    for x in range(1, n):
        v = place[x]
        y = x - 1
        while y >= 0 and ties[place[y]] > ties[v]:
            place[y + 1] = place[y]
            y -= 1
        place[y + 1] = v


@nb.njit(cache=True)
def _others(
    agent: int,
    followed: Array,
    pool: Array,
    n_injected: int,
    pool_author: Array,
    pool_key: Array,
    limit: int,
    base: U64,
    above_root: Array,
    out: Array,
    out_tie: Array,
) -> int:
    """The ``limit`` roots of the pool with the smallest draw by (agent, root), not followed and not above."""
    n = pool.shape[0]
    n_rest = n - n_injected
    ties, place = np.empty(n, np.uint64), np.empty(n + 1, np.int64)
    for x in range(n):
        ties[x] = key2(base, agent, pool_key[x])
    if n_injected < n_rest:  # few injected weigh as much as the many others
        for x in range(n_injected):
            ties[x] = ties[x] // U64(n_rest) * U64(n_injected)
    # Only the smallest draws are put in order, about twice as many as are wanted; more if those do not do.
    wanted = 2 * limit + 8
    while True:
        found = 0
        bound = _ALL if wanted >= n else _ALL // U64(n) * U64(wanted)
        for x in range(n):
            place[found] = x
            found += ties[x] <= bound
        m = 0
        _sort_places(place, found, ties)
        for y in range(found):
            x = place[y]
            p, shown = pool[x], pool_author[x] == agent or _among(followed, pool_author[x])
            for r in above_root:
                shown |= r == p
            if not shown:
                out[m], out_tie[m] = p, ties[x]
                m += 1
                if m == limit:
                    return m
        if wanted >= n:
            return m
        wanted *= 4


@nb.njit(parallel=True, cache=True)
def fill_feeds(
    agents: Array,
    first: int,
    follow_ptr: Array,
    follow_key: Array,
    ring: Array,
    n_rows: Array,
    author: Array,
    root: Array,
    status: Array,
    step: Array,
    key: Array,
    score: Array,
    pool: Array,
    n_injected: int,
    n_followed: int,
    n_others: Array,
    age_base: U64,
    tie_base: U64,
    pool_base: U64,
    rows: Array,
    slots: Array,
    counts: Array,
) -> None:
    """Rows of the feeds of ``agents`` (all of one block that starts at ``first``), ranked.

    ``n_others`` (n,) int64 is the number of rows from other accounts for each agent. Writes ``rows`` and ``slots`` (n,
    n_followed + the largest of them) and ``counts`` (n,). Scores and keyed draws alone decide
    the order, so neither the block nor the number of threads can change it. ``pool`` holds live roots only.
    """
    pool_author, pool_key = author[pool], key[pool]
    for i in nb.prange(agents.shape[0]):
        agent = agents[i]
        followed = follow_key[follow_ptr[agent - first] : follow_ptr[agent - first + 1]]
        size = 0
        for j in range(followed.shape[0]):
            size += min(n_rows[followed[j]], ring.shape[1])
        wide = 16
        while wide < 2 * size:
            wide *= 2
        table = np.full(wide, -1, np.int32)
        found = np.empty(max(size, 1), np.int32)
        n = _gather(agent, followed, ring, n_rows, author, root, status, step, key, age_base, table, found)
        top = np.empty(n_followed + 1, np.int32)
        top_score = np.empty(n_followed + 1, np.float64)
        top_tie = np.empty(n_followed + 1, np.uint64)
        m = _best(agent, found, n, n_followed, score, key, tie_base, top, top_score, top_tie) if n_followed else 0
        limit = n_others[i]
        other = np.empty(limit + 1, np.int32)
        other_tie = np.empty(limit + 1, np.uint64)
        k = 0
        if limit:
            above_root = root[top[:m]]
            k = _others(
                agent, followed, pool, n_injected, pool_author, pool_key, limit, pool_base, above_root,
                other, other_tie,
            )  # fmt: skip
        # The followed are in order; the others are put among them by score, equal ones by draw.
        ties = np.empty(n_followed + limit + 1, np.uint64)
        for x in range(m):
            rows[i, x], slots[i, x], ties[x] = top[x], 0, top_tie[x]
        for x in range(k):
            p = other[x]
            s, tie = score[p], key2(tie_base, agent, key[p])
            y = m + x
            while y > 0 and _before(s, tie, score[rows[i, y - 1]], ties[y - 1]):
                rows[i, y], slots[i, y], ties[y] = rows[i, y - 1], slots[i, y - 1], ties[y - 1]
                y -= 1
            rows[i, y], slots[i, y], ties[y] = p, 1, tie
        counts[i] = m + k


@nb.njit(parallel=True, cache=True)
def count_rows(
    agents: Array,
    rows: Array,
    counts: Array,
    root: Array,
    author: Array,
    comment_ptr: Array,
    comment: Array,
    per_post: int,
    out: Array,
) -> None:
    """Rows a feed once comments stand under its posts: up to ``per_post`` of others' comments each."""
    for i in nb.prange(agents.shape[0]):
        n = counts[i]
        if per_post > 0:
            for x in range(counts[i]):
                r = root[rows[i, x]]
                shown = 0
                for y in range(comment_ptr[r], comment_ptr[r + 1]):
                    if shown == per_post:
                        break
                    if author[comment[y]] != agents[i]:
                        shown += 1
                n += shown
        out[i + 1] = n


@nb.njit(parallel=True, cache=True)
def lay_out(
    agents: Array,
    rows: Array,
    slots: Array,
    counts: Array,
    root: Array,
    author: Array,
    comment_ptr: Array,
    comment: Array,
    per_post: int,
    indptr: Array,
    agent_out: Array,
    rank_out: Array,
    post_out: Array,
    under_out: Array,
    slot_out: Array,
) -> None:
    """Posts in rank order, each followed by the comments shown under it."""
    for i in nb.prange(agents.shape[0]):
        at = indptr[i]
        for x in range(counts[i]):
            p = rows[i, x]
            agent_out[at], rank_out[at], post_out[at] = agents[i], x, p
            under_out[at], slot_out[at] = -1, slots[i, x]
            at += 1
            if per_post > 0:
                r = root[p]
                shown = 0
                for y in range(comment_ptr[r], comment_ptr[r + 1]):
                    if shown == per_post:
                        break
                    c = comment[y]
                    if author[c] != agents[i]:
                        agent_out[at], rank_out[at], post_out[at] = agents[i], x, c
                        under_out[at], slot_out[at] = r, 2
                        at += 1
                        shown += 1


@nb.njit(parallel=True, cache=True)
def put_beside(
    indptr: Array,
    root: Array,
    counts: tuple[Array, ...],
    counts_out: tuple[Array, ...],
    verdict: Array,
    note: Array,
    shows: Array,
    if_noted: float,
    if_false: float,
    verdict_out: Array,
    note_out: Array,
    weight_out: Array,
) -> None:
    """What stands beside each row: counts of its root, and for agents with ``shows`` its labels, which weigh it.

    ``counts`` (posts,) each and ``counts_out`` (m,) each: likes, dislikes, shares, comments and flags, all int32.
    ``if_noted`` and ``if_false`` are the weights of a row with a shown note, or with the verdict `false`.
    """
    likes, dislikes, shares, comments, flags = counts
    likes_out, dislikes_out, shares_out, comments_out, flags_out = counts_out
    for i in nb.prange(shows.shape[0]):
        for e in range(indptr[i], indptr[i + 1]):
            r = root[e]
            likes_out[e], dislikes_out[e], shares_out[e] = likes[r], dislikes[r], shares[r]
            comments_out[e], flags_out[e] = comments[r], flags[r]
            weight_out[e], verdict_out[e], note_out[e] = 1.0, 0, -1
            if shows[i]:
                verdict_out[e], note_out[e] = verdict[r], note[r]
                if note[r] >= 0:
                    weight_out[e] = if_noted
                if verdict[r] == _FALSE:
                    weight_out[e] = min(weight_out[e], if_false)
