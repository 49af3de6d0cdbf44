"""``townsquare fetch``: copy runs from an object store."""

from __future__ import annotations

from pathlib import Path

from townsquare.cli import options
from townsquare.cli.console import answer
from townsquare.cli.signals import OrderToEnd


def fetch(address: str, /, *, out: Path | None = None, shown: options.Shown = options.SHOWN) -> int:
    """Copy a run, a comparison or debates into a folder, for use by the other commands.

    Runs already in the folder are not copied again.

    Parameters
    ----------
    address
        The address, such as s3://BUCKET/PREFIX.
    out
        Output folder; default: a folder under runs/ with the last part of the address.
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
