"""The runs in a folder: which there are, each as it stands now, and what could not be read."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from townsquare.analysis.contract import CachedRun, setting
from townsquare.analysis.health import run_health
from townsquare.core.errors import RecordError, TownsquareError
from townsquare.debate import results
from townsquare.debate.results import DebateResults
from townsquare.experiments import manifest
from townsquare.record import lock
from townsquare.record.places import record_file
from townsquare.record.postgresql.address import address_in
from townsquare.record.run import Run

DEPTH = 4
"""Folders below the one given in which runs are looked for."""
_SNAPSHOTS = 6
_NO_FILE = -1


@dataclass(frozen=True, slots=True)
class RunLocation:
    """Where a run stands: ``id`` is its folder relative to the one given.

    ``arm`` is "" outside comparisons; ``failure`` is what ended a run of a comparison early, or "".
    """

    id: str
    folder: Path
    arm: str = ""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run as it stood after ``last_step``; ``cached`` reads each table once, for all questions of a page."""

    id: str
    run: Run
    cached: CachedRun
    last_step: int
    location: RunLocation


class Library:
    """All runs below a folder, or the one run that the folder is.

    Parameters
    ----------
    root : Path
        A folder of a run, of a comparison, or of many.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._open: dict[str, tuple[int, Run]] = {}
        self._snapshots: OrderedDict[tuple[RunLocation, int, int, str], Snapshot] = OrderedDict()
        self._lock = Lock()

    def locations(self) -> list[RunLocation]:
        """Return every run at this moment, by id, including folders of runs that have no database yet."""
        if _begun(self.root):
            return [RunLocation(self.root.name or "run", self.root)]
        if _debated(self.root):
            return []
        arms = _arms(self.root)
        folders = sorted(_below(self.root, DEPTH, _begun))
        named = ((path.relative_to(self.root).as_posix(), path) for path in folders)
        return [RunLocation(name, path, *arms.get(path, ("", ""))) for name, path in named]

    def debates(self) -> dict[str, Path]:
        """Return folders of debates by id, in order."""
        if _debated(self.root):
            return {self.root.name or "debates": self.root}
        if _begun(self.root):
            return {}
        folders = sorted(_below(self.root, DEPTH, _debated))
        return {path.relative_to(self.root).as_posix(): path for path in folders}

    def debate_results(self, name: str) -> DebateResults:
        """Return the debates of that id.

        Raises
        ------
        RecordError
            There are none, or they cannot be read.
        """
        known = self.debates()
        if name not in known:
            raise RecordError(f"debate {name}", got="no such debate here", do="go back to the list of runs")
        return DebateResults.open(known[name])

    def location(self, name: str) -> RunLocation:
        """Return the run of that id. Only runs of :meth:`locations` are ever opened, whatever a request names."""
        for location in self.locations():
            if location.id == name:
                return location
        raise RecordError(f"run {name}", got="no such run here", do="go back to the list of runs")

    def run(self, name: str) -> Run:
        """Return the run of that id, opened.

        Raises
        ------
        RecordError
            There is none, or it cannot be read.
        """
        return self._opened(self.location(name))

    def _opened(self, location: RunLocation) -> Run:
        file = _file_of(location)
        if not self._is_open(location, file):
            self._open[location.id] = (file, Run.open(location.folder))
        return self._open[location.id][1]

    def _is_open(self, location: RunLocation, file: int) -> bool:
        known = self._open.get(location.id)
        return known is not None and known[0] == file != _NO_FILE

    def snapshot(self, name: str) -> Snapshot:
        """Return the run of that id as it stands now; the same object while no step was added."""
        location = self.location(name)
        run = self._opened(location)
        last, state = run.last_step, run.state
        if last < 0:
            raise RecordError(f"run {name}", got="a run without a finished step", do="wait for its first step")
        key = (location, self._open[name][0], last, state)
        with self._lock:
            if key not in self._snapshots:
                self._snapshots[key] = Snapshot(name, run, CachedRun(run), last, location)
            self._snapshots.move_to_end(key)
            while len(self._snapshots) > _SNAPSHOTS:
                self._snapshots.popitem(last=False)
            return self._snapshots[key]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per run for the list; a run that cannot be read has ``error`` with the problem and what to do.

        A run that is recorded on a server has only its address until it is opened: a list of folders connects nowhere.
        """
        return [self._row(location) for location in self.locations()]

    def _row(self, location: RunLocation) -> dict[str, Any]:
        row: dict[str, Any] = {"id": location.id, "arm": location.arm, "error": None}
        try:
            server = None if self._is_open(location, _file_of(location)) else address_in(location.folder)
            if server is not None:
                return {**row, "state": "unopened", "server": str(server)}
            return {**row, **said_of(self._opened(location), location.failure)}
        except TownsquareError as error:
            return {**row, "state": "unreadable", "error": error_parts(error)}


