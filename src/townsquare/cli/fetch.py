"""``townsquare fetch``: copy runs from an object store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import show_json
from townsquare.cli.progress import ProgressDisplay, mode
from townsquare.cli.signals import OrderToEnd

Into = Annotated[Path | None, Parameter(help="Folder to copy into; by default one of the same name under runs/.")]


def fetch(
    address: Annotated[str, Parameter(name="ADDRESS", help="Where it stands, as s3://BUCKET/PREFIX.")],
    /,
    *,
    out: Annotated[
        Path | None, Parameter(help="Folder to copy into; by default one under runs/ of the last name.")
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> int:
    """Copy a run, a comparison or debates into a folder, where all other commands take them.

    Runs that are there already are not copied again.
    """
    from townsquare.experiments.cluster.fetching import fetch_all
    from townsquare.experiments.cluster.stores import store_at

    store = store_at(address)
    folder = out or Path("runs") / store.url.rpartition("/")[2]

    def at(done: int, total: int) -> None:
        progress.total = total
        progress.at(done)

    with (
        OrderToEnd(),
        ProgressDisplay(0, mode(quiet=quiet, as_json=as_json), f"fetching {store.where}", "part") as progress,
    ):
        runs = fetch_all(store, folder, at)
    if as_json:
        show_json({"event": "result", "folder": str(folder), "runs": runs})
    else:
        print(folder)
    return 0
