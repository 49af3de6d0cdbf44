"""What stands at an address, copied into a folder, where every command takes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from townsquare.errors import RecordError
from townsquare.experiments.run_folders import holds_run
from townsquare.experiments.stores import RECORDS, ObjectStore


def fetch_all(store: ObjectStore, folder: Path, on_file: Callable[[int, int], None] | None = None) -> int:
    """Copy a run, a comparison or debates; runs that are in the folder already are not copied again.

    Parameters
    ----------
    store : ObjectStore
        Where it stands.
    folder : Path
        Where it goes: new, or what an earlier call left.
    on_file : callable, optional
        Called with the number of parts that are done, and of all.

    Returns
    -------
    int
        How many runs there are.

    Raises
    ------
    RecordError
        Nothing is there, or it cannot be copied.
    """
    names = store.names("")
    if not names:
        raise RecordError(store.where, got="nothing", do="see that the address is right")
    runs = sorted({name.rpartition("/")[0] for name in names if name.rpartition("/")[2] in RECORDS})
    others = [name for name in names if not any(not run or name.startswith(f"{run}/") for run in runs)]
    said = on_file or (lambda done, total: None)
    for done, run in enumerate(runs):
        said(done, len(runs) + len(others))
        if not holds_run(folder / run):
            (folder / run).parent.mkdir(parents=True, exist_ok=True)
            store.fetch(run, folder / run)
    for done, name in enumerate(others, len(runs)):
        said(done, len(runs) + len(others))
        store.fetch_file(name, folder / name)
    said(len(runs) + len(others), len(runs) + len(others))
    return len(runs)
