"""Compares arms: executes every arm with every seed, in separate processes, and measures the outcomes.

Every run has its own folder, ``<out>/<arm>/seed-<n>``, and can be read, resumed and verified like any other.
``experiment.json`` records the requested runs and the finished ones. Repeating the same comparison continues where it
stopped; more seeds or arms are added to it. A Ray cluster can execute the runs, an object store can hold them, and a
PostgreSQL server can hold their rows; their content is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from townsquare.analysis import outcomes
from townsquare.analysis.contract import CachedRun
from townsquare.core.errors import RecordError, RunsFailed, SettingError, WrongVersion
from townsquare.core.threads import threads_for
from townsquare.experiments.arms import Arm, arms_of, check_distinct, parse_seeds
from townsquare.experiments.cluster.ray_cluster import HERE, checked_place
from townsquare.experiments.cluster.schemas import check_schemas, schemas_for
from townsquare.experiments.cluster.scratch import written_here
from townsquare.experiments.cluster.stores import ObjectStore, shared_folder
from townsquare.experiments.execution import (
    ExecutionTargets,
    Progress,
    check_folder,
    check_workers,
    execute,
    locked_folder,
)
from townsquare.experiments.extracts import KINDS
from townsquare.experiments.manifest import FILE, FINISHED, WAITING, ArmRun, Experiment, RunResult
from townsquare.experiments.primary import primary_outcome
from townsquare.experiments.run_folders import NEW, RUNNING, go_on, holds_run, state_of
from townsquare.experiments.run_notes import check_varied
from townsquare.experiments.start_check import check_starts
from townsquare.experiments.workers import Report, end_where_main_is_imported
from townsquare.models.contract import member_asks
from townsquare.record.postgresql.address import Address
from townsquare.record.run import Run
from townsquare.record.sqlite import SCENARIO_COPY, complete
from townsquare.scenario.load import load_scenario
from townsquare.scenario.settings import resolve_with_scenario
from townsquare.settings.layers import Layer
from townsquare.settings.resolve import Settings, resolve
from townsquare.simulation.scenario_copy import copy_scenario
from townsquare.simulation.step import begin

__all__ = ["ExecutionTargets", "Experiment", "Progress", "compare"]


@dataclass(frozen=True, slots=True)
class _Job:
    """One run for another process, as plain values. With a store, the run is first written to a local folder."""

    run: ArmRun
    folder: Path
    settings: Mapping[str, Any]
    store: ObjectStore | None
    address: Address | None

    @property
    def steps(self) -> int:
        return int(self.settings["steps"])


_Results = Generator[tuple[_Job, RunResult | BaseException]]


def compare(
    base_layers: Sequence[Layer],
    vary: Mapping[str, Sequence[Any]],
    seeds: Sequence[int] | int | str,
    out: Path | str,
    workers: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    targets: ExecutionTargets | None = None,
    *,
    outcome: str | None = None,
    one_at_a_time: bool = False,
    on_result: Callable[[Experiment], None] | None = None,
) -> Experiment:
    """Run every arm with every seed, after trying step 0 of one new run, so that errors appear early.

    Parameters
    ----------
    base_layers : sequence of mapping
        Settings that all arms share, in the form of :func:`townsquare.settings.resolve.resolve`; they override the
        scenario's own settings.
    vary : mapping of str to sequence
        Dotted path of a setting -> its values. Arms are all combinations, the baseline first. Empty: one arm.
    seeds : sequence of int, int or str
        The seeds of every arm; a number or a text is read by :func:`townsquare.experiments.arms.parse_seeds`.
    out : Path or str
        As for :func:`townsquare.compare`. On a cluster without a store, all machines must share it under this path.
    workers : int, optional
        As for :func:`townsquare.compare`. A main script must register its own members when it is imported.
    on_progress : callable, optional
        Called a few times a second.
    targets : ExecutionTargets, optional
        Where runs are executed and recorded.
    outcome : str, optional
        As for :func:`townsquare.experiments.primary.primary_outcome`.
    one_at_a_time : bool
        Arms are the values of one setting after the other, not all combinations.
    on_result : callable, optional
        Called with what is known after each run.

    Returns
    -------
    Experiment
        With failed runs and their errors (:attr:`Experiment.errors`).

    Raises
    ------
    SettingError, UnknownName, DataError
        Before anything has run.
    RunsFailed
        Every run failed; the exception and the files in ``out`` hold the errors.
    WrongVersion, RecordError, KeyboardInterrupt
        ``out`` holds something else; or the user interrupted the comparison, whose current steps were saved first.
    """
    end_where_main_is_imported()
    targets, out, root = targets or ExecutionTargets(), Path(out), Path(out).resolve()
    checked_place(targets.on)
    check_workers(workers)
    arms, seeds = arms_of(vary, one_at_a_time=one_at_a_time), _listed(seeds, base_layers)
    settings = _resolve_all(base_layers, arms, seeds)
    primary = primary_outcome(load_scenario(settings[arms[0].name, seeds[0]].config.scenario), outcome)
    check_folder(out, FILE, "a comparison")
    runs = [ArmRun(arm.name, s, f"{arm.slug}/seed-{s}", settings[arm.name, s].digest) for arm in arms for s in seeds]
    wanted = {run.folder: settings[run.arm, run.seed] for run in runs}
    states = {folder: _state(out / folder, of_run) for folder, of_run in wanted.items()}
    store = targets.store or (shared_folder(out) if targets.on != HERE else None)
    finished = _finished_in(store, out, runs)
    runs = [finished.get(run.folder, run) for run in runs]
    todo = [run for s in seeds for run in runs if run.seed == s and run.state == WAITING]  # all arms known early
    addresses = {} if targets.record is None else _addresses(targets.record, out, runs, wanted)
    _check_first([wanted[run.folder] for run in todo if states[run.folder] == NEW])
    jobs = [_Job(run, root / run.folder, wanted[run.folder].plain(), store, addresses.get(run.folder)) for run in todo]
    steps = sum(wanted[folder].config.steps for folder in finished)
    earlier = Progress(len(finished), len(finished), steps, steps)
    with locked_folder(out):
        experiment = Experiment(out, dict(vary), arms, tuple(seeds), tuple(runs), primary)
        experiment.save(targets.store)
        if targets.with_copy and targets.record is None:
            _copy_scenarios(out, settings.values(), targets.store)
        results = execute(_execute, jobs, targets, workers, earlier, on_progress)
        return _recorded(experiment, results, targets.store, on_result)


def _state(folder: Path, settings: Settings) -> str:
    state = state_of(folder, settings)
    if state == RUNNING:
        raise RecordError(str(folder), got="a run that another process is writing", do="wait until it ends")
    return state


def _listed(seeds: Sequence[int] | int | str, base_layers: Sequence[Layer]) -> list[int]:
    if isinstance(seeds, int | str):
        return parse_seeds(str(seeds), resolve_with_scenario(*base_layers).config.seed)
    return list(seeds)


def _check_first(new: Sequence[Settings]) -> None:
    """Take the first new run to step 0 in memory, so that errors common to all runs appear before any run begins."""
    if new and not member_asks(new[0].members["extractor"], new[0].params["extractor"]):
        with threads_for(new[0].config.agents):
            begin(new[0], load_scenario(new[0].config.scenario))


def _finished_in(store: ObjectStore | None, out: Path, runs: Sequence[ArmRun]) -> dict[str, ArmRun]:
    """Return, by folder, the runs that an earlier command finished and that the store holds."""
    if store is None or not (out / FILE).is_file():
        return {}
    earlier = {run.folder: run for run in Experiment.load(out).runs}
    for run in runs:
        if run.folder in earlier and earlier[run.folder].digest != run.digest:
            where = f"{store.where}/{run.folder}"
            raise WrongVersion(where, got="a run of other settings or another version", do="choose another --out")
    wanted = [earlier[run.folder] for run in runs if run.folder in earlier]
    return {run.folder: run for run in wanted if run.state == FINISHED and store.holds(run.folder)}


def _addresses(
    base: Address, out: Path, runs: Sequence[ArmRun], settings: Mapping[str, Settings]
) -> dict[str, Address]:
    """Return the address on a server for the rows of each new run, by folder."""
    new = [run for run in runs if not holds_run(out / run.folder)]
    addresses = schemas_for(base, new)
    waiting = {run.folder: addresses[run.folder] for run in new if run.state == WAITING}
    check_schemas(waiting, settings, is_new=not (out / FILE).is_file())
    return addresses


def _copy_scenarios(out: Path, runs: Iterable[Settings], store: ObjectStore | None) -> None:
    """Copy each scenario once for all runs, here and to the store."""
    by_name: dict[str, list[Settings]] = {}
    for settings in runs:
        by_name.setdefault(settings.config.scenario, []).append(settings)
    for listed in by_name.values():
        copy_scenario(load_scenario(listed[0].config.scenario), listed, out)
    for file in sorted((out / SCENARIO_COPY).rglob("*")) if store is not None else ():
        if store is not None and file.is_file():
            store.put_file(file, file.relative_to(out).as_posix())


def _resolve_all(base: Sequence[Layer], arms: Sequence[Arm], seeds: Sequence[int]) -> dict[tuple[str, int], Settings]:
    """Return settings by (arm, seed); every arm is resolved before the first run begins."""
    if not seeds or len(set(seeds)) < len(seeds):
        raise SettingError("seeds", got=str(list(seeds)), allowed="different whole numbers, at least one")
    settings: dict[tuple[str, int], Settings] = {}
    for arm in arms:
        plain = resolve_with_scenario(*base, arm.changes, {"seed": seeds[0]}).plain()
        settings |= {(arm.name, seed): resolve(plain, {"seed": seed}) for seed in seeds}
    firsts = {arm.name: settings[arm.name, seeds[0]] for arm in arms}
    check_distinct(firsts)
    check_varied(firsts.values(), {key for arm in arms for key in arm.changes})
    check_starts(firsts)
    return settings


def _recorded(
    experiment: Experiment, results: _Results, store: ObjectStore | None, on_result: Callable[[Experiment], None] | None
) -> Experiment:
    """Return a comparison with the results of its jobs; it is saved after each."""
    extracts: dict[str, dict[str, pl.DataFrame]] = {kind.file: {} for kind in KINDS}
    try:
        with closing(results):
            for job, result in results:
                experiment = experiment.record(job.run, _seen(job, result))
                if isinstance(result, RunResult):
                    for file, frame in result.extracts.items():
                        extracts[file][result.content_hash] = frame
                with suppress(RecordError):  # a failed write ends no run: the last write counts
                    experiment.save(store)
                if on_result is not None:
                    on_result(experiment)
    finally:
        for kind in KINDS:
            if extracts[kind.file]:
                experiment.store(kind, extracts[kind.file])
    experiment.save(store)
    if experiment.failed and not experiment.finished:
        do = "fix these errors and run the same command again"
        raise RunsFailed(str(experiment.folder), got="; ".join(experiment.errors), do=do)
    return experiment


def _seen(job: _Job, result: RunResult | BaseException) -> RunResult | BaseException:
    """Return the result, or an error if the run was written to a folder that only another machine can see."""
    if isinstance(result, RunResult) and job.store and job.store.is_folder and not job.store.holds(job.run.folder):
        do = "set --out to a folder that all machines share, or to an object store"
        return RecordError(str(job.folder), got="nothing: another folder of this name has the run", do=do)
    return result


def _execute(job: _Job, report: Report) -> RunResult:
    """Execute or complete one run, in its own process, and measure it."""
    settings = resolve(job.settings)
    here = nullcontext(job.folder) if job.store is None else written_here(job.store, job.run.folder, settings)
    with here as folder:
        if state_of(folder, settings) == FINISHED:
            complete(folder)
            run = Run.open(folder)
        else:
            address = None if holds_run(folder) else job.address
            run = go_on(folder, settings, lambda summary: report(summary.step), address=address, with_copy=False)
        read = CachedRun(run, large=True)
        return RunResult(read.content_hash, outcomes(read), {kind.file: kind.of(read) for kind in KINDS})
