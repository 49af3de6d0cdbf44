"""Graphs of communities: what each setting does, and agreement with a plain search."""

from __future__ import annotations

import bisect
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raised_errors import raises_error
from townsquare.core.draws import Draws, Stage, StageDraws, uniform_oracle
from townsquare.core.errors import SettingError
from townsquare.scenario.graphs.communities import (
    COMMUNITIES,
    CommunityParams,
    communities_of,
    stance_of,
    taste_of,
    wanted,
)
from townsquare.scenario.graphs.communities_kernels import TRIES, Members, Seek, seek_follows
from townsquare.scenario.graphs.contract import Edges
from townsquare.scenario.population.sample import People, sample_people
from townsquare.settings.config import Population
from townsquare.testing.graph_conformance import check_graph


def draws(seed: int = 1) -> StageDraws:
    return Draws(seed, 0)(Stage.GRAPH)


def people_of(n: int, seed: int = 7, **population: object) -> People:
    given = {"taste": True, "activity_sd": 1.0, "stance": {"default": {"mean": 0.15, "sd": 0.52}}} | population
    return sample_people(0, n, Population.model_validate(given), ("tax", "ban"), seed)


def build(n: int, seed: int = 1, people: People | None = None, **params: object) -> Edges:
    return COMMUNITIES.build(n, CommunityParams.model_validate(params), draws(seed), people=people)


def correlation(edges: Edges, values: np.ndarray) -> float:
    return float(np.corrcoef(values[edges.follower], values[edges.followed])[0, 1])


def reciprocity(edges: Edges) -> float:
    pairs = set(zip(edges.follower.tolist(), edges.followed.tolist(), strict=True))
    return sum((b, a) in pairs for a, b in pairs) / len(pairs)


def gini(values: np.ndarray) -> float:
    ordered, n = np.sort(values), values.size
    return float((2 * np.arange(1, n + 1) - n - 1) @ ordered / (n * ordered.sum()))


def own_share(edges: Edges, community: np.ndarray) -> float:
    return float((community[edges.follower] == community[edges.followed]).mean())


def oracle(
    turn: np.ndarray, members: Members, stance: np.ndarray, taste: np.ndarray, want: np.ndarray, seek: Seek, base: int
) -> set[tuple[int, int]]:
    """Search with lists of followees, the newest first."""
    follows: list[list[int]] = [[] for _ in want]

    def u(agent: int, attempt: int, what: int) -> float:
        keys = np.array([8 * attempt + what], np.uint64)
        return float(uniform_oracle(np.uint64(base), np.array([agent]), keys)[0])

    def popular(low: int, high: int, u: float) -> int:
        total = members.before
        at = bisect.bisect_right(total.tolist(), total[low] + u * (total[high] - total[low])) - 1
        return int(members.order[min(max(at, low), high - 1)])

    def one_of(agent: int, u: float) -> int:
        return follows[agent][int(u * len(follows[agent]))]

    for i in turn.tolist():
        sought = [0, TRIES * int(want[i])]
        own = members.community[i]
        for attempt in range(sought[1]):
            if sought[0] == want[i]:
                break
            way = u(i, attempt, 0)
            if way < seek.inside:
                j = popular(members.start[own], members.start[own + 1], u(i, attempt, 1))
            elif way < seek.inside + seek.closure and follows[i]:
                between = one_of(i, u(i, attempt, 1))
                if not follows[between]:
                    continue
                j = one_of(between, u(i, attempt, 2))
            else:
                j = popular(0, len(want), u(i, attempt, 1))
            apart = seek.homophily * abs(stance[i] - stance[j]) + seek.taste_homophily * abs(taste[i] - taste[j])
            if j == i or j in follows[i] or u(i, attempt, 3) >= math.exp(-apart):
                continue
            follows[i].insert(0, j)
            sought[0] += 1
            if u(i, attempt, 4) < seek.follow_back and i not in follows[j]:
                follows[j].insert(0, i)
    return {(a, b) for a, mine in enumerate(follows) for b in mine}


