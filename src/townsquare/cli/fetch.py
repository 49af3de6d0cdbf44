"""``townsquare fetch``: copy runs from an object store."""

from __future__ import annotations

from pathlib import Path

from townsquare.cli import options
from townsquare.cli.console import answer
from townsquare.cli.signals import OrderToEnd


def fetch(address: str, /, *, out: Path | None = None, shown: options.Shown = options.SHOWN) -> int:
    """Copy a run, a comparison or debates into a folder, where all other commands take them.

    Runs that are there already are not copied again.

    Parameters
    ----------
    address
        Where it stands, as s3://BUCKET/PREFIX.
    out
        Folder to copy into; by default one under runs/ of the last name.
    """
    from townsquare.experiments.cluster.fetching import fetch_all
    from townsquare.experiments.cluster.stores import store_at

    store = store_at(address)
    folder = out or Path("runs") / store.url.rpartition("/")[2]

    def at(done: int, total: int) -> None:
        progress.total = total
        progress.at(done)

    with OrderToEnd(), shown.progress(0, f"fetching {store.where}", "part") as progress:
        runs = fetch_all(store, folder, at)
    return answer({"event": "result", "folder": str(folder), "runs": runs}, folder, as_json=shown.as_json)
