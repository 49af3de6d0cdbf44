"""Executing the jobs of a study, which is a comparison or debates: here or on a cluster, each result as it comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from townsquare.core.errors import RecordError, SettingError
from townsquare.core.private_files import make_folder
from townsquare.experiments.cluster.ray_cluster import HERE
from townsquare.experiments.cluster.ray_pool import RayPool
from townsquare.experiments.cluster.stores import ObjectStore
from townsquare.experiments.workers import Pool, Report
from townsquare.record.lock import RunLock
from townsquare.record.postgresql.address import Address


class Job(Protocol):
    """One job for another process, as plain values."""

    @property
    def steps(self) -> int:
        """How many steps it has."""


AnyJob = TypeVar("AnyJob", bound=Job)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ExecutionTargets:
    """Where jobs are executed and where their records go; everything on this machine and in ``out`` by default.

    Attributes
    ----------
    on : str
        "" for processes of this machine; ``ray`` or ``ray://HOST:PORT`` for a cluster.
    store : ObjectStore, optional
        Where records go too; the folder then keeps the list of runs and what else is written about them.
    record : Address, optional
        Of a PostgreSQL server: rows of new runs go there, into schemas whose names begin with that of the address;
        trials of debates go into that very schema, and come from there where the folder has them not.
    with_copy : bool
        Whether the folder gets a copy of each scenario, for all its runs; never of runs that a server records.
    """

    on: str = HERE
    store: ObjectStore | None = None
    record: Address | None = None
    with_copy: bool = True


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a study is: runs that ended of all, steps executed of all, and how many runs failed.

    A run of debates is a trial, and its steps are rounds. ``restarts`` is how often a run was begun again because its
    process, or its machine, was lost: on clusters only.
    """

    runs_done: int
    runs: int
    steps_done: int
    steps: int
    failed: int = 0
    restarts: int = 0


def check_workers(workers: int | None) -> None:
    """Raise ``SettingError`` for a number of processes below 1."""
    if workers is not None and workers < 1:
        raise SettingError("workers", got=str(workers), allowed="a whole number of at least 1")


def check_folder(out: Path, manifest: str, kind: str) -> None:
    """Refuse a folder that holds other things than a study of this kind, by its manifest.

    Raises
    ------
    RecordError
        It does, or is no folder.
    """
    if out.exists() and not out.is_dir():
        raise RecordError(str(out), got="a file", allowed="a folder, new or existing")
    if out.is_dir() and any(out.iterdir()) and not (out / manifest).is_file():
        raise RecordError(str(out), got="a folder with other files", allowed=f"a new folder, or one of {kind}")


@contextmanager
def locked_folder(out: Path) -> Iterator[None]:
    """Make a folder if it is not there, and keep other writers off while the context lasts; ``RunBusy`` if one is."""
    make_folder(out)
    with closing(RunLock(out)):
        yield


def execute(
    function: Callable[[AnyJob, Report], Result],
    jobs: Sequence[AnyJob],
    targets: ExecutionTargets,
    workers: int | None,
    earlier: Progress,
    on_progress: Callable[[Progress], None] | None = None,
) -> Generator[tuple[AnyJob, Result | BaseException]]:
    """Execute jobs, and yield each with its result, or with the exception that ended it; close it to stop early.

    Parameters
    ----------
    function : callable
        ``function(job, report)``, of a module, so that another process can import it. A result with an ``error`` that
        is not None counts as failed.
    workers : int, optional
        Jobs at a time; by default as many as there are processors.
    earlier : Progress
        Runs and steps of the study that are no jobs any more, because they are done.
    on_progress : callable, optional
        Called a few times a second.

    Raises
    ------
    KeyboardInterrupt
        When interrupted: running jobs were asked to stop, have ended and were yielded.
    SettingError
        No process could begin, or there is no such cluster.
    """
    errors: dict[int, BaseException | None] = {}  # of the jobs that ended

    def on_steps(steps: Sequence[int]) -> None:
        if on_progress is None:
            return
        done = (
            job.steps if errors.get(k, job) is None else max(0, step)
            for k, (job, step) in enumerate(zip(jobs, steps, strict=True))
        )
        on_progress(
            Progress(
                runs_done=earlier.runs_done + len(errors),
                runs=earlier.runs + len(jobs),
                steps_done=earlier.steps_done + sum(done),
                steps=earlier.steps + sum(job.steps for job in jobs),
                failed=sum(isinstance(error, Exception) for error in errors.values()),
                restarts=len(pool.lost) if isinstance(pool, RayPool) else 0,
            )
        )

    pool: Any
    if targets.on == HERE:
        pool = Pool(function, workers or os.cpu_count() or 1, on_steps)
    else:
        pool = RayPool(function, targets.on, workers, on_steps)
    if not jobs:
        on_steps([])
    with closing(pool.map(jobs)) as results:
        for index, result in results:
            errors[index] = result if isinstance(result, BaseException) else getattr(result, "error", None)
            yield jobs[index], result
