"""Jobs that test_experiment.py hands to other processes, which import them from here."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

Report = Callable[[int], None]


@dataclass(frozen=True)
class Job:
    """A job of a study: ``how`` it ends, after half of its steps or all."""

    how: str
    steps: int = 4


def end_so(job: Job, report: Report) -> SimpleNamespace:
    """Ends well, raises an error, or gives it back with its result."""
    if job.how == "well":
        report(job.steps)
        return SimpleNamespace(error=None)
    report(job.steps // 2)
    error = ValueError(job.how)
    if job.how == "raises":
        raise error
    return SimpleNamespace(error=error)


def threads(job: int, report: Report) -> tuple[int, str | None]:
    """The process and the number of threads that it was told to use."""
    report(job)
    return os.getpid(), os.environ.get("NUMBA_NUM_THREADS")


def fail_if_odd(job: int, report: Report) -> int:
    """Fails for odd jobs."""
    if job % 2:
        raise ValueError(f"job {job} is odd")
    return job * 10


def die_once(job: tuple[int, Path], report: Report) -> int:
    """Job 2 is killed whenever it runs; the others only wait for a while."""
    number, folder = job
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    (folder / str(number)).touch()
    return number


def leave_a_file(job: Path, report: Report) -> None:
    """Shows that it was begun."""
    job.touch()
    time.sleep(0.05)


def until_stopped(job: int, report: Report) -> None:
    """Reports step after step until it is told to stop."""
    step = 1
    while True:
        report(step)
        step += 1
        time.sleep(0.01)
