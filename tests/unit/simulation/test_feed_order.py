"""Which rows stand in a feed, and in which order: the compiled form against plain Python, also of long feeds."""

from __future__ import annotations

import numpy as np
import pytest

from townsquare.core.draws import U64, chain, key1, mix
from townsquare.core.threads import Part
from townsquare.simulation.feed.candidates import CANDIDATE, Candidates, Pool
from townsquare.simulation.feed.rank_kernels import FEED_ROW, Ranked, Readers, rank

AGENTS, ROOTS = 61, 90


def some_posts(followed: int, pool: int) -> tuple[Candidates, Pool]:
    """Candidates and a pool at random: few scores, so that draws decide often."""
    rng = np.random.default_rng(pool)
    ptr = np.r_[0, np.cumsum(rng.integers(0, 9, AGENTS))]
    k = int(ptr[-1])
    candidate = np.empty(k, CANDIDATE)
    candidate["key"], candidate["score"] = rng.integers(0, 2**63, k), rng.integers(0, 4, k)
    candidate["post"], candidate["root"] = np.arange(k), rng.integers(0, ROOTS, k)
    candidate["author"], candidate["step"] = rng.integers(0, AGENTS, k), rng.integers(0, 3, k)
    shared = Pool(
        np.arange(k, k + pool, dtype=np.int32), rng.permutation(ROOTS)[:pool].astype(np.int32),
        rng.integers(0, AGENTS, pool).astype(np.int32), rng.integers(0, 2**63, pool).astype(np.uint64),
        rng.integers(0, 4, pool).astype(np.float64), pool // 5, U64(chain(2)),
    )  # fmt: skip
    return Candidates(ptr, candidate, followed, U64(chain(0)), U64(chain(1))), shared


def some_readers(others: int) -> Readers:
    rng = np.random.default_rng(others)
    follows = [np.sort(rng.choice(AGENTS, rng.integers(0, 30), replace=False)).astype(np.int32) for _ in range(AGENTS)]
    ptr, no_ptr, nothing = np.r_[0, np.cumsum([f.size for f in follows])], np.empty(0, np.int64), np.empty(0, np.int32)
    return Readers(
        np.arange(AGENTS, dtype=np.int32), 0, ptr, np.concatenate(follows), no_ptr, nothing, no_ptr, nothing,
        np.zeros(AGENTS + 1, np.int64), nothing,
        np.full(AGENTS, others, np.int64), np.zeros(AGENTS, np.bool_),
    )  # fmt: skip


def expected(
    candidates: Candidates, pool: Pool, followed: list[int], others: int, agent: int
) -> list[tuple[int, int, int, int]]:
    """(post, root, author, slot) of each row of an agent's feed."""

    def draw(base: np.uint64, key: int) -> int:
        return int(mix(U64(key1(base, agent)) ^ U64(key)))

    newest: dict[int, tuple[tuple[int, int], int, int]] = {}
    for owner in followed:
        for c in range(candidates.ptr[owner], candidates.ptr[owner + 1]):
            one = candidates.row[c]
            if one["author"] != agent:
                age = -int(one["step"]), draw(candidates.newest, int(one["key"]))
                newest[int(one["root"])] = min(newest.get(int(one["root"]), (age, c, owner)), (age, c, owner))
    rows = []
    for _, c, owner in newest.values():
        one = candidates.row[c]
        place = -float(one["score"]), draw(candidates.order, int(one["key"]))
        rows.append((place, (int(one["post"]), int(one["root"]), owner, 0)))
    rows = sorted(rows)[: candidates.limit]
    shown, free = {row[1] for _, row in rows}, []
    n_rest = pool.post.size - pool.n_injected
    for x in range(pool.post.size):
        if int(pool.author[x]) not in (agent, *followed) and int(pool.root[x]) not in shown:
            bits = draw(pool.draw, int(pool.key[x]))
            free.append((bits // n_rest * pool.n_injected if x < pool.n_injected < n_rest else bits, x))
    for _, x in sorted(free)[:others]:
        place = -float(pool.score[x]), draw(candidates.order, int(pool.key[x]))
        rows.append((place, (int(pool.post[x]), int(pool.root[x]), int(pool.author[x]), 1)))
    return [row for _, row in sorted(rows)]


@pytest.mark.parametrize(
    ("followed", "others", "pool"), [(15, 10, 40), (0, 10, 12), (40, 0, 30), (70, 50, 90), (2, 3, 4), (5, 2, 90)]
)
def test_feeds_are_ranked_as_plain_python_ranks_them(followed: int, others: int, pool: int) -> None:
    (candidates, shared), readers = some_posts(followed, pool), some_readers(others)
    out = Ranked(np.zeros((AGENTS, followed + others), FEED_ROW), np.zeros(AGENTS, np.int64))
    rank(Part(0, AGENTS), candidates, shared, readers, out)
    for agent in range(AGENTS):
        theirs = readers.followed[readers.follow_ptr[agent] : readers.follow_ptr[agent + 1]].tolist()
        assert out.rows[agent, : out.counts[agent]].tolist() == expected(candidates, shared, theirs, others, agent)
    assert out.counts.max() > 0
