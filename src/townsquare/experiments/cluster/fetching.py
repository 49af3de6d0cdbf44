"""What is at an address, copied into a folder, where every command takes it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from townsquare.core.errors import RecordError
from townsquare.experiments.cluster.stores import RECORDS, ObjectStore
from townsquare.experiments.manifest import FILE, Experiment
from townsquare.experiments.run_folders import holds_run
from townsquare.record.run import Run
from townsquare.record.sqlite import SETTINGS_FILE


def fetch_all(store: ObjectStore, folder: Path, on_file: Callable[[int, int], None] = lambda done, total: None) -> int:
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
        Nothing is there, or it cannot be copied; or the folder holds something else, or runs that have gone on since.
    """
    names = store.names("")
    if not names:
        raise RecordError(store.where, got="nothing", do="check the address")
    runs = sorted({name.rpartition("/")[0] for name in names if name.rpartition("/")[2] in RECORDS})
    others = [name for name in names if not any(not run or name.startswith(f"{run}/") for run in runs)]
    _check_earlier(store, folder, names, runs)
    parts = [*runs, *others]
    for done, name in enumerate(parts):
        on_file(done, len(parts))
        if done >= len(runs):
            store.fetch_file(name, folder / name)
        elif not holds_run(folder / name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            store.fetch(name, folder / name)
    on_file(len(parts), len(parts))
    return len(runs)


def _check_earlier(store: ObjectStore, folder: Path, names: Sequence[str], runs: Sequence[str]) -> None:
    """Refuse a folder that holds another comparison, or a run that is not as it is in the store.

    Before anything is written: runs of one comparison under the manifest of another would look whole.
    """
    do = "choose another folder with --out, or delete this one"
    with tempfile.TemporaryDirectory() as temporary:
        there = Path(temporary)
        listed = Experiment.load(there).runs if store.fetch_file(FILE, there / FILE) else ()
        known = {run.folder: run for run in listed}
        here = Experiment.load(folder).runs if (folder / FILE).is_file() else ()
        if any(run.folder not in known or run.digest != known[run.folder].digest for run in here):
            raise RecordError(str(folder), got=f"a comparison other than that of {store.where}", do=do)
        for run in (run for run in runs if holds_run(folder / run)):
            if run in known and known[run].content_hash:
                is_same = Run.open(folder / run).content_hash == known[run].content_hash
            else:
                store.fetch_file(f"{run}/{SETTINGS_FILE}".strip("/"), there / SETTINGS_FILE)
                is_same = _bytes(there / SETTINGS_FILE) == _bytes(folder / run / SETTINGS_FILE)
            if not is_same:
                got = f"a run other than that of {store.where}, or an older copy"
                raise RecordError(str(folder / run), got=got, do=do)


def _bytes(file: Path) -> bytes:
    return file.read_bytes() if file.is_file() else b""
