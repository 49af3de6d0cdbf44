"""What can be removed of the recorded runs below a folder, and removing it.

Only files that Townsquare itself wrote are ever removed, by their names, and only from folders that hold a run that is
recorded there and that nobody writes. No symbolic link is followed: a run whose folder holds one stays as it is.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from townsquare.core.errors import RecordError, TownsquareError
from townsquare.experiments import manifest
from townsquare.record import database, lock
from townsquare.record.parquet import FOLDER as PARTS
from townsquare.record.parquet import is_part
from townsquare.record.postgresql.address import FILE as ADDRESS_FILE
from townsquare.record.sqlite import SCENARIO_COPY, SETTINGS_FILE
from townsquare.simulation.model_calls import CALLS_FILE

REPORT = "report.html"
VIEWS = tuple(f"view-{name}" for name in ("beliefs.json", "lines.json", "activity.json", "influence.json"))
LAYOUTS = ("view-layout.json", "view-layout.npz")  # of earlier versions
_OF_SQLITE = ("", "-wal", "-shm", "-journal")
CALLS = tuple(f"{CALLS_FILE}{ending}" for ending in _OF_SQLITE)
DATABASE = tuple(f"{database.FILE}{ending}" for ending in reversed(_OF_SQLITE))
"""The database itself comes last: a folder that was pruned in part is still found and can be pruned again."""
NAMES = (*CALLS, *DATABASE, ADDRESS_FILE, *VIEWS, *LAYOUTS, REPORT, SETTINGS_FILE, lock.FILE, PARTS, SCENARIO_COPY)


@dataclass(frozen=True, slots=True)
class Item:
    """Files of one run that can be removed.

    Attributes
    ----------
    folder : Path
        Of the run, absolute.
    what : str
        What they are, in words.
    files : tuple of Path
        In the order in which they are removed.
    size : int
        Bytes of all of them.
    written : float
        When the run was last written, in seconds since 1970.
    """

    folder: Path
    what: str
    files: tuple[Path, ...]
    size: int
    written: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What can be removed below a folder of what was last written before a time, and which runs stay and why.

    Attributes
    ----------
    root : Path
        The folder, absolute and without links.
    before : float
        In seconds since 1970.
    items : tuple of Item
        In order of their folders.
    left : tuple of (Path, str)
        Folders of the other runs, each with the reason.
    """

    root: Path
    before: float
    items: tuple[Item, ...]
    left: tuple[tuple[Path, str], ...]

    @property
    def size(self) -> int:
        """Bytes of all items."""
        return sum(item.size for item in self.items)


def plan(root: Path, before: float, *, keep_reports: bool = False, calls: bool = False) -> Plan:
    """List what can be removed below a folder; nothing is removed.

    Parameters
    ----------
    root : Path
        A folder of runs and comparisons, or of one.
    before : float
        Only runs that were last written before this time, in seconds since 1970.
    keep_reports : bool
        Also the records of finished runs that have a report, which stays with the settings.
    calls : bool
        Also the recorded calls of language models of finished runs.

    Raises
    ------
    RecordError
        There is no such folder.
    """
    if not root.is_dir():
        raise RecordError(str(root), got="no such folder", allowed="a folder of recorded runs")
    root, items, left = root.resolve(), [], []
    for folder in _run_folders(root):
        verdict = _looked_at(folder, before, keep_reports=keep_reports, calls=calls)
        if isinstance(verdict, Item):
            items.append(verdict)
        elif verdict:
            left.append((folder, verdict))
    return Plan(root, before, tuple(items), tuple(left))


def remove(plan: Plan, item: Item) -> None:
    """Remove the files of an item, and folders below the root of the plan that are empty then.

    Raises
    ------
    RunBusy
        Somebody writes the run, or its comparison.
    RecordError
        The run was written, or a link was put there, since the item was made.
    OSError
        A file cannot be removed; those before it are gone.
    """
    with ExitStack() as locks:
        if _has_link(item.folder):
            raise RecordError(str(item.folder), got="a symbolic link", allowed="the files of a run themselves")
        for above in _comparisons(item.folder):
            locks.callback(lock.RunLock(above).close)
        own = lock.RunLock(item.folder)
        locks.callback(own.close, remove=item.folder / database.FILE in item.files)
        if _written(item.folder) != item.written or item.written >= plan.before:
            raise RecordError(str(item.folder), got="a run that was written after the list was made", do="list again")
        for file in item.files:
            file.unlink(missing_ok=True)
        inside = {above for file in item.files for above in file.parents if item.folder in above.parents}
        for folder in sorted(inside, reverse=True):
            _remove_empty(folder)
    for folder in (item.folder, *item.folder.parents):
        if folder == plan.root or not _remove_empty(folder):
            break


