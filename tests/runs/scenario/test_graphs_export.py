"""The follow graph after a step, exported for other tools and read back."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from raised_errors import raises_error
from townsquare.analysis.follow_graph import FORMATS, GraphAt, graph_at, write_graph
from townsquare.core.draws import Draws, Stage
from townsquare.core.errors import SettingError
from townsquare.record.run import Run
from townsquare.scenario.graphs.file import FILE, FileParams
from townsquare.scenario.settings import resolve_for
from townsquare.simulation.run import simulate

AGENTS = 40


@pytest.fixture(scope="module")
def run() -> Run:
    """A run in which people follow, unfollow and join."""
    sets = ["growth.max_per_step=2", "policy.follow.base=0", "policy.unfollow.base=0", "graph.m=3"]
    return simulate(resolve_for("synthetic:30", None, sets, agents=AGENTS, steps=4))


def followed_by_hand(run: Run, step: int) -> set[tuple[int, int]]:
    """Walk the events one by one."""
    standing: set[tuple[int, int]] = set()
    for at, follower, followed, change in run.table("follows").select("step", "follower", "followed", "change").rows():
        if at <= step:
            (standing.add if change > 0 else standing.discard)((follower, followed))
    return standing


@pytest.mark.parametrize("step", [0, 2, 4])
def test_it_is_what_the_events_leave(run: Run, step: int) -> None:
    graph = graph_at(run, step)
    pairs = set(graph.follows.select("follower", "followed").rows())
    assert pairs == followed_by_hand(run, step)
    assert graph.nodes["followers"].sum() == graph.nodes["followed"].sum() == len(pairs)
    agents = run.table("agents").filter(pl.col("born") <= step)
    assert graph.nodes["agent"].to_list() == sorted(agents["agent"])


def test_the_run_has_what_this_is_about(run: Run) -> None:
    events = run.table("follows")
    assert {1, -1} == set(events.filter(pl.col("step") > 0)["change"])
    assert run.table("agents").filter(pl.col("born") > 0).height


def test_nodes_have_the_stance_of_that_step_and_their_traits(run: Run) -> None:
    nodes = graph_at(run, 2).nodes
    beliefs = run.table("beliefs", (2, 2))
    persons = nodes.filter(pl.col("kind") == "person")
    assert persons["stance:p0"].to_list() == beliefs.sort("agent")["stance"].to_list()
    assert persons["confidence:p0"].null_count() == persons["age"].null_count() == 0
    sources = nodes.filter(pl.col("kind") == "source")
    assert sources["name"].str.starts_with("Made source").all()
    assert sources["stance:p0"].null_count() == sources["gender"].null_count() == sources.height


def test_the_last_step_is_the_default(run: Run) -> None:
    assert_frame_equal(graph_at(run).follows, graph_at(run, 4).follows)
    with raises_error(SettingError, where="step", got="5", allowed="0 to 4"):
        graph_at(run, 5)


@pytest.mark.parametrize(("format", "read"), [("graphml", nx.read_graphml), ("gexf", nx.read_gexf)])
def test_networkx_reads_it(run: Run, tmp_path: Path, format: str, read) -> None:
    graph = graph_at(run, 3)
    (path,) = write_graph(graph, tmp_path / f"graph.{format}", format)
    found = read(path)
    assert found.is_directed()
    assert {(int(a), int(b)) for a, b in found.edges()} == followed_by_hand(run, 3)
    one = found.nodes["7"]
    assert one["stance:p0"] == pytest.approx(graph.nodes["stance:p0"][7])
    assert (one["label"], one["kind"]) == ("7", "person")
    assert one["age"] == graph.nodes["age"][7]


def test_csv_is_two_tables(run: Run, tmp_path: Path) -> None:
    graph = graph_at(run, 3)
    edges, nodes = write_graph(graph, tmp_path / "graph.csv", "csv")
    assert nodes.name == "graph-nodes.csv"
    assert pl.read_csv(edges).drop("followed_kind").rows() == graph.follows.rows()
    assert pl.read_csv(nodes).height == graph.nodes.height


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("audience", ["everyone", "followers"])
def test_an_exported_graph_can_start_a_run(run: Run, tmp_path: Path, format: str, audience: str) -> None:
    """Follows of sources are not read: the audience decides them."""
    if audience == "followers":
        run = simulate(resolve_for("health-rumor", None, ["graph.m=3"], agents=AGENTS, steps=1))
    follows = followed_by_hand(run, 0)
    assert (max(followed for _, followed in follows) >= AGENTS) == (audience == "followers")
    path = write_graph(graph_at(run, 0), tmp_path / f"start.{format}", format)[0]
    edges = FILE.build(AGENTS, FileParams(path=str(path)), Draws(1, 0)(Stage.GRAPH))
    read = set(zip(edges.follower.tolist(), edges.followed.tolist(), strict=True))
    assert read == {pair for pair in follows if pair[1] < AGENTS}


def test_names_cannot_break_the_file(tmp_path: Path) -> None:
    hostile = '</node><!-- ]]> & "quotes" \x00\x1b[31m \u202e'
    nodes = pl.DataFrame({"agent": [0, 1], "name": [hostile, ""], "followers": [1, 0]})
    graph = GraphAt(0, nodes, pl.DataFrame({"follower": [1], "followed": [0], "since": [0]}))
    for format, read in (("graphml", nx.read_graphml), ("gexf", nx.read_gexf)):
        (path,) = write_graph(graph, tmp_path / f"hostile.{format}", format)
        found = read(path)
        assert sorted(found.nodes) == ["0", "1"]
        assert found.nodes["0"]["label"].startswith('</node><!-- ]]> & "quotes"')


def test_another_format_has_a_hint(run: Run, tmp_path: Path) -> None:
    with raises_error(SettingError, do="did you mean 'graphml'"):
        write_graph(graph_at(run), tmp_path / "graph", "graphlm")
