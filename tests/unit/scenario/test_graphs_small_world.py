"""Watts–Strogatz graphs: the ring, the follows that are turned, and the literal form."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from raised_errors import raises_error
from townsquare.core.draws import Draws, Stage, StageDraws, uniform_oracle
from townsquare.core.errors import SettingError
from townsquare.scenario.graphs.contract import Edges
from townsquare.scenario.graphs.small_world import SMALL_WORLD, SmallWorldParams


def draws(seed: int = 1) -> StageDraws:
    return Draws(seed, 0)(Stage.GRAPH)


def build(n: int, k: int = 4, p: float = 0.1, seed: int = 1) -> Edges:
    return SMALL_WORLD.build(n, SmallWorldParams(k=k, p=p), draws(seed))


def rows(edges: Edges, n: int) -> list[list[int]]:
    return edges.followed.reshape(n, -1).tolist()


def oracle(n: int, k: int, p: float, draw: StageDraws) -> list[list[int]]:
    """The ring, then each follow in its turn, one by one."""

    def u(purpose: str, agent: int, key: int) -> float:
        base = draw.base(purpose, lasting=True)
        return float(uniform_oracle(base, np.array([agent]), np.array([key], np.uint64))[0])

    out = []
    for i in range(n):
        row = [other % n for step in range(1, k // 2 + 1) for other in (i + step, i - step)]
        for q in range(k):
            if u("turn", i, q) >= p:
                continue
            tried = 0
            while (drawn := int(u("target", i, (q << 32) + tried) * n)) == i or drawn in row:
                tried += 1
            row[q] = drawn
        out.append(row)
    return out


@settings(deadline=None, max_examples=40)
@given(n=st.integers(1, 60), half=st.integers(1, 6), p=st.floats(0, 1), seed=st.integers(0, 2**40))
def test_everyone_follows_k_others_once(n: int, half: int, p: float, seed: int) -> None:
    edges = build(n, 2 * half, p, seed)
    assert edges.followed.dtype == edges.follower.dtype == np.int32
    assert np.bincount(edges.follower, minlength=n).tolist() == [min(2 * half, n - 1)] * n
    assert all(len({*row, i}) == len(row) + 1 for i, row in enumerate(rows(edges, n)))
    assert not edges.followed.size or 0 <= edges.followed.min() <= edges.followed.max() < n


@pytest.mark.parametrize(("n", "k", "p"), [(30, 4, 0.3), (13, 10, 1.0), (25, 2, 0.0)])
def test_it_agrees_with_the_literal_form(n: int, k: int, p: float) -> None:
    assert rows(build(n, k, p, seed=5), n) == oracle(n, k, p, draws(5))


def test_without_turning_it_is_the_ring_of_networkx() -> None:
    edges = build(40, 6, 0.0)
    ring = nx.watts_strogatz_graph(40, 6, 0.0)
    both_ways = {pair for a, b in ring.edges() for pair in ((a, b), (b, a))}
    assert set(zip(edges.follower.tolist(), edges.followed.tolist(), strict=True)) == both_ways


def test_the_share_of_turned_follows_is_p() -> None:
    n, k, p = 20_000, 10, 0.3
    edges = build(n, k, p)
    away = np.abs(edges.follower.astype(int) - edges.followed)
    far = np.minimum(away, n - away) > k // 2
    assert far.mean() == pytest.approx(p, abs=0.005)


def test_few_turned_follows_bring_agents_near_and_leave_neighborhoods() -> None:
    """What the name says: at p = 0.1 paths are short and clustering is still most of the ring's."""

    def measures(p: float) -> tuple[float, float]:
        edges = build(400, 10, p)
        graph = nx.DiGraph(zip(edges.follower.tolist(), edges.followed.tolist(), strict=True))
        return nx.average_shortest_path_length(graph), nx.average_clustering(graph)

    ring, some, random = (measures(p) for p in (0.0, 0.1, 1.0))
    assert ring[0] > 3 * some[0] > 3 * random[0]
    assert ring[1] == pytest.approx(2 / 3, abs=0.01)  # 3(k - 2) / 4(k - 1)
    assert some[1] > 0.6 * ring[1] > 5 * random[1]


def test_a_graph_is_a_function_of_its_seed() -> None:
    first, again, other = build(200, 6, 0.5, 3), build(200, 6, 0.5, 3), build(200, 6, 0.5, 4)
    assert np.array_equal(first.followed, again.followed)
    assert not np.array_equal(first.followed, other.followed)


def test_k_is_even_and_bounded() -> None:
    with pytest.raises(ValidationError, match="multiple of 2"):
        SmallWorldParams(k=5)
    with raises_error(SettingError, allowed="at most 2,147,483,647 follows"):
        SMALL_WORLD.build(200_000_000, SmallWorldParams(k=1000), draws())
    assert SMALL_WORLD.follows_at_birth(SmallWorldParams(k=6), 100) == 6