@pytest.mark.parametrize("seed", range(4))
def test_the_kernel_agrees_with_a_plain_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 60
    community = rng.integers(0, 4, n)
    order = np.argsort(community, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(community, minlength=4))])
    before = np.concatenate([[0.0], np.cumsum(rng.lognormal(0, 1.5, n))])
    members = Members(order, community, start, before, np.zeros(n, np.int64))
    stance, taste = rng.uniform(-1, 1, n), rng.standard_normal(n)
    want, seek = rng.integers(1, 12, n), Seek(0.5, 0.3, 0.8, 0.4, 0.3)
    given = rng.permutation(n), members, stance, taste, want, seek, np.uint64(seed + 5)
    edges = seek_follows(*given)
    pairs = list(zip(edges.follower.tolist(), edges.followed.tolist(), strict=True))
    assert pairs == sorted(pairs)
    assert set(pairs) == oracle(*given)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=30)
@given(
    n=st.integers(1, 80), size=st.integers(2, 90), inside=st.floats(0, 1), back=st.floats(0, 1), seed=st.integers(0, 99)
)
def test_no_follow_of_oneself_and_none_twice(n: int, size: int, inside: float, back: float, seed: int) -> None:
    edges = build(n, seed, people_of(n), size=size, inside=inside, closure=1 - inside, follow_back=back)
    pairs = set(zip(edges.follower.tolist(), edges.followed.tolist(), strict=True))
    assert len(pairs) == edges.follower.size
    assert all(a != b and 0 <= a < n and 0 <= b < n for a, b in pairs)


@pytest.mark.parametrize("params", [{}, {"sorting": 1.0}, {"follow_back": 1.0}, {"popularity_sd": 0.0}])
def test_it_passes_the_public_check(params: dict[str, float]) -> None:
    check_graph(COMMUNITIES, CommunityParams.model_validate(params))


def test_the_defaults_give_a_graph_like_that_of_platforms() -> None:
    found = []
    for seed in range(3):
        people = people_of(2_000, seed)
        edges = build(2_000, seed, people)
        followers = np.bincount(edges.followed, minlength=2_000)
        found.append((reciprocity(edges), gini(followers), correlation(edges, people.stance[:, 0])))
    back, uneven, alike = np.mean(found, axis=0)
    assert 0.2 < back < 0.4
    assert 0.55 < uneven < 0.7
    assert 0.3 < alike < 0.6


def test_communities_are_of_equal_size_and_sorted_by_stance_and_taste() -> None:
    people, n = people_of(3_000), 3_000
    stance, taste = people.stance[:, 0], people.taste
    explained = []
    for sorting in (0.0, 0.5, 1.0):
        community = communities_of(n, CommunityParams(sorting=sorting), draws(), stance, taste)
        assert np.bincount(community).tolist() == [120] * 25
        for values in (stance, taste):
            means = np.bincount(community, values) / 120
            explained.append(means[community].var() / values.var())
    assert explained[:2] == pytest.approx([0, 0], abs=0.03)
    assert all(0.3 < share < 0.6 for share in explained[2:4])
    assert min(explained[4:]) > 0.8


def test_without_taste_bands_are_cut_by_chance() -> None:
    people = people_of(2_000, taste=False)
    assert np.isnan(people.taste).all()
    community = communities_of(2_000, CommunityParams(sorting=1), draws(), people.stance[:, 0], taste_of(2_000, people))
    assert np.unique(community).size == 16
    assert correlation(build(2_000, people=people), people.stance[:, 0]) > 0.3


def test_homophily_in_stance_and_in_taste() -> None:
    people, none = people_of(2_000), {"sorting": 0, "homophily": 0, "taste_homophily": 0}
    plain, by_stance, by_taste = (
        build(2_000, people=people, **none | more) for more in ({}, {"homophily": 3}, {"taste_homophily": 3})
    )
    assert abs(correlation(plain, people.stance[:, 0])) < 0.06
    assert abs(correlation(plain, people.taste)) < 0.06
    assert correlation(by_stance, people.stance[:, 0]) > 0.4
    assert correlation(by_taste, people.taste) > 0.6


