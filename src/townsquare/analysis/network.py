"""The follow graph: who stands where in it, how closed it is, its communities, against chance and over time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from townsquare.analysis import statistics
from townsquare.analysis.contract import Reads, columns
from townsquare.analysis.follow_graph import (
    FollowGraph,
    against,
    follow_graph,
    measured_steps,
    null_draws,
    rewired,
    seeded,
)

OVER_TIME = columns("step:row measure:str unit:str value null low high z p draws:int")
CENTRALITIES = columns(
    "agent:row kind:str followers:int followed:int pagerank betweenness harmonic core:int community:int"
)
MOST_DRAWS = 30
"""Null graphs at most: communities are sought in each."""
MOST_CHAINS = 300_000
"""Chains of two follows that closure is counted over; of more, those from a sample of accounts."""
MOST_EXACT = 20_000_000
"""Betweenness and harmonic centrality look at nodes × follows; above this, a sample of nodes represents all."""


def _two_path_closure(graph: Any) -> float:
    """Return the share of chains a → b → c of different accounts in which a follows c too.

    Of more chains than ``MOST_CHAINS``, those that start at a sample of accounts with a fixed seed.
    """
    adjacency = graph.get_adjacency_sparse()
    starts = np.arange(graph.vcount())
    chains_from = adjacency @ np.asarray(adjacency.sum(axis=1)).ravel()
    if chains_from.sum() > MOST_CHAINS:
        starts = np.random.default_rng(0).permutation(starts)
        starts = starts[: max(1, int(np.searchsorted(np.cumsum(chains_from[starts]), MOST_CHAINS)))]
    first = adjacency[starts]
    chains = first @ adjacency
    back = float(chains[np.arange(starts.size), starts].sum())
    open_or_closed = float(chains.sum()) - back
    return float(chains.multiply(first).sum()) / open_or_closed if open_or_closed else math.nan


def _degree_correlation(graph: Any) -> float:
    """Return correlation over follows of the followers of either end."""
    return float(graph.assortativity(graph.indegree(), directed=True)) if graph.ecount() > 1 else math.nan


_SHAPE: dict[str, tuple[str, Callable[[Any], float]]] = {
    "reciprocity": ("share of follows", lambda graph: float(graph.reciprocity())),
    "clustering": ("share of open or closed triples", lambda graph: float(graph.transitivity_undirected())),
    "triadic_closure": ("share of two-step chains", _two_path_closure),
    "degree_assortativity": ("correlation", _degree_correlation),
    "modularity": ("modularity", lambda graph: float(_communities(graph).modularity)),
}
_SIZE: dict[str, tuple[str, Callable[[FollowGraph, Any], float]]] = {
    "accounts": ("accounts", lambda follows, graph: float(follows.agents.size)),
    "follows": ("follows", lambda follows, graph: float(follows.follower.size)),
    "density": ("share of ordered pairs", lambda follows, graph: float(graph.density())),
    "largest_component": ("share of accounts", lambda follows, graph: _largest(graph) / max(1, follows.agents.size)),
    "follower_gini": ("0 to 1", lambda follows, graph: statistics.gini(graph.indegree())),
}


def _communities(graph: Any) -> Any:
    """Return communities by the algorithm of Leiden (Traag and others 2019), for modularity, directions left aside."""
    with seeded():
        return graph.as_undirected().community_leiden(objective_function="modularity", n_iterations=2)


def _largest(graph: Any) -> float:
    return float(max(graph.connected_components(mode="weak").sizes(), default=0))


def network_over_time(run: Reads) -> pl.DataFrame:
    """Structure of the follow graph at up to six steps, compared with random graphs of equal degrees.

    Returns
    -------
    DataFrame
        One row per step and measure: ``step`` (int32), ``measure``, ``unit``, ``value``; ``null`` (mean of the null
        graphs), ``low`` and ``high`` (95% of them lie between), ``z`` (distance in their sd), ``p`` (two-sided),
        ``draws`` (how many were drawn; 0 where none were, and what degrees alone decide has none). Measures:
        ``accounts``, ``follows``, ``density``, ``largest_component``, ``follower_gini``; ``reciprocity`` (follows that
        are returned), ``clustering`` (transitivity without directions), ``triadic_closure`` (of chains a → b → c those
        with a → c; of over 300,000 chains, those from a sample of accounts), ``degree_assortativity`` (of numbers of
        followers), ``modularity`` (of Leiden's communities).
        Null graphs are drawn for the last step only.

    Raises
    ------
    MissingExtra
        igraph is not installed.
    """
    steps = measured_steps(run)
    rows: list[tuple[object, ...]] = []
    for step in steps:
        follows = follow_graph(run, step)
        graph = follows.directed()
        for measure, (unit, size) in _SIZE.items():
            value = size(follows, graph) if follows.agents.size else math.nan
            rows.append((step, measure, unit, value, *[math.nan] * 5, 0))
        draws = min(MOST_DRAWS, null_draws(graph.ecount())) if step == steps[-1] else 0
        observed = _shape(graph)
        drawn = [_shape(null_graph) for null_graph in rewired(graph, draws)]
        for measure, (unit, _) in _SHAPE.items():
            null = against(observed[measure], [null_graph[measure] for null_graph in drawn])
            rows.append((step, measure, unit, observed[measure], *null, draws))
    return statistics.tidy(rows, OVER_TIME)


def _shape(graph: Any) -> dict[str, float]:
    if not graph.ecount():
        return dict.fromkeys(_SHAPE, math.nan)
    return {name: measure(graph) for name, (_, measure) in _SHAPE.items()}


def centralities(run: Reads) -> pl.DataFrame:
    """Centralities of each account in the follow graph after the last step.

    Returns
    -------
    DataFrame
        One row per account, by its number: ``agent`` (int32), ``kind``, ``followers`` and ``followed`` (int64),
        ``pagerank`` (sums to 1; attention flows from follower to followed, damping 0.85), ``betweenness`` (share of
        the shortest chains of follows between two others that pass it, 0 to 1), ``harmonic`` (mean of one over the
        steps by which others reach it along follows, 0 to 1), ``core`` (largest k such that it is in a part in which
        all have k links), ``community`` (0 for the largest, as in :func:`communities`). In graphs of over 20 million
        nodes × follows, betweenness and harmonic centrality are estimated from the paths that start at a sample of
        nodes with a fixed seed.

    Raises
    ------
    MissingExtra
        igraph is not installed.
    """
    follows = follow_graph(run)
    graph, n = follows.directed(), follows.agents.size
    if not n:
        return statistics.tidy([], CENTRALITIES)
    betweenness, harmonic = _by_paths(graph, n)
    columns = {
        "agent": follows.agents, "kind": np.where(follows.person, "person", "source"),
        "followers": graph.indegree(), "followed": graph.outdegree(),
        "pagerank": np.round(graph.pagerank(), 12),  # beyond, each call of igraph gives other digits
        "betweenness": betweenness, "harmonic": harmonic, "core": graph.coreness(),
        "community": _community(follows, graph),
    }  # fmt: skip
    return pl.DataFrame(columns, schema=CENTRALITIES)


def _by_paths(graph: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return betweenness as a share of pairs, and harmonic centrality, from all nodes or from a sample."""
    pairs = max(1, (n - 1) * (n - 2))
    if n * graph.ecount() <= MOST_EXACT:
        betweenness = np.asarray(graph.betweenness(), np.float64) / pairs
        return betweenness, np.nan_to_num(np.asarray(graph.harmonic_centrality(mode="in"), np.float64))
    size = min(n, max(100, MOST_EXACT // graph.ecount()))
    chosen = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    part = np.asarray(graph.betweenness(sources=chosen.tolist()), np.float64) * n / chosen.size / pairs
    near = np.zeros(n)
    for start in range(0, chosen.size, 64):
        steps = np.asarray(graph.distances(source=chosen[start : start + 64].tolist(), mode="out"), np.float64)
        near += np.divide(1.0, steps, out=np.zeros_like(steps), where=steps > 0).sum(axis=0)
    return part, near / chosen.size * n / max(1, n - 1)


def by_size(membership: list[int]) -> np.ndarray:
    """Return new numbers of communities, 0 for the largest; ties by the smallest member.

    >>> by_size([4, 7, 7, 2]).tolist()
    [1, 0, 0, 2]
    """
    _, first, inverse, size = np.unique(membership, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -size))
    new_number = np.empty(order.size, np.int64)
    new_number[order] = np.arange(order.size)
    return np.asarray(new_number[inverse])


def community_of(run: Reads) -> pl.DataFrame:
    """Return the community of each account after the last step: ``agent`` and ``community`` (int64, 0 for the largest).

    Raises ``MissingExtra`` if igraph is not installed.
    """
    follows = follow_graph(run)
    graph = follows.directed()
    columns = {"agent": pl.Int32, "community": pl.Int64}
    return pl.DataFrame({"agent": follows.agents, "community": _community(follows, graph)}, schema=columns)


def _community(follows: FollowGraph, graph: Any) -> np.ndarray:
    return by_size(_communities(graph).membership) if graph.ecount() else np.arange(follows.agents.size)
