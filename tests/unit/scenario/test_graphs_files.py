"""Follow graphs from GraphML and GEXF: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from raised_errors import raises_error
from townsquare.core.draws import Draws, Stage
from townsquare.core.errors import DataError
from townsquare.scenario.graphs.file import FILE, FileParams

WRITE = {".graphml": nx.write_graphml, ".gexf": nx.write_gexf}
KINDS = pytest.mark.parametrize("ending", list(WRITE))
PEOPLE = ("ann", "bo", "cy", "di")


def read(path: Path, n: int = 4, names: tuple[str, ...] = ()) -> list[tuple[int, int]]:
    edges = FILE.build(n, FileParams(path=path.name), Draws(1, 0)(Stage.GRAPH), folder=path.parent, names=names)
    return sorted(zip(edges.follower.tolist(), edges.followed.tolist(), strict=True))


def written(folder: Path, ending: str, graph: nx.Graph) -> Path:
    path = folder / f"graph{ending}"
    WRITE[ending](graph, path)
    return path


@KINDS
def test_ids_are_names_numbers_or_words_in_order(tmp_path: Path, ending: str) -> None:
    by_name = written(tmp_path, ending, nx.DiGraph([("ann", "bo"), ("cy", "ann")]))
    assert read(by_name, names=PEOPLE) == [(0, 1), (2, 0)]
    by_number = written(tmp_path, ending, nx.DiGraph([(0, 1), (3, 0)]))
    assert read(by_number) == [(0, 1), (3, 0)]
    by_word = nx.DiGraph()
    by_word.add_nodes_from("xyz")
    by_word.add_edge("z", "x")
    assert read(written(tmp_path, ending, by_word)) == [(2, 0)]


@KINDS
def test_a_label_that_is_a_name_goes_before_a_number(tmp_path: Path, ending: str) -> None:
    graph = nx.DiGraph()
    for number, label in enumerate(("cy", "ann", "bo")):
        graph.add_node(number, label=label)
    graph.add_edge(0, 1)
    assert read(written(tmp_path, ending, graph), names=PEOPLE) == [(2, 0)]


@KINDS
def test_an_undirected_edge_is_a_follow_each_way(tmp_path: Path, ending: str) -> None:
    assert read(written(tmp_path, ending, nx.Graph([(0, 1)]))) == [(0, 1), (1, 0)]


@KINDS
def test_a_graph_without_edges(tmp_path: Path, ending: str) -> None:
    graph = nx.DiGraph()
    graph.add_node("0")
    assert read(written(tmp_path, ending, graph)) == []


@KINDS
@pytest.mark.parametrize(
    ("edges", "names", "says"),
    [
        ([(0, 9)], (), {"where": "edge '0' to '9'", "got": "'9'", "allowed": "a row number from 0 to 3"}),
        ([(1, 1)], (), {"where": "edge '1' to '1'", "got": "an agent that follows itself"}),
        ([("anne", "bo")], PEOPLE, {"do": "did you mean 'ann'"}),
        (
            [("a", "b"), ("c", "d"), ("e", "a")],
            (),
            {"where": "node 'e'", "got": "one more node", "allowed": "at most 4 different names"},
        ),
    ],
)
def test_a_bad_graph_names_the_edge(
    tmp_path: Path, ending: str, edges: list, names: tuple, says: dict[str, str]
) -> None:
    path = written(tmp_path, ending, nx.DiGraph(edges))
    with raises_error(DataError, **says) as error:
        read(path, names=names)
    assert path.name in str(error.value)


def test_a_follow_twice(tmp_path: Path) -> None:
    path = written(tmp_path, ".graphml", nx.MultiDiGraph([("0", "1"), ("0", "1")]))
    with raises_error(DataError, got="the follow of '0' to '1' again"):
        read(path)


BOMB = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><graphml>&a;</graphml>'


@KINDS
@pytest.mark.parametrize("text", ["", "no xml", "<graphml>", "<html></html>", "<gexf version='9'></gexf>"])
def test_what_is_no_such_file(tmp_path: Path, ending: str, text: str) -> None:
    path = tmp_path / f"graph{ending}"
    path.write_text(text, encoding="utf-8")
    with raises_error(DataError, got=f"an unreadable {ending[1:]} file"):
        read(path)


@KINDS
def test_definitions_are_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"graph{ending}"
    path.write_text(BOMB, encoding="utf-8")
    with raises_error(DataError, got="DOCTYPE or ENTITY"):
        read(path)
