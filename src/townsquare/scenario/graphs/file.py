"""``file``: the follow graph of a file, in the format that its ending says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from townsquare.core import files
from townsquare.core.draws import StageDraws
from townsquare.scenario.graphs.contract import Edges, GraphKind
from townsquare.scenario.graphs.edge_list import read_edge_list
from townsquare.scenario.graphs.network_file import KINDS, read_network
from townsquare.settings.config import MemberParams, setting


class FileParams(MemberParams):
    """Settings of ``file``."""

    path: str = setting(..., "follows: .graphml, .gexf, or an edge list (follower, followed)", file="scenario")


def _build(
    n: int, params: FileParams, draws: StageDraws, *, folder: Path | None = None, names: Sequence[str] = (), **_: object
) -> Edges:
    """See :func:`townsquare.scenario.graphs.edge_list.read_edge_list` and :func:`.network_file.read_network`."""
    path = files.find(params.path, folder)
    return read_network(path, n, names) if path.suffix.lower() in KINDS else read_edge_list(path, n, names)


FILE = GraphKind("file", FileParams, _build)
