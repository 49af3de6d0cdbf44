"""Networks against networkx; null models against planted structure."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import polars as pl
import pytest

from handwritten_runs import FrameRun, settings
from townsquare.analysis import network
from townsquare.analysis.follow_graph import against, follow_graph, rewired
from townsquare.analysis.homophily import communities, echo_chambers, equal_ends, homophily
from townsquare.analysis.network import by_size, centralities, network_over_time
from townsquare.core.enums import AgentKind

N = 60


def run_of(edges: np.ndarray, group: np.ndarray, stance: np.ndarray, sources: int = 0) -> FrameRun:
    people = [{"agent": at, "kind": AgentKind.PERSON if at >= sources else AgentKind.SOURCE} for at in range(N)]
    return FrameRun(
        {
            "agents": people,
            "follows": [{"step": 0, "follower": a, "followed": b, "change": 1} for a, b in edges.tolist()],
            "traits": [{"agent": at, "trait": 0, "value": int(group[at])} for at in range(N)],
            "trait_values": [
                {"trait": 0, "value": value, "label": "color", "answer": answer}
                for value, answer in enumerate(("red", "blue"))
            ],
            "propositions": [{"proposition": 0, "name": "tax", "text": "Raise it"}],
            "beliefs": [
                {"step": step, "agent": at, "stance": float(stance[at]), "confidence": 0.5}
                for step in range(2)
                for at in range(N)
            ],
        },
        settings(),
        last_step=1,
    )


def random_edges(seed: int, chance: np.ndarray) -> np.ndarray:
    drawn = np.random.default_rng(seed).random((N, N)) < chance
    np.fill_diagonal(drawn, False)
    return np.argwhere(drawn)


GROUP = np.arange(N) % 2
STANCE = np.where(GROUP == 0, 0.5, -0.5) + np.random.default_rng(0).normal(0, 0.1, N)
SAME = GROUP[:, None] == GROUP[None, :]
CHANCE = random_edges(1, np.full((N, N), 0.1))
CAMPS = random_edges(2, np.where(SAME, 0.18, 0.02))


def as_networkx(edges: np.ndarray) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(N))
    graph.add_edges_from(edges.tolist())
    return graph


def test_measures_are_those_of_networkx() -> None:
    graph = as_networkx(CAMPS)
    frame = network_over_time(run_of(CAMPS, GROUP, STANCE)).filter(pl.col("step") == 1)
    found = dict(frame.select("measure", "value").iter_rows())
    two = [(a, c) for a, b in graph.edges for c in graph.successors(b) if a != c]
    assert found["reciprocity"] == pytest.approx(nx.reciprocity(graph))
    assert found["triadic_closure"] == pytest.approx(np.mean([graph.has_edge(a, c) for a, c in two]))
    assert found["density"] == pytest.approx(nx.density(graph))
    assert found["degree_assortativity"] == pytest.approx(
        nx.degree_pearson_correlation_coefficient(graph, x="in", y="in")
    )
    assert found["follows"] == len(CAMPS)


def test_centralities_are_those_of_networkx() -> None:
    graph = as_networkx(CAMPS)
    found = centralities(run_of(CAMPS, GROUP, STANCE))
    nodes = range(N)
    pagerank, between = nx.pagerank(graph, tol=1e-12), nx.betweenness_centrality(graph)
    harmonic = nx.harmonic_centrality(graph)
    assert found["pagerank"].to_list() == pytest.approx([pagerank[at] for at in nodes], abs=1e-8)
    assert found["betweenness"].to_list() == pytest.approx([between[at] for at in nodes])
    assert found["harmonic"].to_list() == pytest.approx([harmonic[at] / (N - 1) for at in nodes])
    assert found["followers"].to_list() == [graph.in_degree(at) for at in nodes]


def test_a_sample_of_all_nodes_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(CAMPS, GROUP, STANCE)
    exact = centralities(run)
    monkeypatch.setattr(network, "MOST_EXACT", 1)
    monkeypatch.setattr(network, "MOST_CHAINS", 500)
    sampled = centralities(run)
    for column in ("betweenness", "harmonic"):
        assert sampled[column].to_list() == pytest.approx(exact[column].to_list())
    graph = follow_graph(run).directed()
    some = network._two_path_closure(graph)
    monkeypatch.undo()
    assert some == pytest.approx(network._two_path_closure(graph), abs=0.1)


def test_null_graphs_keep_every_degree_and_change_the_rest() -> None:
    graph = follow_graph(run_of(CAMPS, GROUP, STANCE)).directed()
    for one in rewired(graph, 5):
        assert one.indegree() == graph.indegree()
        assert one.outdegree() == graph.outdegree()
        assert one.is_simple()
        assert len(set(one.get_edgelist()) & set(graph.get_edgelist())) < 0.5 * graph.ecount()


def test_null_graphs_are_the_same_every_time() -> None:
    graph = follow_graph(run_of(CAMPS, GROUP, STANCE)).directed()
    edges = [[one.get_edgelist() for one in rewired(graph, 3)] for _ in range(2)]
    assert edges[0] == edges[1]


@pytest.mark.parametrize("edges", [CHANCE, CAMPS])
def test_assortativity_is_that_of_networkx(edges: np.ndarray) -> None:
    graph = as_networkx(edges)
    nx.set_node_attributes(graph, dict(enumerate(GROUP.tolist())), "color")
    nx.set_node_attributes(graph, dict(enumerate(STANCE.tolist())), "stance")
    assert equal_ends(*GROUP[edges].T)[1] == pytest.approx(nx.attribute_assortativity_coefficient(graph, "color"))
    found = homophily(run_of(edges, GROUP, STANCE)).filter(pl.col("step") == 1)
    values = {(row["attribute"], row["measure"]): row["value"] for row in found.to_dicts()}
    assert values["color", "assortativity"] == pytest.approx(equal_ends(*GROUP[edges].T)[1])
    assert values["stance:tax", "assortativity"] == pytest.approx(nx.numeric_assortativity_coefficient(graph, "stance"))


def test_homophily_is_found_where_it_is_and_not_where_it_is_not() -> None:
    for edges, planted in ((CAMPS, True), (CHANCE, False)):
        found = homophily(run_of(edges, GROUP, STANCE)).filter((pl.col("step") == 1) & (pl.col("measure") == "same"))
        row = found.row(0, named=True)
        assert (row["p"] < 0.05) == planted
        assert row["low"] < 0.6, "chance alone gives about a half"


def test_sources_have_no_traits_to_share() -> None:
    run = run_of(CAMPS, GROUP, STANCE, sources=10)
    found = homophily(run)
    assert found["n"].max() == sum(a >= 10 and b >= 10 for a, b in CAMPS.tolist())


def test_neighbors_and_sides() -> None:
    frame = echo_chambers(run_of(CAMPS, GROUP, STANCE)).filter(pl.col("step") == 1)
    rows = {row["measure"]: row for row in frame.to_dicts()}
    follower, followed = CAMPS[:, 0], CAMPS[:, 1]
    near = np.array([STANCE[followed[follower == at]].mean() for at in np.unique(follower)])
    assert rows["neighbors"]["value"] == pytest.approx(np.corrcoef(STANCE[np.unique(follower)], near)[0, 1])
    same = (np.sign(STANCE[follower]) == np.sign(STANCE[followed])).mean()
    assert rows["own_side"]["value"] == pytest.approx(same)
    assert rows["own_side"]["null"] == pytest.approx(0.5, abs=0.05)


def test_congenial_exposures() -> None:
    run = run_of(CAMPS, GROUP, STANCE)
    seen = [{"step": 1, "agent": at, "root": at % 3, "post": at % 3} for at in range(N)]
    said = [{"post": 0, "stance": 1.0, "strength": 0.5}, {"post": 1, "stance": -1.0, "strength": 0.5}]
    tables = {**run.tables, "exposures": seen, "post_stances": said}
    found = echo_chambers(FrameRun(tables, run.settings, 1)).filter(pl.col("measure") == "congenial").row(0, named=True)
    held = [(at, 1.0 if at % 3 == 0 else -1.0) for at in range(N) if at % 3 < 2]
    assert found["n"] == len(held)
    assert found["value"] == pytest.approx(np.mean([np.sign(STANCE[at]) == says for at, says in held]))


def test_communities_are_the_camps() -> None:
    found = communities(run_of(CAMPS, GROUP, STANCE)).filter(pl.col("measure") == "stance:tax")
    assert sorted(np.sign(found["value"].to_list()[:2])) == [-1, 1]
    assert by_size([3, 3, 1]).tolist() == [0, 0, 1]


def test_a_value_beside_its_null() -> None:
    center, low, high, z, p = against(3.0, [0.0, 1.0, -1.0, 0.5, -0.5])
    assert (center, p) == (0.0, pytest.approx(1 / 6))
    assert low < center < high < 3.0 < z * 10
    assert all(math.isnan(value) for value in against(1.0, []))
