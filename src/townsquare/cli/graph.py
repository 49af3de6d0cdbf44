"""``townsquare export-graph``: the follow graph of a recorded run, for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from townsquare.cli import options
from townsquare.cli.console import answer


def export_graph(
    folder: options.Folder,
    /,
    *,
    step: options.Whole | None = None,
    to: Literal["graphml", "gexf", "csv"] = "graphml",
    out: Path | None = None,
    replace: options.Replace = False,
    safe_cells: options.SafeCells = False,
    as_json: options.AsJson = False,
) -> int:
    """Write the follow graph after a step, with the stances and traits of that step as node attributes.

    Parameters
    ----------
    step
        The step; default: the last.
    to
        Output format.
    out
        Output file; default: graph-step<n>.<format> in the run.
    """
    from townsquare.analysis.follow_graph import graph_at, write_graph
    from townsquare.core.errors import SettingError
    from townsquare.record.run import Run

    if safe_cells and to != "csv":
        raise SettingError("--safe-cells", got=f"with --to {to}", allowed="with --to csv", do="leave it out")
    graph = graph_at(Run.open(folder), step)
    path = out or folder / f"graph-step{graph.step}.{to}"
    with options.writing(path, replace=replace):
        files = write_graph(graph, path, to, safe_cells=safe_cells)
    nodes, follows = graph.nodes.height, graph.follows.height
    facts = {"files": [str(file) for file in files], "step": graph.step, "nodes": nodes, "follows": follows}
    text = f"{nodes:,} nodes, {follows:,} follows after step {graph.step}"
    return answer(facts, text, *files, as_json=as_json)
