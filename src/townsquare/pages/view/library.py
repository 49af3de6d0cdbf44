"""The runs in a folder: which there are, each as it stands now, and what could not be read."""

from __future__ import annotations

import math
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, TypeVar

from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import CachedRun, setting
from townsquare.analysis.health import run_health
from townsquare.analysis.moderation import strategy
from townsquare.core.errors import RecordError, TownsquareError
from townsquare.debate import results
from townsquare.debate.results import DebateResults
from townsquare.experiments import manifest
from townsquare.experiments.manifest import Experiment
from townsquare.pages.report.files import PAGE
from townsquare.record import lock
from townsquare.record.places import record_file
from townsquare.record.postgresql.address import address_in
from townsquare.record.run import Run

DEPTH = 4
"""Folders below the one given in which runs are looked for."""
_SNAPSHOTS = 6
_NO_FILE = -1
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunLocation:
    """Where a run stands: ``id`` is its folder relative to the one given.

    ``comparison`` (its id) and ``arm`` are "" outside comparisons; ``failure`` is what ended a run of one early, or "".
    """

    id: str
    folder: Path
    arm: str = ""
    failure: str = ""
    comparison: str = ""


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
        self._manifests: dict[Path, tuple[int, Experiment]] = {}
        self._made: dict[tuple[Path, str], tuple[Experiment, dict[str, Any]]] = {}
        self._rows: dict[str, tuple[tuple[int, int], dict[str, Any]]] = {}
        self._making: dict[tuple[Path, str], Lock] = {}
        self._lock = Lock()

    def locations(self) -> list[RunLocation]:
        """Return every run at this moment, by id, including folders of runs that have no database yet."""
        arms = self._arms()
        return [RunLocation(name, path, *arms.get(path, ())) for name, path in self._found(_begun).items()]

    def debates(self) -> dict[str, Path]:
        """Return folders of debates by id, in order."""
        return self._found(_debated)

    def _found(self, wanted: Callable[[Path], bool]) -> dict[str, Path]:
        """Return folders of one kind by id: the root alone, or those below it; none below a run or debates."""
        if wanted(self.root):
            return {self.id_of(self.root): self.root}
        inside = () if _begun(self.root) or _debated(self.root) else _below(self.root, DEPTH, wanted)
        return {self.id_of(path): path for path in sorted(inside)}

    def debate_results(self, name: str) -> DebateResults:
        """Return the debates of that id.

        Raises
        ------
        RecordError
            There are none, or they cannot be read.
        """
        return DebateResults.open(_known(self.debates(), "debate", name))

    def location(self, name: str) -> RunLocation:
        """Return the run of that id. Only runs of :meth:`locations` are ever opened, whatever a request names."""
        return _known({location.id: location for location in self.locations()}, "run", name)

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

    def comparisons(self) -> dict[str, Experiment]:
        """Return comparisons by id, in order; those whose manifest cannot be read are left out."""
        known: dict[str, Experiment] = {}
        for name, folder in self._found(_compared).items():
            with suppress(RecordError):
                known[name] = self._manifest(folder)
        return known

    def comparison(self, name: str) -> Experiment:
        """Return the comparison of that id. Raises ``RecordError`` if there is none that can be read."""
        return _known(self.comparisons(), "comparison", name)

    def id_of(self, folder: Path) -> str:
        """Return the id of a run, a comparison or debates in a folder: its path below the root, or the root's name."""
        return folder.relative_to(self.root).as_posix() if folder != self.root else self.root.name or "root"

    def once_for(self, of: Experiment, what: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return what ``make`` gives, made once for each state of a comparison; who asks meanwhile waits."""
        key = of.folder, what
        with self._lock:
            alone = self._making.setdefault(key, Lock())
        with alone:
            known = self._made.get(key)
            if known is None or known[0] is not of:
                known = self._made[key] = (of, make())
        return known[1]

    def report(self, name: str) -> Path:
        """Return the page of the report in the folder of a run or comparison of that id. Raises ``RecordError``."""
        folders = {self.id_of(of.folder): of.folder for of in self.comparisons().values()}
        folder = folders.get(name) or self.location(name).folder
        page = folder / PAGE
        if not page.is_file() or page.is_symlink():
            raise RecordError(f"report of {name}", got="none yet", do=f"write it: townsquare report {folder.name}")
        return page

    def _manifest(self, folder: Path) -> Experiment:
        """Return the comparison in a folder, read once for each state of its file."""
        _, at = _state_of(folder / manifest.FILE)
        known = self._manifests.get(folder)
        if known is None or known[0] != at:
            known = self._manifests[folder] = (at, _own_runs(Experiment.load(folder)))
        return known[1]

    def _arms(self) -> Mapping[Path, tuple[str, str, str]]:
        """Return names of arms, errors, and ids of comparisons, by folder of run."""
        every = self.comparisons().items()
        return {each.folder / run.folder: (run.arm, run.error, name) for name, each in every for run in each.runs}

    def rows(self, seconds: float = math.inf) -> list[dict[str, Any]]:
        """Return one row per run for the list; a run that cannot be read has ``error`` with the problem and what to do.

        A run that is recorded on a server has only its address until it is opened: a list of folders connects nowhere.
        Runs that cannot be read within ``seconds`` have the state ``pending``: the next call goes on with them.
        """
        end = monotonic() + seconds
        return [self._row(location, end) for location in self.locations()]

    def _row(self, location: RunLocation, end: float) -> dict[str, Any]:
        row: dict[str, Any] = {"id": location.id, "arm": location.arm, "error": None}
        of_file = _state_of(record_file(location.folder))
        known = self._rows.get(location.id)
        if known is not None and known[0] == of_file:
            return {**known[1], "arm": location.arm}
        if monotonic() > end:
            return {**row, "state": "pending"}
        try:
            server = None if self._is_open(location, _file_of(location)) else address_in(location.folder)
            if server is not None:
                return {**row, "state": "unopened", "server": str(server)}
            row |= said_of(self._opened(location), location.failure)
        except TownsquareError as error:
            return {**row, "state": "unreadable", "error": error_parts(error)}
        if row["state"] == "finished":
            self._rows[location.id] = (of_file, row)
        return row


def _file_of(location: RunLocation) -> int:
    """Return what tells the file of a run from another of its name: another file is another run."""
    return _state_of(record_file(location.folder))[0]


def _own_runs(experiment: Experiment) -> Experiment:
    """Return a comparison whose runs all lie in its folder; a manifest from elsewhere might name others."""
    within = experiment.folder.resolve()
    for run in experiment.runs:
        if not (within / run.folder).resolve().is_relative_to(within):
            raise RecordError(str(experiment.folder), got=f"a run elsewhere: {run.folder}", do="remove its manifest")
    return experiment


def _state_of(path: Path) -> tuple[int, int]:
    """Return what changes whenever a file is replaced, and what also changes when it is written."""
    try:
        file = path.stat()
    except OSError:
        return _NO_FILE, _NO_FILE
    return file.st_ino, file.st_mtime_ns


def _known(those: Mapping[str, T], kind: str, name: str) -> T:
    """Return what has this id, among those of one kind. Raises ``RecordError`` if nothing has."""
    if name not in those:
        raise RecordError(f"{kind} {name}", got=f"no such {kind} here", do="go back to the list of runs")
    return those[name]


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
        "over half of all actions, ignoring included, were refused": health.refused_share > 0.5,
        "nobody did anything": health.idle,
    }
    known = [problem for problem, holds in problems.items() if holds]
    return {
        "scenario": str(setting(run, "scenario", default="")),
        "seed": setting(run, "seed"),
        "state": run.state,
        "step": run.last_step,
        "steps": setting(run, "steps"),
        "hours": clock_of(run).hours,
        "agents": int(steps["agents"][-1]) if steps.height else 0,
        "rule": str(setting(run, "beliefs", "rule", default="")),
        "moderation": strategy(run),
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


def _compared(folder: Path) -> bool:
    return (folder / manifest.FILE).is_file()


def _begun(folder: Path) -> bool:
    if record_file(folder).exists():
        return True
    # Comparisons and debates have a lock of that name too, and no record of their own.
    return (folder / lock.FILE).exists() and not (_debated(folder) or _compared(folder))


def _below(folder: Path, depth: int, wanted: Callable[[Path], bool]) -> Iterator[Path]:
    for path in _folders(folder) if depth else ():
        if wanted(path):
            yield path
        elif not (_begun(path) or _debated(path)):
            yield from _below(path, depth - 1, wanted)


def _folders(root: Path) -> list[Path]:
    """Return the visible subfolders; no links, which could lead out of the folder that the user gave."""
    try:
        entries = list(os.scandir(root))
    except OSError:
        return []
    visible = [entry for entry in entries if not entry.name.startswith(".")]
    return [root / entry.name for entry in visible if entry.is_dir(follow_symlinks=False)]
