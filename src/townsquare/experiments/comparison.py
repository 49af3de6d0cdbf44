"""Arms x seeds: the same runs under settings that vary, in processes of their own, and what came of them.

Every run has a folder of its own, ``<out>/<arm>/seed-<n>``, and can be read, resumed and verified like any other.
``experiment.json`` says what was asked for and what has been done. Asking again for the same comparison goes on where
it stopped; asking for more seeds or arms adds them. Runs may be executed by a Ray cluster, go to an object store, and
have their rows on a PostgreSQL server: what is in them is the same.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from townsquare.analysis import outcomes
from townsquare.core.errors import RecordError, RunsFailed, SettingError, WrongVersion
from townsquare.core.private_files import make_folder
from townsquare.core.threads import threads_for
from townsquare.experiments.arms import Arm, arms_of, parse_seeds
from townsquare.experiments.cluster.ray_cluster import HERE, checked_place
from townsquare.experiments.cluster.ray_pool import RayPool
from townsquare.experiments.cluster.schemas import check_schemas, schemas_for
from townsquare.experiments.cluster.scratch import written_here
from townsquare.experiments.cluster.stores import ObjectStore, SharedFolder, Store
from townsquare.experiments.manifest import FAILED, FILE, STOPPED, WAITING, ArmRun, Experiment
from townsquare.experiments.manifest import FINISHED as DONE
from townsquare.experiments.run_folders import FINISHED, NEW, RUNNING, go_on, holds_run, state_of
from townsquare.experiments.start_check import check_starts
from townsquare.experiments.workers import Pool, Report, end_where_main_is_imported
from townsquare.models.contract import member_asks
from townsquare.record.lock import RunLock
from townsquare.record.postgresql.address import Address
from townsquare.record.run import Run
from townsquare.record.sqlite import SCENARIO_COPY, complete
from townsquare.scenario.load import load_scenario
from townsquare.scenario.settings import resolve_with_scenario
from townsquare.settings.layers import Layer
from townsquare.settings.resolve import Settings, resolve
from townsquare.simulation.scenario_copy import copy_scenario
from townsquare.simulation.step import begin

__all__ = ["Experiment", "Places", "Progress", "compare"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a comparison is: runs that ended of all, steps executed of all, and how many runs failed.

    ``again`` is how often a run was begun again because its process, or its machine, was lost: on clusters only.
    """

    runs_done: int
    runs: int
    steps_done: int
    steps: int
    failed: int
    again: int = 0


@dataclass(frozen=True, slots=True)
class Places:
    """Where runs are executed and where their records go; everything on this machine and in ``out`` by default.

    Attributes
    ----------
    on : str
        "" for processes of this machine; ``ray`` or ``ray://HOST:PORT`` for a cluster.
    store : ObjectStore, optional
        Where runs go; the folder then keeps ``experiment.json`` and what else is written about them.
    record : Address, optional
        Of a PostgreSQL server: rows of new runs go there, into schemas whose names begin with that of the address.
    with_copy : bool
        Whether the folder gets a copy of each scenario, for all its runs; never of runs that a server records.
    """

    on: str = HERE
    store: ObjectStore | None = None
    record: Address | None = None
    with_copy: bool = True


@dataclass(frozen=True, slots=True)
class _Job:
    """One run for another process, as plain values. With a store it is written elsewhere first."""

    folder: Path
    settings: Mapping[str, Any]
    name: str
    store: Store | None
    address: Address | None


@dataclass(frozen=True, slots=True)
class _Done:
    content_hash: str
    outcomes: dict[str, float]


