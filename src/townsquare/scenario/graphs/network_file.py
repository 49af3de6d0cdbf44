"""Follow graphs from GraphML and GEXF, as other tools of network analysis write them; read by networkx.

An edge from ``a`` to ``b`` means that ``a`` follows ``b``; an edge of an undirected graph is a follow each way.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import numpy as np

from townsquare.core import files
from townsquare.core.errors import DataError
from townsquare.core.extras import library
from townsquare.scenario.graphs.agent_rows import SOURCE, AgentRows, check_distinct
from townsquare.scenario.graphs.contract import Edges

KINDS = (".graphml", ".gexf")
# XML can define words that represent files or for gigabytes of text; graphs need none.
_DEFINES = re.compile(r"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)


def read_network(path: Path, n: int, names: Sequence[str] = ()) -> Edges:
    """Return follows among agents 0 to ``n`` - 1 from a ``.graphml`` or ``.gexf`` file.

    Parameters
    ----------
    path : Path
        Its ending says the format. Of the attributes of nodes and edges only labels of nodes and their ``kind`` are
        read: nodes of the kind ``source`` are left out with their follows.
    n : int
        Number of agents.
    names : sequence of str, optional
        Names of the agents, row by row. A node is the agent that its id or its label names, or the row number that
        its id is; where agents have no names and ids are words, nodes are given rows in the order of the file.

    Raises
    ------
    DataError
        No such file format, a node that is no agent, a follow of oneself or twice, with the two ends.
    """
    graph = _parse(path)
    graph.remove_nodes_from([node for node, kind in graph.nodes(data="kind") if kind == SOURCE])
    rows = AgentRows(n, names)
    row_of = {node: _row(rows, node, label, f"{path}, node {node!r}") for node, label in _nodes(graph)}
    pairs = list(_follows(graph))

    def where(i: int) -> str:
        return f"{path}, edge {pairs[i][0]!r} to {pairs[i][1]!r}"

    for i, pair in enumerate(pairs):
        for node in pair:
            if row_of[node] < 0:
                raise DataError(where(i), got=repr(node), allowed=rows.allowed, do=rows.hint(node))
    ends = np.array([(row_of[a], row_of[b]) for a, b in pairs], np.int32).reshape(-1, 2)
    edges = Edges(np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1]))
    check_distinct(edges, n, where, lambda i: f"{pairs[i][0]!r} to {pairs[i][1]!r}")
    return edges


def _row(rows: AgentRows, node: str, label: str, where: str) -> int:
    """Return row of a node: a name goes before a number, since programs number nodes as they like. -1 for none."""
    if node not in rows.row_of and label in rows.row_of:
        return rows.row_of[label]
    row = rows.of(node)
    if row < 0 and rows.learns:
        raise DataError(where, got="one more node", allowed=rows.allowed, do="raise `agents`")
    return row


def _parse(path: Path) -> Any:
    networkx = library("networkx", str(path))  # a third of a second: only who gives such a file waits for it

    text = files.read_text(path)
    if _DEFINES.search(text):
        raise DataError(str(path), got="a DOCTYPE or ENTITY", allowed="plain GraphML or GEXF", do="remove it")
    try:
        if path.suffix.lower() == ".gexf":
            return networkx.read_gexf(io.BytesIO(text.encode()))
        return networkx.parse_graphml(text)
    except (ParseError, networkx.NetworkXError, KeyError, ValueError, TypeError, StopIteration) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        kind = path.suffix.lower().removeprefix(".")
        raise DataError(str(path), got=f"an unreadable {kind} file ({reason})", allowed=f"a {kind} file") from None


def _nodes(graph: Any) -> Iterator[tuple[str, str]]:
    """Yield (id, label) of every node, in the order of the file; without a label, its id again."""
    for node, values in graph.nodes(data=True):
        yield str(node), str(values.get("label") or values.get("name") or node)


def _follows(graph: Any) -> Iterator[tuple[str, str]]:
    for a, b in graph.edges():
        yield str(a), str(b)
        if not graph.is_directed():
            yield str(b), str(a)
