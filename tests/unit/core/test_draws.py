"""Keyed draws: equal to the NumPy form, uniform, and a function of their key alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from townsquare.core.draws import U64, Draws, Stage, StageDraws, bits_oracle, chain, text_key, uniform_oracle

ROWS = st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**64 - 1)), min_size=1, max_size=50)
SEEDS = st.integers(0, 2**63 - 1)


@settings(deadline=None, max_examples=50)
@given(seed=SEEDS, step=st.integers(0, 10**6), purpose=st.text(max_size=20), rows=ROWS, stage=st.sampled_from(Stage))
def test_compiled_draws_equal_the_numpy_form_bit_for_bit(
    seed: int, step: int, purpose: str, rows: list[tuple[int, int]], stage: Stage
) -> None:
    draw = Draws(seed, step)(stage)
    agents = np.array([agent for agent, _ in rows], np.int64)
    keys = np.array([key for _, key in rows], np.uint64)
    base = draw.base(purpose)
    assert draw.bits(purpose, agents, keys).tolist() == bits_oracle(base, agents, keys).tolist()
    assert draw.uniform(purpose, agents, keys).tolist() == uniform_oracle(base, agents, keys).tolist()


def test_the_draws_of_a_seed_never_change() -> None:
    """Literals: another value here makes every recorded run impossible to resume."""
    assert (text_key("like"), chain(7, 5, 3)) == (0xD2BAEBEC46DA06CC, 0x51C4642D6BDBBA71)
    bits = Draws(7, 3)(Stage.FEED).bits("pool", [0, 1, 70_000], np.array([0, 1, 2**63], np.uint64))
    assert bits.tolist() == [0x1B2D7BBF9A756B60, 0x86734570EF21E830, 0x87FCB9842E10BF3F]


@settings(deadline=None, max_examples=20)
@given(seed=SEEDS, rows=ROWS.filter(lambda rows: len(rows) < 12), data=st.data())
def test_a_row_more_or_another_order_changes_no_draw(
    seed: int, rows: list[tuple[int, int]], data: st.DataObject
) -> None:
    draw = Draws(seed, 1)(Stage.POLICY)
    alone = {row: draw.uniform("like", [row[0]], np.array([row[1]], np.uint64))[0] for row in rows}
    shuffled = data.draw(st.permutations(rows))
    together = draw.uniform("like", [row[0] for row in shuffled], np.array([row[1] for row in shuffled], np.uint64))
    assert together.tolist() == [alone[row] for row in shuffled]


def test_every_word_of_the_key_counts() -> None:
    agents, keys = np.repeat(np.arange(200), 5), np.tile(np.arange(5), 200)
    drawn = [
        StageDraws(seed, stage, step).uniform(purpose, agents, keys)
        for seed in (0, 1)
        for stage in (Stage.FEED, Stage.POLICY)
        for step in (1, 2)
        for purpose in ("like", "share")
    ]
    for one, two in itertools.combinations(drawn, 2):
        assert not (one == two).any()
        assert abs(np.corrcoef(one, two)[0, 1]) < 0.12  # 3.8 standard errors of 1,000 independent pairs
    flat = np.concatenate(drawn)
    assert np.unique(flat).size == flat.size


@pytest.mark.parametrize(
    ("agents", "keys"),
    [
        (np.arange(20_000), np.zeros(20_000, np.uint64)),
        (np.zeros(20_000, np.int64), np.arange(20_000, dtype=np.uint64)),
        (np.arange(20_000), np.arange(20_000, dtype=np.uint64) << U64(40)),
    ],
    ids=["by agent", "by key", "by both"],
)
def test_draws_are_uniform_and_neighbors_unrelated(agents: np.ndarray, keys: np.ndarray) -> None:
    u = Draws(11, 4)(Stage.FEED).uniform("pool", agents, keys)
    assert ((u >= 0) & (u < 1)).all()
    assert _chi_square(np.bincount((u * 64).astype(int), minlength=64)) > 1e-4
    pairs = np.bincount((u[:-1] * 8).astype(int) * 8 + (u[1:] * 8).astype(int), minlength=64)
    assert _chi_square(pairs) > 1e-4


def _chi_square(counts: np.ndarray) -> float:
    """Chance of counts at least as uneven, if all cells were equally likely."""
    expected = counts.sum() / counts.size
    return float(scipy.stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), counts.size - 1))


def test_lasting_draws_do_not_depend_on_the_step() -> None:
    agents = np.arange(100)
    early, late = (Draws(3, step)(Stage.MODERATE) for step in (1, 40))
    assert early.uniform("right", agents, lasting=True).tolist() == late.uniform("right", agents, lasting=True).tolist()
    assert not (early.uniform("right", agents) == late.uniform("right", agents)).any()
    at_zero = Draws(3, 0)(Stage.MODERATE).uniform("right", agents)
    assert late.uniform("right", agents, lasting=True).tolist() == at_zero.tolist()


def test_whole_numbers_are_in_range_and_even() -> None:
    draw = Draws(5, 1)(Stage.ARRIVE)
    high = np.tile([1, 2, 3, 1000], 5_000)
    drawn = draw.integers("growth", np.arange(high.size), 0, high)
    assert ((drawn >= 0) & (drawn < high)).all()
    assert _chi_square(np.bincount(drawn[high == 3], minlength=3)) > 1e-4


def test_the_stages_keep_their_numbers() -> None:
    assert {stage.name: int(stage) for stage in Stage} == {
        "POPULATION": 1, "GRAPH": 2, "ARRIVE": 3, "ORDER": 4, "FEED": 5, "POLICY": 6, "MODERATE": 7, "EVIDENCE": 8,
        "BELIEF": 9, "MEMORY": 10, "SCENARIO": 11, "DEBATE": 12,
    }  # fmt: skip