def compare(
    base_layers: Sequence[Layer],
    vary: Mapping[str, Sequence[Any]],
    seeds: Sequence[int] | int | str,
    out: Path | str,
    workers: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    places: Places | None = None,
) -> Experiment:
    """Run every arm with every seed, after one run was begun and dropped to see whether it can be.

    Parameters
    ----------
    base_layers : sequence of mapping
        Settings that all arms share, as :func:`townsquare.settings.resolve.resolve` takes them; the scenario is put
        below.
    vary : mapping of str to sequence
        Dotted path of a setting -> its values. The arms are all combinations; the first is the baseline. Empty: one.
    seeds : sequence of int, int or str
        The seeds of every arm; a number or a text as :func:`townsquare.experiments.arms.parse_seeds` takes it.
    out : Path or str
        Folder of the comparison: new, or of an earlier one, which is then completed. On a cluster, without a store,
        one that all its machines see under this path.
    workers : int, optional
        Processes at a time; by default as many as there are processors. 1 is this process. More import the main
        script, which must register members of its own (:func:`townsquare.core.registry.register`) when it is imported,
        and must call this function only below ``if __name__ == "__main__":``.
    on_progress : callable, optional
        Called a few times a second.
    places : Places, optional
        Where runs are executed and recorded.

    Returns
    -------
    Experiment
        Runs that failed are in it, with their errors (:attr:`Experiment.errors`); the others do not suffer.

    Raises
    ------
    SettingError, UnknownName, DataError
        Before anything has run.
    RunsFailed
        No run ended well; the errors are in it and in ``out``.
    WrongVersion, RecordError
        ``out`` holds other runs, or something else.
    KeyboardInterrupt
        When interrupted, after the steps in hand were saved.
    """
    end_where_main_is_imported()
    places, out = places or Places(), Path(out)
    checked_place(places.on)
    arms = arms_of(vary)
    seeds = _listed(seeds, base_layers)
    settings = _resolve_all(base_layers, arms, seeds)
    check_starts({arm.name: settings[arm.name, seeds[0]] for arm in arms})
    _check_folder(out)
    pairs = itertools.product(arms, seeds)
    runs = [ArmRun(arm.name, seed, f"{arm.slug}/seed-{seed}", settings[arm.name, seed].digest) for arm, seed in pairs]
    by_folder = {run.folder: settings[run.arm, run.seed] for run in runs}
    states = {folder: state_of(out / folder, wanted) for folder, wanted in by_folder.items()}
    for folder in (folder for folder, state in states.items() if state == RUNNING):
        raise RecordError(str(out / folder), got="a run that another process is writing", do="wait until it ends")
    plan = _planned(out.resolve(), places, runs, by_folder)
    runs = [_kept(run, plan) for run in runs]
    _check_first([by_folder[run.folder] for run in runs if run.state == WAITING and states[run.folder] == NEW])
    make_folder(out)
    lock = RunLock(out)
    try:
        experiment = Experiment(out, dict(vary), arms, tuple(seeds), tuple(runs))
        _save(experiment, places)
        if places.with_copy and places.record is None:
            _copy_scenarios(out, settings.values(), places.store)
        found = _execute_all(experiment, plan, workers, on_progress, places)
    finally:
        lock.release()
    if found.failed and not found.finished:
        raise RunsFailed(str(out), got="; ".join(found.errors), do="fix these errors and run the same command again")
    return found


def _listed(seeds: Sequence[int] | int | str, base_layers: Sequence[Layer]) -> list[int]:
    if isinstance(seeds, int | str):
        return parse_seeds(str(seeds), resolve_with_scenario(*base_layers).config.seed)
    return list(seeds)


def _check_first(new: Sequence[Settings]) -> None:
    """Take the first of the new runs to its step 0, in memory: what is wrong with all is said before any begins."""
    if new and not member_asks(new[0].members["extractor"], new[0].params["extractor"]):
        with threads_for(new[0].config.agents):
            begin(new[0], load_scenario(new[0].config.scenario))


@dataclass(frozen=True, slots=True)
class _Plan:
    """Jobs by the folder of their run; what an earlier command says of them; where they go, if not in place."""

    jobs: Mapping[str, _Job]
    earlier: Mapping[str, ArmRun]
    store: Store | None


def _planned(out: Path, places: Places, runs: Sequence[ArmRun], settings: Mapping[str, Settings]) -> _Plan:
    store: Store | None = places.store or (SharedFolder(out) if places.on != HERE else None)
    is_new = not (out / FILE).is_file()
    begun = {run.folder: run for run in Experiment.load(out).runs} if not is_new and store is not None else {}
    for run in runs:
        before = begun.get(run.folder)
        if before is not None and before.digest != run.digest:
            where = f"{store.where if store else out}/{run.folder}"
            raise WrongVersion(where, got="a run of other settings or another version", do="choose another --out")
    addresses: dict[str, Address] = {}
    if places.record is not None:
        addresses = schemas_for(places.record, [run for run in runs if not holds_run(out / run.folder)])
        unknown = {folder: address for folder, address in addresses.items() if _is_open(begun.get(folder))}
        check_schemas(unknown, settings, is_new=is_new)
    jobs = {
        run.folder: _Job(
            out / run.folder, settings[run.folder].plain(), run.folder, store, addresses.get(run.folder)
        )
        for run in runs
    }  # fmt: skip
    return _Plan(jobs, begun, store)


