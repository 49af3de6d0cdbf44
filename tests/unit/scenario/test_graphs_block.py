"""Stochastic block models: chances, homophily by chance, trait and stance, and the literal form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raised_errors import raises_error
from townsquare.core.draws import Draws, Stage, StageDraws, uniform_oracle
from townsquare.core.errors import SettingError, UnknownName
from townsquare.scenario.graphs.block import BLOCK, BlockParams, blocks_of
from townsquare.scenario.graphs.contract import Edges
from townsquare.scenario.population.question_bank import bundled_bank
from townsquare.scenario.population.sample import People, sample_people
from townsquare.settings.config import Population


def draws(seed: int = 1) -> StageDraws:
    return Draws(seed, 0)(Stage.GRAPH)


def build(n: int, seed: int = 1, people: People | None = None, **params: object) -> Edges:
    return BLOCK.build(n, BlockParams.model_validate(params), draws(seed), people=people)


def people_of(n: int, **population: object) -> People:
    return sample_people(0, n, Population.model_validate(population), ("tax", "ban"), 7)


def own_share(edges: Edges, block: np.ndarray) -> float:
    return float((block[edges.follower] == block[edges.followed]).mean())


def oracle(n: int, params: BlockParams, draw: StageDraws) -> set[tuple[int, int]]:
    """Leap through the agents of one's own block, then through all others, in order of block and row."""
    block = blocks_of(n, params, draw, None)
    order = np.argsort(block, kind="stable").tolist()
    base = draw.base("block follow", lasting=True)
    found = set()
    for i in range(n):
        own = [j for j in order if block[j] == block[i] and j != i]
        others = [j for j in order if block[j] != block[i]]
        for part, (candidates, p) in enumerate(((own, params.p_within), (others, params.p_between))):
            at, leap = -1.0, 0
            while p:
                key = np.array([(part << 32) + leap], np.uint64)
                u = uniform_oracle(base, np.array([i]), key)[0]
                with np.errstate(divide="ignore"):
                    at += 1 + np.floor(np.log1p(-u) / np.log1p(-p))
                leap += 1
                if not at < len(candidates):
                    break
                found.add((i, candidates[int(at)]))
    return found


@settings(deadline=None, max_examples=40)
@given(n=st.integers(1, 60), blocks=st.integers(1, 8), p=st.floats(0, 1), q=st.floats(0, 1), seed=st.integers(0, 2**40))
def test_no_follow_of_oneself_and_none_twice(n: int, blocks: int, p: float, q: float, seed: int) -> None:
    edges = build(n, seed, n_blocks=blocks, p_within=p, p_between=q)
    pairs = set(zip(edges.follower.tolist(), edges.followed.tolist(), strict=True))
    assert len(pairs) == edges.follower.size
    assert all(a != b and 0 <= a < n and 0 <= b < n for a, b in pairs)


@pytest.mark.parametrize(("p", "q"), [(0.3, 0.05), (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)])
def test_it_agrees_with_the_literal_form(p: float, q: float) -> None:
    params = BlockParams(n_blocks=3, p_within=p, p_between=q)
    edges = BLOCK.build(40, params, draws(5))
    assert set(zip(edges.follower.tolist(), edges.followed.tolist(), strict=True)) == oracle(40, params, draws(5))


def test_chances_within_and_between() -> None:
    n, p, q = 3_000, 0.05, 0.01
    edges = build(n, n_blocks=3, p_within=p, p_between=q)
    block = blocks_of(n, BlockParams(n_blocks=3), draws(), None)
    size = np.bincount(block)
    same = block[edges.follower] == block[edges.followed]
    inside = float((size * (size - 1)).sum())
    assert same.sum() / inside == pytest.approx(p, rel=0.02)
    assert (~same).sum() / (n * (n - 1) - inside) == pytest.approx(q, rel=0.02)


@pytest.mark.parametrize("homophily", [0.0, 0.3, 0.8, 1.0])
def test_homophily_is_colemans_index(homophily: float) -> None:
    people = people_of(20_000)
    edges = build(20_000, people=people, by="gender", mean_followed=12, homophily=homophily)
    number = bundled_bank().number_of("gender")
    block = people.traits[:, number].astype(int)
    assert edges.follower.size / 20_000 == pytest.approx(12, rel=0.02)
    for group in (0, 1):
        mine = block[edges.follower] == group
        share = (block[edges.followed][mine] == group).mean()
        weight = (block == group).mean()
        assert (share - weight) / (1 - weight) == pytest.approx(homophily, abs=0.02)


def test_by_stance_the_like_minded_follow_each_other() -> None:
    people = people_of(5_000, stance={"ban": {"kind": "uniform"}})
    apart = [
        np.abs(
            np.subtract(*(people.stance[end, 1] for end in build(5_000, people=people, by=by, homophily=0.9)))
        ).mean()
        for by in ("chance", "stance:tax", "stance:ban")
    ]
    assert apart[2] < 0.8 * min(apart[:2])
    block = blocks_of(5_000, BlockParams(by="stance:ban", n_blocks=4), draws(), people)
    edge = [people.stance[block == b, 1].min() for b in range(4)]
    assert edge == pytest.approx([-1, -0.5, 0, 0.5], abs=0.01)


def test_ages_are_blocks_by_band_and_no_answer_is_a_block() -> None:
    people = people_of(400)
    people.traits[:10, 0] = -1
    block = blocks_of(400, BlockParams(by="age"), draws(), people)
    assert set(block[:10]) == {0}
    assert np.array_equal(block[10:] == 1, people.traits[10:, 0] <= 24)
    edges = build(400, people=people, by="age", homophily=1.0, mean_followed=5)
    assert own_share(edges, block) == 1.0


def test_a_block_too_small_is_complete() -> None:
    people = people_of(500)
    number = bundled_bank().number_of("gender")
    people.traits[:, number] = 0
    people.traits[:4, number] = 1
    edges = build(500, people=people, by="gender", homophily=1.0, mean_followed=20)
    assert np.bincount(edges.follower, minlength=500)[:4].tolist() == [3] * 4


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"by": "gendre"}, {"do": "did you mean 'gender'"}),
        ({"by": "stance:taxes"}, {"allowed": "stance:tax, stance:ban", "do": "did you mean 'stance:tax'"}),
        ({"p_within": 0.5}, {"where": "graph.p_between", "got": "nothing, but p_within is given"}),
        ({"p_between": 0.5}, {"where": "graph.p_within", "got": "nothing"}),
    ],
)
def test_what_cannot_be_is_refused(params: dict[str, object], says: dict[str, str]) -> None:
    with raises_error(SettingError, **says):
        build(50, people=people_of(50), **params)


def test_without_people_there_are_no_traits() -> None:
    with raises_error(SettingError, do="a graph without people has no traits"):
        build(50, by="gender")
    assert issubclass(UnknownName, SettingError)


def test_newcomers_follow_as_many_as_the_mean() -> None:
    assert BLOCK.follows_at_birth(BlockParams(mean_followed=7), 100) == 7
    assert BLOCK.follows_at_birth(BlockParams(n_blocks=2, p_within=0.2, p_between=0.0), 101) == 10
