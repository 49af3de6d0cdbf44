"""Executes arms × trials of debates in separate processes, into a folder that can be completed later.

A recorded trial is not repeated: the same command with the same folder continues where it stopped, and a command with
more trials or arms adds them. A folder with other settings, arguments or another version is refused. Trials are jobs of
:mod:`townsquare.experiments.execution`, as the runs of comparisons are.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from townsquare.core.arguments import checked
from townsquare.core.errors import SettingError, TownsquareError
from townsquare.core.private_files import make_folder
from townsquare.debate.record import trial_record
from townsquare.debate.resolve import ResolvedDebate, layers_for_debates, resolve_debates
from townsquare.debate.results import FILE, DebateArm, DebateResults, TrialResult
from townsquare.debate.settings import ALIASES, CON
from townsquare.debate.start import asks, check_starts, trial_seed
from townsquare.debate.store import trial_store
from townsquare.debate.trial import debate
from townsquare.experiments.arms import Arm, arms_of, check_distinct
from townsquare.experiments.cluster.ray_cluster import HERE, checked_place
from townsquare.experiments.cluster.scratch import private_folder
from townsquare.experiments.execution import (
    ExecutionTargets,
    Progress,
    check_folder,
    check_workers,
    execute,
    locked_folder,
)
from townsquare.experiments.run_folders import folder_for
from townsquare.experiments.workers import Report, end_where_main_is_imported
from townsquare.models.open import model_client
from townsquare.models.store import FILE as CALLS_FILE
from townsquare.models.store import recorded_calls
from townsquare.settings.layers import Layer

NOT_OVER = {"seed": "trials have separate draws: use --trials", "trials": "give --trials", "start.tolerance": ""}
"""Settings that no arm can differ in, and what to do instead."""


def arms_over(over: Mapping[str, Sequence[Any]], *, one_at_a_time: bool = False) -> tuple[Arm, ...]:
    """Return the arms of a sweep, as :func:`townsquare.experiments.arms.arms_of` does.

    Raises
    ------
    SettingError
        A setting has no values or one twice, or is none that arms can differ in.
    """
    for key in over:
        if ALIASES.get(key, key) in NOT_OVER:
            raise SettingError(f"--vary {key}", got="a setting that all arms share", do=NOT_OVER[ALIASES.get(key, key)])
    return arms_of(over, one_at_a_time=one_at_a_time)


def sweep_layers(layers: Sequence[Layer], over: Mapping[str, Sequence[Any]]) -> list[Layer]:
    """Return the layers of a sweep: one agent against a fixed opponent, unless what varies is about pairs."""
    about_pairs = {"pairing", CON, "opponent", "debater"} & {key.partition(".")[0] for key in over}
    return [{"preset": "pair" if about_pairs else "single"}, *layers]


@checked
def run_debate(
    topic: str | Path | None = None,
    *,
    trials: int | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    one_at_a_time: bool = False,
    out: Path | str | None = None,
    workers: int = 1,
) -> DebateResults:
    """Run debates between two agents, or with ``vary`` a sweep of debates, and record the effect of every turn.

    Parameters
    ----------
    topic : str or Path, optional
        A bundled topic, a file of arguments, or a configuration file (YAML or JSON); default: ``compulsory-voting``.
    trials : int, optional
        Debates per arm, at least 1.
    seed : int, optional
        Random seed, at least 0.
    settings : mapping, optional
        Settings of debates by dotted name, such as ``{"uptake": 0.2}``; see docs/debates.md.
    vary : mapping of str to list, optional
        Setting -> its values, such as ``{"uptake": [0.2, 0.4]}``. Each combination is an arm. In an arm, one agent
        debates a fixed opponent, unless ``settings`` say otherwise or ``pairing``, ``con``, ``opponent`` or ``debater``
        vary.
    one_at_a_time : bool
        Vary one setting at a time, not all combinations; each other setting has the value it has without ``vary``.
    out : Path or str, optional
        Folder: new, or of the same debates, which are then completed. Default: a new folder under ``runs``.
    workers : int
        Number of processes, at least 1; as for :func:`townsquare.compare`.

    Returns
    -------
    DebateResults
        ``measures_frame()`` has one row per arm and measure; failed trials are in ``failed``.

    Raises
    ------
    SettingError, UnknownName, DataError
        A setting, name or file is wrong; no debate has run.
    RecordError
        ``out`` holds other debates, or files that are no debates.
    """
    layers = layers_for_debates(None if topic is None else str(topic), settings or (), trials=trials, seed=seed)
    layers = sweep_layers(layers, vary) if vary else layers
    arms = arms_over(vary or {}, one_at_a_time=one_at_a_time)
    with folder_for(None if out is None else Path(out), "debate") as folder:
        return hold_debates(layers, arms, folder, workers)


def hold_debates(
    layers: Sequence[Layer],
    arms: Sequence[Arm],
    out: Path,
    workers: int | None = 1,
    on_progress: Callable[[Progress], None] | None = None,
    targets: ExecutionTargets | None = None,
) -> DebateResults:
    """Hold the trials of every arm that are not recorded yet.

    Parameters
    ----------
    layers : sequence of mapping
        Settings that all arms share, as :func:`townsquare.debate.resolve.resolve_debates` takes them.
    arms : sequence of Arm
        What each changes.
    out : Path
        Folder: new, or of the same debates.
    workers : int, optional
        Processes at a time; 1 holds all in this one, unless a cluster does; None is as many as there are processors.
        More import the main script, which must call this function only below ``if __name__ == "__main__":``.
    on_progress : callable, optional
        Called now and then.
    targets : ExecutionTargets, optional
        Where trials are held, and where all that comes into ``out`` goes too.

    Returns
    -------
    DebateResults
        Trials that failed are in it with their errors; the others do not suffer.

    Raises
    ------
    SettingError, UnknownName, DataError
        A setting, name or file is wrong, and no debate has run; also if initial stances of arms differ by more than
        ``start.tolerance``.
    WrongVersion, RecordError
        The folder holds other debates, or something else.
    KeyboardInterrupt
        When interrupted; recorded trials are safe.
    """
    end_where_main_is_imported()
    targets = targets or ExecutionTargets()
    checked_place(targets.on)
    check_workers(workers)
    resolved = {arm.name: resolve_debates(*layers, arm.changes) for arm in arms}
    check_distinct(resolved)
    numbers = range(1, next(iter(resolved.values())).settings.trials + 1)
    check_starts(resolved, numbers)
    listed = tuple(DebateArm.of(arm, resolved[arm.name]) for arm in arms)
    check_folder(out, FILE, "debates")
    with locked_folder(out), trial_store(targets.record) as server:
        results = DebateResults(out, listed, len(numbers))
        server.bring(results)
        where = targets.store.where if targets.store else str(out.resolve()) if targets.on != HERE else ""
        missing = [key for key in itertools.product(listed, numbers) if not results.has(*key)]
        jobs = [TrialJob(arm, trial, out.resolve(), where) for arm, trial in missing]
        done = len(listed) * len(numbers) - len(jobs)
        earlier, workers = Progress(done, done, 0, 0), workers if len(jobs) > 1 else 1
        results.save(targets.store)
        with closing(execute(hold, jobs, targets, workers, earlier, on_progress)) as ended:
            for job, result in ended:
                results = results.record(job.arm, job.trial, result, targets.store)
                server.put(results, job.arm, job.trial)
        results.save(targets.store)
    return results


@dataclass(frozen=True, slots=True)
class TrialJob:
    """One trial of an arm for another process, as plain values.

    Calls of language models are recorded in ``folder``; or, if ``away`` says where the trial goes, in a folder of the
    machine that holds it.
    """

    arm: DebateArm
    trial: int
    folder: Path
    away: str

    @property
    def steps(self) -> int:
        """Its rounds."""
        return int(self.arm.settings["rounds"])


def hold(job: TrialJob, report: Report) -> TrialResult:
    """Hold one trial; where it is held away, give back the calls it made too, whether it ended well or not."""
    resolved = resolve_debates(job.arm.settings)
    if not job.away:
        return TrialResult(_held(resolved, job, report, job.folder))
    with private_folder(job.away, f"{job.arm.slug}/trial-{job.trial}", resolved.digest) as folder:
        make_folder(folder)
        try:
            result = TrialResult(_held(resolved, job, report, folder))
        except (TownsquareError, KeyboardInterrupt) as error:
            result = TrialResult(None, error=error)
        result = result._replace(calls=recorded_calls(folder))
        shutil.rmtree(folder, ignore_errors=True)
    return result


def _held(resolved: ResolvedDebate, job: TrialJob, report: Report, folder: Path) -> dict[str, Any]:
    """Hold a trial, whose draws are its own; calls of a language model are kept in ``calls.db`` of ``folder``."""
    settings, calls = resolved.settings, folder / CALLS_FILE
    opened = model_client(settings, trial_seed(settings.seed, job.trial), calls) if asks(resolved) else nullcontext()
    with opened as asker:
        return trial_record(resolved, job.trial, debate(resolved, job.trial, report, asker))
