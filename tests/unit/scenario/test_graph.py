"""Who follows whom: shapes of graphs, keyed draws, newcomers, edge lists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raised_errors import raises_error
from townsquare.core import registry
from townsquare.core.draws import U64, Draws, Stage, StageDraws, uniform_oracle
from townsquare.core.errors import DataError, SettingError
from townsquare.scenario.graphs.attach import attach
from townsquare.scenario.graphs.block import BLOCK
from townsquare.scenario.graphs.communities import COMMUNITIES
from townsquare.scenario.graphs.contract import Edges, GraphKind
from townsquare.scenario.graphs.file import FILE, FileParams
from townsquare.scenario.graphs.given import GIVEN
from townsquare.scenario.graphs.random import RANDOM, RandomParams
from townsquare.scenario.graphs.scale_free import SCALE_FREE, ScaleFreeParams
from townsquare.scenario.graphs.small_world import SMALL_WORLD


def draws(seed: int = 1) -> StageDraws:
    return Draws(seed, 0)(Stage.GRAPH)


def scale_free(n: int, m: int, seed: int = 1) -> Edges:
    return SCALE_FREE.build(n, ScaleFreeParams(m=m), draws(seed))


def random_graph(n: int, seed: int = 1, **params: float) -> Edges:
    return RANDOM.build(n, RandomParams(**params), draws(seed))


def check_simple(edges: Edges, n: int) -> None:
    """No follow of oneself, none twice, all among the agents there are."""
    assert edges.follower.dtype == edges.followed.dtype == np.int32
    assert edges.follower.shape == edges.followed.shape
    if not edges.follower.size:
        return
    assert min(edges.follower.min(), edges.followed.min()) >= 0
    assert max(edges.follower.max(), edges.followed.max()) < n
    assert np.all(edges.follower != edges.followed)
    pairs = edges.follower.astype(np.int64) * n + edges.followed
    assert np.unique(pairs).size == pairs.size


def test_the_registry_has_them() -> None:
    members = {name: registry.get("graph", name) for name in registry.names("graph")}
    assert all(isinstance(kind, GraphKind) and kind.name == name for name, kind in members.items())
    assert members == {
        "scale_free": SCALE_FREE, "random": RANDOM, "small_world": SMALL_WORLD, "block": BLOCK,
        "communities": COMMUNITIES, "file": FILE, "given": GIVEN,
    }  # fmt: skip


# --- scale-free --------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(n=st.integers(1, 80), m=st.integers(1, 12), seed=st.integers(0, 2**40))
def test_scale_free_is_simple_and_everyone_follows_m(n: int, m: int, seed: int) -> None:
    edges = scale_free(n, m, seed)
    check_simple(edges, n)
    assert np.bincount(edges.follower, minlength=n).tolist() == [min(m, n - 1)] * n


def test_few_agents_follow_everyone() -> None:
    edges = scale_free(4, 10)
    assert sorted(zip(*(part.tolist() for part in edges), strict=True)) == [
        (a, b) for a in range(4) for b in range(4) if a != b
    ]


def test_newer_agents_follow_older_ones_only() -> None:
    edges = scale_free(500, 3)
    late = edges.follower > 3
    assert np.all(edges.followed[late] < edges.follower[late])


def scale_free_oracle(n: int, m: int, draw: StageDraws) -> list[list[int]]:
    """Preferential attachment by a list of slots: an agent once for each end of a follow that is its own."""
    followed = [[other for other in range(m + 1) if other != agent] for agent in range(m + 1)]
    slots = [slot for agent in range(m + 1) for slot in [*followed[agent], *[agent] * m]]
    for agent in range(m + 1, n):
        chosen: list[int] = []
        tried = 0
        while len(chosen) < m:
            u = uniform_oracle(draw.base("follow", lasting=True), np.array([agent]), np.array([tried], U64))[0]
            tried += 1
            other = slots[int(u * len(slots))]
            if other not in chosen:
                chosen.append(other)
        followed.append(chosen)
        slots += [*chosen, *[agent] * m]
    return followed


@pytest.mark.parametrize(("n", "m"), [(40, 1), (60, 3), (50, 10)])
def test_scale_free_agrees_with_the_literal_form(n: int, m: int) -> None:
    edges = scale_free(n, m, seed=5)
    assert edges.followed.reshape(n, m).tolist() == scale_free_oracle(n, m, draws(5))


@pytest.mark.parametrize("m", [1, 2, 3])
def test_in_degrees_have_a_power_law_tail(m: int) -> None:
    n = 100_000
    in_degree = np.bincount(scale_free(n, m).followed, minlength=n)
    degree = in_degree + m
    tail = degree[degree >= 20]
    exponent = 1 + tail.size / np.log(tail / 19.5).sum()  # Clauset, Shalizi and Newman 2009, equation 3.7
    assert exponent == pytest.approx(3, abs=0.2)
    assert (in_degree == 0).mean() == pytest.approx(2 / (m + 2), abs=0.01)


def test_an_agent_more_changes_nobody_before() -> None:
    small, large = scale_free(200, 5), scale_free(201, 5)
    assert np.array_equal(small.followed, large.followed[: small.followed.size])


@pytest.mark.parametrize(
    "build", [lambda seed: scale_free(300, 5, seed), lambda seed: random_graph(300, seed, mean_followed=5)]
)
def test_a_graph_is_a_function_of_its_seed(build) -> None:
    first, again, other = build(3), build(3), build(4)
    assert np.array_equal(first.followed, again.followed)
    assert np.array_equal(first.follower, again.follower)
    assert not np.array_equal(first.followed, other.followed)


# --- random ------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(n=st.integers(1, 60), p=st.floats(0, 1), seed=st.integers(0, 2**40))
def test_random_is_simple(n: int, p: float, seed: int) -> None:
    check_simple(random_graph(n, seed, p=p), n)


def test_random_has_the_mean_and_the_spread_of_a_binomial() -> None:
    n, p = 20_000, 0.001
    edges = random_graph(n, p=p)
    for degree in (np.bincount(edges.follower, minlength=n), np.bincount(edges.followed, minlength=n)):
        assert degree.mean() == pytest.approx(p * (n - 1), rel=0.02)
        assert degree.var() == pytest.approx(p * (1 - p) * (n - 1), rel=0.05)


def test_random_by_mean_is_random_by_chance() -> None:
    by_mean, by_chance = random_graph(101, mean_followed=10), random_graph(101, p=0.1)
    assert np.array_equal(by_mean.followed, by_chance.followed)


@pytest.mark.parametrize(("p", "follows"), [(0.0, 0), (1.0, 30 * 29)])
def test_random_at_the_ends(p: float, follows: int) -> None:
    assert random_graph(30, p=p).follower.size == follows


def test_more_followed_than_agents_is_everyone() -> None:
    assert random_graph(5, mean_followed=100).follower.size == 20


@pytest.mark.parametrize(("kind", "params"), [(RANDOM, RandomParams(p=0.5)), (SCALE_FREE, ScaleFreeParams(m=1000))])
def test_a_graph_too_large_is_refused(kind: GraphKind, params) -> None:
    with raises_error(SettingError, allowed="at most 2,147,483,647 follows"):
        kind.build(100_000_000, params, draws())


# --- newcomers ---------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(
    in_degree=st.lists(st.integers(-1, 40), min_size=0, max_size=30),
    m=st.integers(0, 12),
    seed=st.integers(0, 2**40),
)
def test_newcomers_follow_m_that_may_be_followed(in_degree: list[int], m: int, seed: int) -> None:
    n = len(in_degree)
    new = np.arange(n, n + 3)
    edges = attach(new, np.array(in_degree, np.int64), m, draws(seed))
    may = [agent for agent, degree in enumerate(in_degree) if degree >= 0]
    each = min(m, len(may))
    assert edges.follower.tolist() == np.repeat(new, each).tolist()
    assert set(edges.followed.tolist()) <= set(may)
    check_simple(edges, n + 3)


def test_a_newcomer_does_not_depend_on_the_others() -> None:
    in_degree = np.arange(50)
    together = attach(np.array([50, 51, 52]), in_degree, 4, draws())
    alone = attach(np.array([51]), in_degree, 4, draws())
    assert together.followed[4:8].tolist() == alone.followed.tolist()


def attach_oracle(new: int, in_degree: list[int], m: int, draw: StageDraws) -> list[int]:
    """Draw without replacement, by walking through the weights that are left."""
    weight = [degree + 1 for degree in in_degree]
    chosen: list[int] = []
    for q in range(m):
        u = uniform_oracle(draw.base("attach", lasting=True), np.array([new]), np.array([q], U64))[0]
        spot = int(u * sum(weight))
        ends = np.cumsum(weight).tolist()
        chosen.append(next(agent for agent, end in enumerate(ends) if spot < end))
        weight[chosen[-1]] = 0
    return chosen


@settings(deadline=None, max_examples=60)
@given(in_degree=st.lists(st.integers(0, 30), min_size=8, max_size=20), seed=st.integers(0, 2**40))
def test_attach_agrees_with_the_literal_form(in_degree: list[int], seed: int) -> None:
    new = len(in_degree)
    edges = attach(np.array([new]), np.array(in_degree), 6, draws(seed))
    assert edges.followed.tolist() == attach_oracle(new, in_degree, 6, draws(seed))


def test_followers_attract_newcomers() -> None:
    in_degree = np.array([0, 1, 3, 15])
    new = np.arange(4, 40_004)
    first = attach(new, in_degree, 1, draws()).followed
    assert np.bincount(first) / new.size == pytest.approx((in_degree + 1) / 23, abs=0.01)


# --- edge lists --------------------------------------------------------------------------------------------


def from_file(folder: Path, text: str, n: int = 4, names: tuple[str, ...] = ()) -> list[tuple[int, int]]:
    (folder / "edges.csv").write_text(text, encoding="utf-8")
    edges = FILE.build(n, FileParams(path="edges.csv"), draws(), folder=folder, names=names)
    return list(zip(edges.follower.tolist(), edges.followed.tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("follower,followed\n0,1\n2,0\n", ()),
        ("0,1\n2,0\n", ()),
        ("# a comment\n0\t1\n\n2\t0\n", ()),
        ("0  1\n2 0", ()),
        ("since;followed;Follower\n2020;1;0\n2021;0;2\n", ()),
        ("follower,followed\nann,bo\ncy,ann\n", ("ann", "bo", "cy", "di")),
        ('follower,followed\nann,"bo"\n2,ann\n', ("ann", "bo", "cy", "di")),
        ("follower,followed\nx,7\nz,x\n", ()),
    ],
)
def test_an_edge_list_is_read(tmp_path: Path, text: str, names: tuple[str, ...]) -> None:
    assert from_file(tmp_path, text, 4, names) == [(0, 1), (2, 0)]


def test_a_header_alone_is_a_graph_without_follows(tmp_path: Path) -> None:
    assert from_file(tmp_path, "follower,followed\n") == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", {"got": "no follows"}),
        ("a,b\nc,d\n", {"allowed": "header with the columns follower and followed"}),
        ("folower,followed\n0,1\n", {"where": "line 1", "got": "folower, followed"}),
        ("0,1\n2,9\n", {"where": "line 2, column 'followed'", "got": "'9'", "allowed": "a row number from 0 to 3"}),
        ("0,1\n-1,2\n", {"where": "line 2, column 'follower'", "got": "'-1'"}),
        ("0,1\n1.5,2\n", {"got": "'1.5'"}),
        ("0,1\n9999999999999999999,2\n", {"allowed": "a row number from 0 to 3"}),
        ("0,1\n1\n", {"where": "line 2", "got": "1 cells", "allowed": "2 cells"}),
        ("0,1\n2,2\n", {"where": "line 2", "got": "an agent that follows itself"}),
        ("0,1\n1,2\n0,1\n", {"where": "line 3", "got": "the follow of line 1 again"}),
        ("follower,followed\na,b\nc,d\ne,a\n", {"allowed": "at most 4 different names"}),
        ("follower,followed\na,\n", {"where": "column 'followed'", "got": "''"}),
    ],
)
def test_a_bad_edge_list_names_the_line(tmp_path: Path, text: str, says: dict[str, str]) -> None:
    with raises_error(DataError, **says) as error:
        from_file(tmp_path, text)
    assert "edges.csv" in str(error.value)


def test_an_unknown_name_has_a_hint(tmp_path: Path) -> None:
    with raises_error(DataError, do="did you mean 'ann'"):
        from_file(tmp_path, "follower,followed\nanne,bo\n", 4, ("ann", "bo", "cy", "di"))


def test_a_missing_edge_list(tmp_path: Path) -> None:
    with raises_error(DataError, got="nothing at"):
        FILE.build(4, FileParams(path="nowhere.csv"), draws(), folder=tmp_path)
