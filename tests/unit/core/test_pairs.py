"""The pairs store against a dictionary, and that a block that was merged into stays as it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from townsquare.core.draws import Draws, Stage, bits_oracle
from townsquare.core.pairs import BLOCK, PairBlock, Pairs, empty_block, keep_newest, lookup, spans, upsert

AGENTS, KEYS = 4, 12
QUERY = st.lists(st.lists(st.tuples(st.integers(0, KEYS - 1), st.integers(-5, 5)), max_size=8), min_size=AGENTS,
                 max_size=AGENTS)  # fmt: skip
Query = list[list[tuple[int, int]]]


def as_arrays(query: Query, dtype: str = "f8") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    flat = [pair for row in query for pair in row]
    indptr = np.r_[0, np.cumsum([len(row) for row in query])].astype(np.int64)
    return indptr, np.array([k for k, _ in flat], np.int32), np.array([v for _, v in flat], dtype)


def as_dicts(block: PairBlock) -> list[dict[int, float]]:
    rows = zip(block.indptr[:-1], block.indptr[1:], strict=True)
    return [dict(zip(block.key[a:b].tolist(), block.value[a:b].tolist(), strict=True)) for a, b in rows]


def check_sorted(block: PairBlock) -> None:
    for a, b in zip(block.indptr[:-1], block.indptr[1:], strict=True):
        assert (np.diff(block.key[a:b].astype(int)) > 0).all()


@settings(deadline=None, max_examples=80)
@given(queries=st.lists(QUERY, min_size=1, max_size=4), asked=QUERY)
def test_a_store_is_a_dictionary_for_each_agent(queries: list[Query], asked: Query) -> None:
    block, model = empty_block(AGENTS, np.float64), [dict[int, float]() for _ in range(AGENTS)]
    for query in queries:
        indptr, keys, start = as_arrays(query)
        before = [part.copy() for part in block]
        after, slot, known = upsert(block, indptr, keys, start)
        for part, was in zip(block, before, strict=True):
            assert np.asarray(part).tolist() == was.tolist()  # the old block is not changed
        place = 0
        for agent, row in enumerate(query):
            had = set(model[agent])
            for key, value in row:
                model[agent].setdefault(key, float(value))
                assert known[place] == (key in had)
                assert after.key[slot[place]] == key
                assert after.value[slot[place]] == model[agent][key]
                place += 1
        block = after
        check_sorted(block)
        assert as_dicts(block) == model
    indptr, keys, _ = as_arrays(asked)
    found = lookup(block, indptr, keys)
    wanted = [model[agent].get(key) for agent, row in enumerate(asked) for key, _ in row]
    assert [block.value[at] if at >= 0 else None for at in found] == wanted


@settings(deadline=None, max_examples=80)
@given(query=QUERY, cap=st.integers(1, 6), seed=st.integers(0, 1000))
def test_the_oldest_are_forgotten_and_equal_ones_by_draw(query: Query, cap: int, seed: int) -> None:
    indptr, keys, ages = as_arrays(query, "i2")
    block = upsert(empty_block(AGENTS, np.int16), indptr, keys, ages)[0]
    post_key = np.arange(KEYS, dtype=np.uint64) * np.uint64(977)
    base, first = Draws(seed, 1)(Stage.FEED).base("forget"), 1000
    kept = keep_newest(block, cap, base, first, post_key)
    check_sorted(kept)
    for agent, (had, has) in enumerate(zip(as_dicts(block), as_dicts(kept), strict=True)):
        draw = dict(enumerate(bits_oracle(base, np.full(KEYS, first + agent), post_key) >> np.uint64(11)))
        oldest_first = sorted(had, key=lambda key: (had[key], draw[key]))
        assert has == {key: had[key] for key in oldest_first[max(0, len(had) - cap) :]}


def test_merging_into_a_read_only_block_works() -> None:
    block = upsert(empty_block(2, np.float64), np.array([0, 1, 2]), np.array([3, 4], np.int32), np.array([0.5, 0.6]))[0]
    for part in block:
        part.flags.writeable = False
    after, _, known = upsert(block, np.array([0, 2, 2]), np.array([9, 3], np.int32), np.array([1.0, 2.0]))
    assert as_dicts(after) == [{3: 0.5, 9: 1.0}, {4: 0.6}]
    assert known.tolist() == [False, True]


def test_a_store_grows_block_by_block() -> None:
    pairs = Pairs(np.uint8, 3)
    pairs.grow(2)
    assert (pairs.n_agents, len(pairs.blocks)) == (3, 1)
    pairs.blocks[0] = upsert(pairs.blocks[0], np.array([0, 0, 1, 1]), np.array([7], np.int32), np.array([5], np.uint8))[
        0
    ]
    pairs.grow(BLOCK - 1)
    pairs.grow(2 * BLOCK + 10)
    assert [block.n_agents for block in pairs.blocks] == [BLOCK, BLOCK, 10]
    assert list(spans(pairs.n_agents)) == [(0, 0, BLOCK), (1, BLOCK, 2 * BLOCK), (2, 2 * BLOCK, 2 * BLOCK + 10)]
    assert (pairs.get(1, 7, -1), pairs.get(1, 8, -1), pairs.get(BLOCK + 3, 7, -1), len(pairs)) == (5, -1, -1, 1)


@pytest.mark.parametrize("n", [0, 1, BLOCK, BLOCK + 1])
def test_spans_cover_every_agent_once(n: int) -> None:
    covered = [agent for _, first, stop in spans(n) for agent in (first, stop - 1)]
    assert sum(stop - first for _, first, stop in spans(n)) == n
    assert covered == sorted(covered)


def test_another_type_keeps_the_pairs() -> None:
    pairs = Pairs(np.int16, 2)
    pairs.blocks[0] = upsert(
        pairs.blocks[0], np.array([0, 1, 2]), np.array([1, 2], np.int32), np.array([7, 8], np.int16)
    )[0]
    wider = pairs.astype(np.int32)
    assert (wider.dtype, wider.n_agents, wider.get(0, 1, -1), wider.get(1, 2, -1)) == (np.dtype("i4"), 2, 7, 8)
    assert pairs.dtype == np.int16