def _is_open(run: ArmRun | None) -> bool:
    return run is None or run.state != DONE


def _kept(run: ArmRun, plan: _Plan) -> ArmRun:
    """A run that is in the store already, as it was; else as it is wanted."""
    before = plan.earlier.get(run.folder)
    if before is None or before.state != DONE or plan.store is None or not plan.store.holds(run.folder):
        return run
    return before


def _save(experiment: Experiment, places: Places) -> None:
    experiment.save()
    if places.store is not None:
        places.store.put_file(experiment.folder / FILE, FILE)


def _copy_scenarios(out: Path, runs: Iterable[Settings], store: ObjectStore | None) -> None:
    """One copy of each scenario for all runs, here and in the store."""
    by_name: dict[str, list[Settings]] = {}
    for one in runs:
        by_name.setdefault(one.config.scenario, []).append(one)
    for listed in by_name.values():
        copy_scenario(load_scenario(listed[0].config.scenario), listed, out)
    for file in sorted((out / SCENARIO_COPY).rglob("*")) if store is not None else ():
        if store is not None and file.is_file():
            store.put_file(file, file.relative_to(out).as_posix())


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
    plan: _Plan,
    workers: int | None,
    on_progress: Callable[[Progress], None] | None,
    places: Places,
) -> Experiment:
    runs = list(experiment.runs)
    wanted = [plan.jobs[run.folder].settings["steps"] for run in runs]
    todo = [place for place, run in enumerate(runs) if run.state == WAITING]
    steps_now, again = [0] * len(runs), [0]

    def save() -> Experiment:
        now = experiment.with_runs(runs)
        _save(now, places)
        return now

    def on_end(index: int, result: _Done | BaseException) -> None:
        run = runs[todo[index]]
        runs[todo[index]] = _ended(run, _found(result, plan.jobs[run.folder]))
        with suppress(RecordError):  # what cannot be written for a moment ends no run: the last time counts
            save()

    def on_again(_index: int) -> None:
        again[0] += 1

    def on_poll(steps: Sequence[int]) -> None:
        if on_progress is None:
            return
        for place, step in zip(todo, steps, strict=True):
            steps_now[place] = max(0, step)
        ended = sum(run.state != WAITING for run in runs)
        done = sum(
            total if run.state == DONE else step for run, step, total in zip(runs, steps_now, wanted, strict=True)
        )
        failed = sum(run.state == FAILED for run in runs)
        on_progress(Progress(ended, len(runs), done, sum(wanted), failed, again[0]))

    jobs = [plan.jobs[runs[place].folder] for place in todo]
    if not jobs:
        on_poll([])
    elif places.on == HERE:
        Pool(_execute, workers or os.cpu_count() or 1, on_poll, on_end).run(jobs)
    else:
        RayPool(_execute, workers, on_poll, on_end, places.on, on_again).run(jobs)
    return save()


def _found(result: _Done | BaseException, job: _Job) -> _Done | BaseException:
    """The result, unless the run went into a folder that only another machine sees."""
    if isinstance(result, _Done) and isinstance(job.store, SharedFolder) and not job.store.holds(job.name):
        do = "give --out a folder that all machines share, or an object store"
        return RecordError(str(job.folder), got="nothing: the machine that ran it has another folder there", do=do)
    return result


def _ended(run: ArmRun, result: _Done | BaseException) -> ArmRun:
    if isinstance(result, KeyboardInterrupt):
        return run.ended(STOPPED)
    if isinstance(result, BaseException):
        return run.ended(FAILED, error=f"{type(result).__name__}: {result}")
    return run.ended(DONE, content_hash=result.content_hash, outcomes=result.outcomes)


def _execute(job: _Job, report: Report) -> _Done:
    """One run, in its own process: executed or completed if it is not finished, then measured."""
    settings = resolve(job.settings)
    if job.store is None:
        return _completed(job, job.folder, settings, report)
    with written_here(job.store, job.name, settings) as folder:
        return _completed(job, folder, settings, report)


def _completed(job: _Job, folder: Path, settings: Settings, report: Report) -> _Done:
    if state_of(folder, settings) == FINISHED:
        complete(folder)
        run = Run.open(folder)
    else:
        address = None if holds_run(folder) else job.address
        run = go_on(folder, settings, on_step=lambda mark: report(mark.step), address=address, with_copy=False)
    return _Done(run.content_hash, outcomes(run))
