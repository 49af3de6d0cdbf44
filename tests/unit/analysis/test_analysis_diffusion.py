"""Cascades against networkx, and growth, levels and spread on runs written by hand."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import polars as pl
import pytest
import scipy

from handwritten_runs import FrameRun, injected, settings, written
from townsquare.analysis.diffusion import (
    cascade_growth,
    cascades,
    depths,
    diffusion_by_veracity,
    diffusion_tests,
    spread_metrics,
    tree_shapes,
    veracity_tests,
)
from townsquare.analysis.engagement import gaps
from townsquare.analysis.engagement_time import engagement_gaps, engagement_levels, engagement_rates
from townsquare.core.actions import ActionKind
from townsquare.core.enums import PostKind, Veracity


@pytest.mark.parametrize("seed", range(6))
def test_shapes_of_random_forests(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 60
    parent = np.array([-1 if rng.random() < 0.1 else rng.integers(0, at) for at in range(1, n)])
    parent = np.r_[-1, parent]
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from((at, int(above)) for at, above in enumerate(parent) if above >= 0)
    found = tree_shapes(parent)
    for at, root in enumerate(found["root"].astype(int)):
        tree = graph.subgraph(nx.node_connected_component(graph, root))
        far = nx.single_source_shortest_path_length(tree, root)
        size = tree.number_of_nodes()
        assert found["size"][at] == size
        assert found["depth"][at] == max(far.values())
        assert found["breadth"][at] == max(np.bincount(list(far.values())))
        if size > 1:
            assert found["virality"][at] == pytest.approx(2 * nx.wiener_index(tree) / (size * (size - 1)))
        else:
            assert math.isnan(found["virality"][at])
        assert {node: depths(parent)[node] for node in tree} == far


def shared(post: int, author: int, root: int, parent: int, step: int) -> dict[str, object]:
    return written(post, PostKind.SHARE, author, step, root=root, parent=parent)


def shown(step: int, agent: int, root: int, *, first: bool = True) -> dict[str, object]:
    return {"step": step, "agent": agent, "post": root, "root": root, "first_seen": first, "under": -1}


def liked(step: int, agent: int, target: int) -> dict[str, object]:
    return {"step": step, "agent": agent, "kind": ActionKind.LIKE, "target": target}


POSTS = [
    injected(0, Veracity.TRUE),
    injected(1, Veracity.FALSE),
    shared(2, 6, 1, 1, 1),
    shared(3, 7, 1, 2, 2),
    shared(4, 8, 1, 1, 3),
    written(5, PostKind.COMMENT, 9, 1, parent=1),
]
RUN = FrameRun(
    {
        "posts": POSTS,
        "agents": [{"agent": at} for at in range(10)],
        "exposures": [
            shown(1, 4, 1),
            shown(1, 5, 1),
            shown(2, 6, 1),
            shown(3, 7, 1),
            shown(2, 4, 0),
            shown(2, 4, 1, first=False),
        ],
        "actions": [liked(1, 4, 1), liked(2, 5, 1), liked(2, 4, 0)],
        "steps": [{"step": step} for step in range(4)],
    },
    settings(),
    last_step=3,
)


def test_a_cascade_is_a_root_and_its_shares() -> None:
    rows = {row["root"]: row for row in cascades(RUN).to_dicts()}
    assert set(rows) == {0, 1}, "comments are no part of it"
    false = rows[1]
    assert (false["shares"], false["depth"], false["breadth"], false["reach"], false["exposures"]) == (3, 2, 2, 4, 5)
    assert false["structural_virality"] == pytest.approx(10 / 6)  # a path of four nodes
    assert (false["half_reach"], false["lifetime"]) == (0.0, 2.0)
    assert math.isnan(rows[0]["structural_virality"])


def test_growth_counts_only_posts_that_got_so_old() -> None:
    late = FrameRun({**RUN.tables, "posts": [*POSTS, injected(6, Veracity.FALSE, step=3)]}, settings(), last_step=3)
    found = cascade_growth(late).filter((pl.col("veracity") == "false") & (pl.col("measure") == "shares"))
    assert found["n"].to_list() == [2, 1, 1]
    assert found["value"].to_list() == [0.5, 2.0, 3.0]


def test_differences_by_veracity_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    n = 40
    frame = cascades(RUN).head(0)
    rows = pl.DataFrame(
        {
            name: rng.poisson(5, n) if kind.is_integer() else rng.random(n)
            for name, kind in frame.schema.items()
            if kind.is_numeric()
        }
    ).with_columns(veracity=pl.Series(["true"] * 25 + ["false"] * 15), injected=pl.lit(True))
    found = veracity_tests(rows).filter(pl.col("measure") == "shares").row(0, named=True)
    true, false = (rows.filter(pl.col("veracity") == word)["shares"].to_numpy() for word in ("true", "false"))
    assert found["value"] == pytest.approx(false.mean() - true.mean())
    assert found["p_welch"] == pytest.approx(scipy.stats.ttest_ind(false, true, equal_var=False).pvalue)
    assert found["p_rank"] == pytest.approx(scipy.stats.mannwhitneyu(false, true).pvalue)
    assert found["p_ks"] == pytest.approx(scipy.stats.ks_2samp(false, true).pvalue)
    assert found["p_corrected"] >= found["p_rank"]


def test_each_class_has_each_measure() -> None:
    found = diffusion_by_veracity(RUN)
    assert found.height == 8 * 3
    assert diffusion_tests(RUN).height == 8


def test_spread_is_of_distinct_agents_so_far() -> None:
    found = spread_metrics(RUN).filter(pl.col("root") == 1)
    assert found["views"].to_list() == [2, 3, 4]
    assert found["num_likes"].to_list() == [1, 2, 2]
    assert found["diffusion_depth"].to_list() == [1, 2, 2]


def test_levels_are_means_over_posts() -> None:
    of_false = engagement_levels(RUN).filter(pl.col("veracity") == "false")
    for name in ("engagement", "engagement_mosaic"):
        assert of_false.filter(pl.col("measure") == name)["value"].to_list() == [1.0, 2.0, 2.0]
    assert engagement_gaps(RUN)["gap"].to_list() == [-1.0, -1.0, -1.0]
    assert engagement_gaps(RUN)["cumulative_gap"].to_list() == [-1.0, -2.0, -3.0]


def test_the_gap_grows_with_volume_and_the_ratio_does_not() -> None:
    levels = pl.DataFrame({"step": [1, 1, 2, 2], "veracity": ["true", "false"] * 2, "level": [2.0, 1.0, 4.0, 1.0]})
    one, double = gaps(levels), gaps(levels.with_columns(pl.col("level") * 2))
    assert (double["cumulative_gap"] == 2 * one["cumulative_gap"]).all()
    assert double["ratio"].to_list() == one["ratio"].to_list() == [2.0, 4.0]


def test_rates_are_per_exposure() -> None:
    found = engagement_rates(RUN).filter((pl.col("veracity") == "false") & (pl.col("measure") == "likes"))
    assert found.select("n", "value").row(0) == (5, 0.4)
