"""Arms × trials of debates, in processes of their own, into a folder that can be completed later.

A trial that is recorded is not held again: the same command with the same folder goes on where it stopped, and one that
asks for more trials or arms adds them. What stands in the folder must belong to the same settings, arguments and
version, or it is refused.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from townsquare.core.errors import RecordError, SettingError, TownsquareError, WrongVersion
from townsquare.core.private_files import make_folder
from townsquare.debate.record import Plain, read_trial, trial_record, write_json
from townsquare.debate.resolve import Resolved, resolve_debates
from townsquare.debate.results import FILE, ArmOfDebates, HeldDebates
from townsquare.debate.settings import ALIASES
from townsquare.debate.start import asks, check_starts, door_of
from townsquare.debate.store import Keeper, keeper_of
from townsquare.debate.trial import debate
from townsquare.experiments.arms import Arm, arms_of
from townsquare.experiments.cluster.ray_cluster import HERE, checked_place
from townsquare.experiments.cluster.ray_pool import RayPool
from townsquare.experiments.cluster.scratch import scratch_folder
from townsquare.experiments.cluster.stores import ObjectStore
from townsquare.experiments.workers import Pool, Report, end_where_main_is_imported
from townsquare.models.contract import Call
from townsquare.models.store import FILE as CALLS_FILE
from townsquare.models.store import SqliteCalls
from townsquare.record.lock import RunLock
from townsquare.record.postgresql.address import Address
from townsquare.settings.layers import Layer

NOT_OVER = {"seed": "trials have draws of their own: --trials", "trials": "give --trials", "start.tolerance": ""}
"""Settings that no arm can differ in, and what to do instead."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is: trials that ended of all, rounds of all, and how many trials failed."""

    trials_done: int
    trials: int
    rounds_done: int
    rounds: int
    failed: int


def arms_over(over: Mapping[str, Sequence[Any]], *, one_at_a_time: bool = False) -> tuple[Arm, ...]:
    """The arms of a sweep: every combination of the values, or the values of one setting after the other.

    Raises
    ------
    SettingError
        A setting has no values or one twice, or is none that arms can differ in.

    >>> [arm.name for arm in arms_over({"u": [0.2, 0.4], "a": [1.0]}, one_at_a_time=True)]
    ['u=0.2', 'u=0.4', 'a=1.0']
    """
    for key in over:
        if ALIASES.get(key, key) in NOT_OVER:
            raise SettingError(f"--over {key}", got="a setting that all arms share", do=NOT_OVER[ALIASES.get(key, key)])
    if not one_at_a_time:
        return arms_of(over)
    return tuple(itertools.chain.from_iterable(arms_of({key: values}) for key, values in over.items()))


def hold_debates(
    layers: Sequence[Layer],
    arms: Sequence[Arm],
    out: Path,
    workers: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
    on: str = HERE,
    store: ObjectStore | None = None,
    record: Address | None = None,
) -> HeldDebates:
    """Hold the trials of every arm that are not recorded yet.

    Parameters
    ----------
    layers : sequence of mapping
        Settings that all arms share, as :func:`townsquare.debate.resolve.resolve_debates` takes them.
    arms : sequence of Arm
        What each changes.
    out : Path
        Folder: new, or of the same debates.
    workers : int
        Processes at a time; 1 holds all in this one, unless a cluster does. More import the main script, which must
        call this function only below ``if __name__ == "__main__":``.
    on_progress : callable, optional
        Called now and then.
    on : str
        "" for processes of this machine; ``ray`` or ``ray://HOST:PORT`` for a cluster. Records come back from there.
    store : ObjectStore, optional
        Where all that comes into ``out`` is copied, each trial when it has ended.
    record : Address, optional
        Schema of a PostgreSQL server that keeps the trials too, and gives back those that ``out`` has not.

    Returns
    -------
    HeldDebates
        Trials that failed are in it with their errors; the others do not suffer.

    Raises
    ------
    SettingError, UnknownName, DataError
        Before anything is held: also if arms start further apart than ``start.tolerance``.
    WrongVersion, RecordError
        The folder holds other debates, or something else.
    KeyboardInterrupt
        When interrupted; recorded trials are safe.
    """
    end_where_main_is_imported()
    checked_place(on)
    found = {arm.name: resolve_debates(*layers, arm.changes) for arm in arms}
    _check_distinct(found)
    trials = next(iter(found.values())).settings.trials
    check_starts(found, range(1, trials + 1))
    listed = tuple(
        ArmOfDebates(arm.name, arm.slug, dict(arm.changes), found[arm.name].plain(), found[arm.name].bank.statement,
                     found[arm.name].digest)
        for arm in arms
    )  # fmt: skip
    _check_folder(out)
    make_folder(out)
    lock = RunLock(out)
    try:
        held = HeldDebates(out, listed, trials)
        with keeper_of(held, store, record) as keeper:
            keeper.bring()
            where = store.where if store is not None else str(out.resolve()) if on != HERE else ""
            jobs = [
                TrialJob(held.trial_file(arm, trial), arm.settings, trial, where and f"{where}/{arm.slug}")
                for arm in listed
                for trial in range(1, trials + 1)
                if not _is_recorded(held.trial_file(arm, trial), arm.digest)
            ]
            write_json(out / FILE, held.plain())
            keeper.keep(out / FILE)
            return _hold_all(jobs, workers, on_progress, keeper, on)
    finally:
        lock.release()