def _remove_empty(folder: Path) -> bool:
    """Remove a folder if there is nothing in it; whether it is gone."""
    with suppress(OSError):
        folder.rmdir()
        return True
    return False


def _run_folders(root: Path) -> Iterator[Path]:
    """Yield folders that may hold a run, at any depth; links to folders are not followed."""
    for name, below, files in os.walk(root):
        below[:] = sorted(set(below) - {PARTS, SCENARIO_COPY})
        if database.FILE in files or ADDRESS_FILE in files:
            yield Path(name)


def _looked_at(folder: Path, before: float, *, keep_reports: bool, calls: bool) -> Item | str:
    """Return what can be removed of a run, or why nothing can; "" for a folder that is not a run."""
    if _has_link(folder):
        return "holds a symbolic link"
    if (folder / ADDRESS_FILE).exists():
        return "recorded on a server"
    written = _written(folder)
    try:
        recorded = _state(folder)
    except (sqlite3.Error, TownsquareError, KeyError, ValueError):
        return "cannot be read as a run"
    if recorded is None:
        return ""
    if lock.is_locked(folder) or any(lock.is_locked(above) for above in _comparisons(folder)):
        return "being written"
    if written >= before:
        return "written too recently"
    state, last = recorded
    made = (*CALLS, *VIEWS, *LAYOUTS)
    if state != "finished":
        what = f"unfinished, stopped after step {last}" if last > 0 else "unfinished, without a step"
        return _item(folder, what, written, (*_beside(folder), *made, REPORT, SETTINGS_FILE, *DATABASE))
    if keep_reports:
        if not any((where / REPORT).is_file() for where in (folder, *_comparisons(folder))):
            return "finished, without a report"
        return _item(folder, "finished, report stays", written, (*_beside(folder), *made, *DATABASE))
    if calls and (folder / CALLS_FILE).is_file():
        return _item(folder, "calls of a finished run", written, CALLS)
    return "finished"


def _item(folder: Path, what: str, written: float, names: tuple[str, ...]) -> Item:
    files = tuple(path for path in (folder / name for name in names) if path.is_file())
    return Item(folder, what, files, sum(path.stat().st_size for path in files), written)


def _beside(folder: Path) -> tuple[str, ...]:
    """Return the paths of Parquet parts and of the scenario copy, relative to the folder."""
    parts = [path for path in sorted((folder / PARTS).glob("*/step-*")) if is_part(path.name)]
    copied = [path for path in sorted((folder / SCENARIO_COPY).rglob("*")) if path.is_file()]
    return tuple(path.relative_to(folder).as_posix() for path in (*parts, *copied))


def _state(folder: Path) -> tuple[str, int] | None:
    """Return the recorded state of a run and its last step, -1 for none; None if the database is not a run."""
    path = folder / database.FILE
    with closing(database.connect(path)) as connection:
        info = database.read_info(connection)
        if not info:  # killed while the tables were made: ours if it was locked
            return ("running", -1) if (folder / lock.FILE).is_file() else None
        (last,) = connection.execute("SELECT coalesce(max(step), -1) FROM ts_steps").fetchone()
        return info["state"], int(last)


def _written(folder: Path) -> float:
    """Return when the record of a run, or its calls, were last written."""
    names = (name for name in (*DATABASE, *CALLS) if not name.endswith("-shm"))  # readers write that one
    return max((path.stat().st_mtime for path in map(folder.joinpath, names) if path.is_file()), default=0.0)


def _comparisons(folder: Path) -> list[Path]:
    """Return the folders of comparisons that contain a folder, the nearest first."""
    return [above for above in folder.parents if (above / manifest.FILE).is_file()]


def _has_link(folder: Path) -> bool:
    """Return whether a file of the run, or the lock of its comparison, is a symbolic link."""
    own = [*(folder / name for name in NAMES), *(above / lock.FILE for above in _comparisons(folder))]
    entered = (folder / name for name in (PARTS, SCENARIO_COPY) if not (folder / name).is_symlink())
    return any(path.is_symlink() for path in chain(own, *(inside.rglob("*") for inside in entered)))