def test_the_proposition_decides_whose_stance_counts() -> None:
    people = people_of(2_000)
    for column, name in enumerate(("tax", "ban")):
        edges = build(2_000, people=people, proposition=name)
        assert correlation(edges, people.stance[:, column]) > 0.3
        assert abs(correlation(edges, people.stance[:, 1 - column])) < 0.1


def test_shares_inside_and_by_closure() -> None:
    alike = {"homophily": 0, "taste_homophily": 0, "follow_back": 0, "popularity_sd": 0.5, "followed_sd": 0.1}
    people, params = people_of(3_000), CommunityParams.model_validate(alike)
    community = communities_of(3_000, params, draws(), people.stance[:, 0], people.taste)
    shares = [
        own_share(build(3_000, people=people, inside=inside, closure=0, **alike), community) for inside in (0, 0.5, 1)
    ]
    assert shares == pytest.approx([0.04, 0.52, 1], abs=0.02)
    triangles = []
    for closure in (0.0, 0.5):
        edges = build(3_000, people=people, inside=0, closure=closure, **alike)
        follows = [set() for _ in range(3_000)]
        for a, b in zip(edges.follower.tolist(), edges.followed.tolist(), strict=True):
            follows[a].add(b)
        triangles.append(np.mean([len(follows[b] & mine) for mine in follows for b in mine]))
    assert triangles[1] > 3 * triangles[0]


def test_follow_back_makes_follows_mutual() -> None:
    people = people_of(1_000)
    assert reciprocity(build(1_000, people=people, follow_back=1.0)) == 1
    assert reciprocity(build(1_000, people=people, follow_back=0.0)) < 0.2


def test_popularity_makes_in_degrees_uneven() -> None:
    people = people_of(2_000)
    even, uneven = (
        gini(np.bincount(build(2_000, people=people, popularity_sd=sd).followed, minlength=2_000)) for sd in (0.2, 2.2)
    )
    assert even < 0.35
    assert uneven > 0.6


def test_how_many_accounts_are_sought() -> None:
    people = people_of(20_000)
    want = wanted(20_000, CommunityParams(), draws(), people)
    assert want.mean() == pytest.approx(16, rel=0.04)
    assert np.log(want).std() == pytest.approx(0.83, abs=0.08)  # 0.9 but for those who seek two
    assert np.corrcoef(np.log(want), np.log(people.activity))[0, 1] == pytest.approx(0.5, abs=0.03)
    assert (want.min(), wanted(80, CommunityParams(mean_followed=30), draws(), None).max()) == (2, 10)
    silent = replace(people, activity=np.zeros(20_000))
    assert wanted(20_000, CommunityParams(), draws(), silent).mean() == pytest.approx(16, rel=0.04)


def test_without_people_or_propositions_homophily_has_no_effect() -> None:
    edges, other = build(500), build(500, homophily=5.0, taste_homophily=5.0)
    assert np.array_equal(edges.followed, other.followed)
    nobody = sample_people(0, 500, Population(), (), 1)
    assert not stance_of(CommunityParams(), 500, nobody).any()
    assert build(500, people=nobody).follower.size > 2_000


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"proposition": "taxes"}, {"where": "graph.proposition", "do": "did you mean 'tax'"}),
        ({"inside": 0.9, "closure": 0.2}, {"where": "graph.closure", "allowed": "shares that sum to 1 at most"}),
    ],
)
def test_what_cannot_be_is_refused(params: dict[str, object], says: dict[str, str]) -> None:
    with raises_error(SettingError, **says):
        build(50, people=people_of(50), **params)


def test_a_proposition_needs_people() -> None:
    with raises_error(SettingError, do="a graph without people has no stances; unset it"):
        build(50, proposition="tax")


def test_newcomers_follow_as_many_as_the_mean() -> None:
    assert COMMUNITIES.follows_at_birth(CommunityParams(mean_followed=7), 100) == 7