def _check_distinct(found: Mapping[str, Resolved]) -> None:
    for one, other in itertools.combinations(found, 2):
        if found[one].digest == found[other].digest:
            raise SettingError("arms", got=f"{one} and {other}, which are the same", do="leave one out")


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise RecordError(str(out), got="a file", allowed="a folder, which need not be there yet")
    if out.is_dir() and any(out.iterdir()) and not (out / FILE).is_file():
        raise RecordError(str(out), got="a folder that holds other things", allowed="a new folder, or one of debates")


def _is_recorded(path: Path, digest: str) -> bool:
    if not path.is_file():
        return False
    if read_trial(path)["digest"] != digest:
        raise WrongVersion(
            str(path), got="a trial of other settings, arguments or version", do="choose another folder, or delete it"
        )
    return True


def _hold_all(
    jobs: Sequence[TrialJob],
    workers: int,
    on_progress: Callable[[Progress], None] | None,
    keeper: Keeper,
    on: str,
) -> HeldDebates:
    held = keeper.held
    total = len(held.arms) * held.trials
    rounds = sum(job.settings["rounds"] for job in jobs)
    failed: dict[int, str] = {}
    ended: set[int] = set()

    def on_poll(steps: Sequence[int]) -> None:
        if on_progress is not None:
            done = sum(max(0, step) for step in steps)
            on_progress(Progress(total - len(jobs) + len(ended), total, done, rounds, len(failed)))

    def on_end(index: int, result: TrialResult | BaseException | None) -> None:
        if isinstance(result, TrialResult):
            for file in record_result(result, jobs[index].path):
                keeper.keep(file)
            result = result.error
        elif result is None:
            keeper.keep(jobs[index].path)
        if isinstance(result, KeyboardInterrupt):
            return
        ended.add(index)
        if isinstance(result, BaseException):
            failed[index] = f"{type(result).__name__}: {result}"

    if on != HERE:
        RayPool(hold, workers or None, on_poll, on_end, on).run(jobs)
    elif workers > 1 and len(jobs) > 1:
        Pool(hold, workers, on_poll, on_end).run(jobs)
    else:
        _hold_here(jobs, on_poll, on_end)
    slug = {held.trial_file(arm, 1).parent: arm.name for arm in held.arms}
    rows = tuple((slug[jobs[k].path.parent], jobs[k].trial, error) for k, error in sorted(failed.items()))
    now = replace(held, failed=rows)
    write_json(held.folder / FILE, now.plain())
    keeper.keep(held.folder / FILE)
    return now


def _hold_here(
    jobs: Sequence[TrialJob],
    on_poll: Callable[[Sequence[int]], None],
    on_end: Callable[[int, TrialResult | BaseException | None], None],
) -> None:
    """All trials in this process; one that fails on purpose is reported, a fault of ours is not caught."""
    steps = [0] * len(jobs)
    for index, job in enumerate(jobs):

        def report(step: int, index: int = index) -> None:
            steps[index] = step

        try:
            result = hold(job, report)
        except TownsquareError as error:
            on_end(index, error)
        else:
            on_end(index, result)
            if result is not None and isinstance(result.error, KeyboardInterrupt):
                raise result.error
        on_poll(steps)


def processors() -> int:
    """Processes that this machine can run side by side."""
    return os.cpu_count() or 1


# One trial of a debate as a job: held, and recorded where it was ordered, also if another machine holds it.


@dataclass(frozen=True, slots=True)
class TrialJob:
    """One trial for another process, as plain values.

    ``away`` is "" if that process writes to ``path`` itself, else what the trial is called whoever holds it where.
    """

    path: Path
    settings: Mapping[str, Any]
    trial: int
    away: str = ""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """A trial that was held away: its record, or the error that ended it, and the calls of language models it made."""

    record: Plain | None
    calls: Sequence[Call] = ()
    error: BaseException | None = None


def hold(job: TrialJob, report: Report) -> TrialResult | None:
    """Hold one trial; record it, or, where it is held away, give it back."""
    found = resolve_debates(job.settings)
    if not job.away:
        write_json(job.path, _held(found, job, report, job.path.parent.parent))
        return None
    name = hashlib.sha256(f"{job.away}\n{found.digest}\n{job.trial}".encode()).hexdigest()[:24]
    folder = scratch_folder() / name
    make_folder(folder)
    record, ended = None, None
    try:
        record = _held(found, job, report, folder)
    except (TownsquareError, KeyboardInterrupt) as error:
        ended = error
    result = TrialResult(record, _calls_in(folder), ended)
    shutil.rmtree(folder, ignore_errors=True)
    return result


def record_result(result: TrialResult, path: Path) -> list[Path]:
    """Record in its folder what was held away; the files that changed, of which that of the trial is the last."""
    changed = []
    if result.calls:
        with closing(SqliteCalls(path.parent.parent / CALLS_FILE)) as store:
            store.put_all(result.calls)
        changed.append(path.parent.parent / CALLS_FILE)
    if result.record is not None:
        write_json(path, result.record)
        changed.append(path)
    return changed


def _held(found: Resolved, job: TrialJob, report: Report, folder: Path) -> Plain:
    with ExitStack() as stack:
        asker = stack.enter_context(door_of(found, job.trial, folder)) if asks(found) else None
        return trial_record(found, job.trial, debate(found, job.trial, report, asker))


def _calls_in(folder: Path) -> Sequence[Call]:
    if not (folder / CALLS_FILE).is_file():
        return ()
    with closing(SqliteCalls(folder / CALLS_FILE, read_only=True)) as store:
        return tuple(store)
