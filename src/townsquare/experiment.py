"""Arms x seeds: the same runs under settings that vary, in processes of their own, and what came of them.

Every run has a folder of its own, ``<out>/<arm>/seed-<n>``, and can be read, resumed and verified like any other.
``experiment.json`` says what was asked for and what has been done. Asking again for the same comparison goes on where
it stopped; asking for more seeds or arms adds them.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from townsquare.analysis import outcomes
from townsquare.errors import RecordError, SettingError
from townsquare.evidence.start_check import check_starts
from townsquare.experiments.arms import Arm, arms_of
from townsquare.experiments.manifest import FAILED, FILE, STOPPED, WAITING, ArmRun, Experiment
from townsquare.experiments.manifest import FINISHED as DONE
from townsquare.experiments.run_folders import FINISHED, RUNNING, go_on, state_of
from townsquare.experiments.workers import Pool, Report
from townsquare.record.lock import RunLock
from townsquare.record.run import Run
from townsquare.resolve import Settings, resolve, resolve_with_scenario
from townsquare.settings.layers import Layer

__all__ = ["Experiment", "Progress", "compare"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a comparison is: runs that ended of all, steps executed of all, and how many runs failed."""

    runs_done: int
    runs: int
    steps_done: int
    steps: int
    failed: int


@dataclass(frozen=True, slots=True)
class _Job:
    """One run for another process, as plain values."""

    folder: Path
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Done:
    content_hash: str
    outcomes: dict[str, float]


def compare(
    base_layers: Sequence[Layer],
    vary: Mapping[str, Sequence[Any]],
    seeds: Sequence[int],
    out: Path,
    workers: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Experiment:
    """Run every arm with every seed.

    Parameters
    ----------
    base_layers : sequence of mapping
        Settings that all arms share, as :func:`townsquare.resolve.resolve` takes them; the scenario is put below.
    vary : mapping of str to sequence
        Dotted path of a setting -> its values. The arms are all combinations; the first is the baseline. Empty: one.
    seeds : sequence of int
        The seeds of every arm.
    out : Path
        Folder of the comparison: new, or of an earlier one, which is then completed.
    workers : int, optional
        Processes at a time; by default as many as there are processors. Members registered by
        :func:`townsquare.registry.register` must be so on import of the main script, which processes import too.
    on_progress : callable, optional
        Called a few times a second.

    Returns
    -------
    Experiment
        Runs that failed are in it, with their errors; the others do not suffer.

    Raises
    ------
    SettingError, UnknownName, DataError
        Before anything has run.
    WrongVersion, RecordError
        ``out`` holds other runs, or something else.
    KeyboardInterrupt
        When interrupted, after the steps in hand were saved.
    """
    arms = arms_of(vary)
    settings = _resolve_all(base_layers, arms, seeds)
    check_starts({arm.name: settings[arm.name, seeds[0]] for arm in arms})
    _check_folder(out)
    runs = [
        ArmRun(arm.name, seed, f"{arm.slug}/seed-{seed}", settings[arm.name, seed].digest)
        for arm in arms
        for seed in seeds
    ]
    for run in runs:
        if state_of(out / run.folder, settings[run.arm, run.seed]) == RUNNING:
            raise RecordError(
                str(out / run.folder), got="a run that another process is writing", do="wait until it ends"
            )
    out.mkdir(parents=True, exist_ok=True)
    lock = RunLock(out)
    try:
        experiment = Experiment(out, dict(vary), arms, tuple(seeds), tuple(runs))
        experiment.save()
        return _execute_all(experiment, settings, workers or os.cpu_count() or 1, on_progress)
    finally:
        lock.release()


def _resolve_all(
    base_layers: Sequence[Layer], arms: Sequence[Arm], seeds: Sequence[int]
) -> dict[tuple[str, int], Settings]:
    """Settings by (arm, seed); every arm is resolved before the first run begins."""
    if not seeds or len(set(seeds)) < len(seeds):
        raise SettingError("seeds", got=str(list(seeds)), allowed="different whole numbers, at least one")
    found: dict[tuple[str, int], Settings] = {}
    for arm in arms:
        first = resolve_with_scenario(*base_layers, arm.changes, {"seed": seeds[0]})
        plain = first.plain()
        found |= {(arm.name, seed): resolve(plain, {"seed": seed}) for seed in seeds}
    for one, other in itertools.combinations(arms, 2):
        if found[one.name, seeds[0]] == found[other.name, seeds[0]]:
            raise SettingError("arms", got=f"{one.name} and {other.name}, which are the same", do="leave one out")
    return found


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise RecordError(str(out), got="a file", allowed="a folder, which need not be there yet")
    if out.is_dir() and any(out.iterdir()) and not (out / FILE).is_file():
        raise RecordError(
            str(out), got="a folder that holds other things", allowed="a new folder, or one of a comparison"
        )


def _execute_all(
    experiment: Experiment,
    settings: Mapping[tuple[str, int], Settings],
    workers: int,
    on_progress: Callable[[Progress], None] | None,
) -> Experiment:
    runs = list(experiment.runs)
    wanted = [settings[run.arm, run.seed].config.steps for run in runs]

    def save() -> Experiment:
        now = experiment.with_runs(runs)
        now.save()
        return now

    def on_end(index: int, result: _Done | BaseException) -> None:
        runs[index] = _ended(runs[index], result)
        save()

    def on_poll(steps: Sequence[int]) -> None:
        if on_progress is None:
            return
        ended = [run.state != WAITING for run in runs]
        done = sum(total if end else max(0, step) for end, step, total in zip(ended, steps, wanted, strict=True))
        failed = sum(run.state == FAILED for run in runs)
        on_progress(Progress(sum(ended), len(runs), done, sum(wanted), failed))

    jobs = [_Job(experiment.folder / run.folder, settings[run.arm, run.seed].plain()) for run in runs]
    Pool(_execute, workers, on_poll, on_end).run(jobs)
    return save()


def _ended(run: ArmRun, result: _Done | BaseException) -> ArmRun:
    if isinstance(result, KeyboardInterrupt):
        return run.ended(STOPPED)
    if isinstance(result, BaseException):
        return run.ended(FAILED, error=f"{type(result).__name__}: {result}")
    return run.ended(DONE, content_hash=result.content_hash, outcomes=result.outcomes)


def _execute(job: _Job, report: Report) -> _Done:
    """One run, in its own process: executed or completed if it is not finished, then measured."""
    settings = resolve(job.settings)
    if state_of(job.folder, settings) == FINISHED:
        run = Run.open(job.folder)
    else:
        run = go_on(job.folder, settings, on_step=lambda mark: report(mark.step))
    return _Done(run.content_hash, outcomes(run))
