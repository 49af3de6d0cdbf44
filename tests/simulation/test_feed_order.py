"""Rows of feeds in order: networks sort, ranks rank, and how many bits a word has for what changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from townsquare.core.draws import U64
from townsquare.core.simd import LANES
from townsquare.simulation.feed.candidates import Cards
from townsquare.simulation.feed.kernels import Bases, PoolColumns, Ranked, Readers, fill_feeds
from townsquare.simulation.feed.order import LAST, MOST, bits_for, has_equal, ranks, sort_lanes


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.integers(0, 200))
def test_every_lane_is_sorted_and_filled_up(seed: int, longest: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, longest + 1, LANES)
    counts[rng.integers(LANES)] = longest
    words = rng.integers(0, 50 if seed % 2 else 2**63, (max(longest, MOST), LANES)).astype(np.uint64)
    wanted = [np.sort(words[:n, lane]) for lane, n in enumerate(counts)]
    assert sort_lanes(words, counts, np.empty(longest, np.uint64)) == longest
    for lane, n in enumerate(counts):
        np.testing.assert_array_equal(words[:n, lane], wanted[lane])
        assert (words[n:longest, lane] == LAST).all()
    twins = any((np.diff(lane >> U64(3)) == 0).any() for lane in wanted)
    assert has_equal(words, longest, 3) == twins


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=50))
def test_ranks_are_how_many_different_scores_are_higher(scores: list[float]) -> None:
    found, n = ranks(np.array(scores))
    assert found.tolist() == [len({other for other in scores if other > score}) for score in scores]
    assert n == len(set(scores))


@pytest.mark.parametrize(
    ("followed", "others", "pool"), [(15, 10, 40), (0, 10, 12), (40, 0, 30), (70, 50, 90), (2, 3, 4)]
)
def test_a_feed_does_not_depend_on_how_many_bits_of_its_draws_fit(followed: int, others: int, pool: int) -> None:
    """With 50 bits of rank few are left for draws: rows of one rank are often equal in those, but not the same."""
    rng, n = np.random.default_rng(pool), 61
    per_author = rng.integers(0, 9, n)
    ptr = np.r_[0, np.cumsum(per_author)]
    k = int(ptr[-1])
    rank, n_ranks = ranks(rng.integers(0, 4, k + pool).astype(np.float64))
    words = np.empty((k, 4), np.uint64)
    words[:, 0] = rng.integers(0, 2**63, k)
    words[:, 1] = np.arange(k, dtype=np.uint64) | rng.integers(0, 90, k).astype(np.uint64) << U64(32)
    words[:, 2] = rng.integers(0, n, k).astype(np.uint64) | rng.integers(0, 3, k).astype(np.uint64) << U64(32)
    words[:, 3] = rank[:k]
    follows = [np.sort(rng.choice(n, rng.integers(0, 30), replace=False)).astype(np.int32) for _ in range(n)]
    readers = Readers(
        np.arange(n, dtype=np.int32), 0, np.r_[0, np.cumsum([f.size for f in follows])], np.concatenate(follows),
        np.full(n, others, np.int64),
    )  # fmt: skip
    shared = PoolColumns(
        np.arange(k, k + pool, dtype=np.int32), rng.permutation(90)[:pool].astype(np.int32),
        rng.integers(0, n, pool).astype(np.int32), rng.integers(0, 2**63, pool).astype(np.uint64), rank[k:], pool // 5,
    )  # fmt: skip
    feeds = []
    for bits in (bits_for(n_ranks), 30, 50):
        shape = n, followed + others
        out = Ranked(
            *(np.full(shape, -1, np.int32) for _ in range(3)), np.zeros(shape, np.uint8), np.zeros(n, np.int64)
        )
        fill_feeds(
            readers, Cards(ptr, words, words.view(np.float64)), shared, followed, Bases(*map(U64, (1, 2, 3))), bits, out
        )
        feeds.append(out)
    for other in feeds[1:]:
        for one, same in zip(feeds[0], other, strict=True):
            np.testing.assert_array_equal(one, same)
    assert feeds[0].counts.max() > 0