def _file_of(location: RunLocation) -> int:
    """Return what tells the file of a run from another of its name: another file is another run."""
    try:
        return record_file(location.folder).stat().st_ino
    except OSError:
        return _NO_FILE


def error_parts(error: TownsquareError) -> dict[str, str]:
    """Return an error as the page shows it."""
    return {"where": error.where, "got": error.got, "allowed": error.allowed, "do": error.do}


def said_of(run: Run, failure: str = "") -> dict[str, Any]:
    """Return what a run says of itself, cheaply: from its settings and its table of steps."""
    steps, health = run.steps, run_health(run)
    stopped = health.state == "stopped" and health.done < health.planned
    problems = {
        f"ended with an error: {failure}": failure,
        f"stopped after step {health.done} of {health.planned}; `townsquare resume` goes on with it": stopped,
        "over half of all actions were refused": health.refused_share > 0.5,
        "nobody did anything": health.idle,
    }
    known = [problem for problem, holds in problems.items() if holds]
    return {
        "scenario": str(setting(run, "scenario", default="")),
        "seed": setting(run, "seed"),
        "state": run.state,
        "step": run.last_step,
        "steps": setting(run, "steps"),
        "agents": int(steps["agents"][-1]) if steps.height else 0,
        "rule": str(setting(run, "beliefs", "rule", default="")),
        "moderation": str(setting(run, "moderation", "strategy", default="")),
        "refused_share": health.refused_share,
        "actions": health.tried,
        "exposures": int(steps["exposures"].sum()),
        "seconds_per_step": float(steps["seconds"].tail(5).to_numpy().mean()) if steps.height else None,
        "version": run.version,
        "health": "look into it" if known else "good",
        "problems": known,
    }


def _debated(folder: Path) -> bool:
    return (folder / results.FILE).exists()


def _begun(folder: Path) -> bool:
    if record_file(folder).exists():
        return True
    # Comparisons and debates have a lock of that name too, and no record of their own.
    return (folder / lock.FILE).exists() and not (_debated(folder) or (folder / manifest.FILE).exists())


def _below(folder: Path, depth: int, wanted: Callable[[Path], bool]) -> Iterator[Path]:
    for path in _folders(folder) if depth else ():
        if wanted(path):
            yield path
        elif not (_begun(path) or _debated(path)):
            yield from _below(path, depth - 1, wanted)


def _arms(root: Path) -> Mapping[Path, tuple[str, str]]:
    """Return names of arms, and errors, by folder of run, from the comparisons at and just below the root."""
    arms: dict[Path, tuple[str, str]] = {}
    for folder in (root, *_folders(root)):
        if (folder / manifest.FILE).is_file():
            with suppress(RecordError):
                arms |= {folder / run.folder: (run.arm, run.error) for run in manifest.Experiment.load(folder).runs}
    return arms


def _folders(root: Path) -> list[Path]:
    """Return the visible subfolders; no links, which could lead out of the folder that the user gave."""
    try:
        entries = list(os.scandir(root))
    except OSError:
        return []
    visible = [entry for entry in entries if not entry.name.startswith(".")]
    return [root / entry.name for entry in visible if entry.is_dir(follow_symlinks=False)]
