"""``townsquare export-graph``: the follow graph of a recorded run, for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import show_json


def export_graph(
    folder: options.Folder,
    /,
    *,
    step: Annotated[
        int | None, Parameter(converter=options.whole, help="As it stood after this step; by default, the last one.")
    ] = None,
    to: Annotated[Literal["graphml", "gexf", "csv"], Parameter(help="Format.")] = "graphml",
    out: Annotated[Path | None, Parameter(help="File to write; by default graph-step<n>.<format> in the run.")] = None,
    replace: options.Replace = False,
    safe_cells: options.SafeCells = False,
    as_json: options.AsJson = False,
) -> int:
    """Write the follow graph as it stood after a step, with stances and traits of that time at the nodes."""
    from townsquare.analysis.follow_graph import graph_at, write_graph
    from townsquare.core.errors import SettingError
    from townsquare.record.run import Run

    if safe_cells and to != "csv":
        raise SettingError("--safe-cells", got=f"with --to {to}", allowed="with --to csv", do="leave it out")
    graph = graph_at(Run.open(folder), step)
    path = out or folder / f"graph-step{graph.step}.{to}"
    with options.writing(path, replace=replace):
        files = write_graph(graph, path, to, safe_cells=safe_cells)
    if as_json:
        facts = {"step": graph.step, "nodes": graph.nodes.height, "follows": graph.follows.height}
        show_json({"files": [str(file) for file in files], **facts})
    else:
        print(f"{graph.nodes.height:,} nodes, {graph.follows.height:,} follows after step {graph.step}")
        print("\n".join(str(file) for file in files))
    return 0
