"""Jobs in processes of their own, which report how far they are and can be asked to stop.

Processes are spawned and compute with one thread each: runs of a comparison are independent, so that many of them side
by side use the machine better than threads within one. Progress is an array in shared memory, one whole number a
job: nothing that a killed process could leave locked.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")
Report = Callable[[int], None]
"""What a job calls with the step it has finished. Raises ``KeyboardInterrupt`` if the job should stop."""

WAITING = -1
POLL = 0.2  # seconds
ONE_THREAD = ("NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Pool(Generic[Job, Result]):
    """Runs ``function(job, report)`` for jobs, at most ``workers`` at a time.

    Attributes
    ----------
    function : callable
        Of a module, so that another process can import it.
    workers : int
        At least 1.
    on_poll : callable
        Called a few times a second with the last reported step of every job, -1 for those that have not begun.
    on_end : callable
        Called with the index of a job and its result, or the exception that ended it. A job whose process was killed
        ends with ``BrokenProcessPool``, and so does nothing else: what ran beside it is run again by itself.
    """

    function: Callable[[Job, Report], Result]
    workers: int
    on_poll: Callable[[Sequence[int]], None]
    on_end: Callable[[int, Result | BaseException], None]

    def run(self, jobs: Sequence[Job]) -> None:
        """Run all jobs.

        Raises
        ------
        KeyboardInterrupt
            When interrupted: running jobs were asked to stop, have ended and were reported.
        """
        context = multiprocessing.get_context("spawn")
        steps = context.Array("q", [WAITING] * len(jobs), lock=False)
        groups = [list(range(len(jobs)))]
        while groups:
            group = groups.pop(0)
            broken = self._run_group(context, jobs, group, steps)
            suspects = [index for index in broken if steps[index] != WAITING]
            if len(group) == 1 or not suspects:
                for index in broken:
                    self.on_end(index, BrokenProcessPool("its process was killed, or ran out of memory"))
                continue
            groups += [[index] for index in suspects]
            rest = [index for index in broken if index not in suspects]
            groups += [rest] if rest else []

    def _run_group(self, context: Any, jobs: Sequence[Job], group: Sequence[int], steps: Any) -> list[int]:
        """Run some jobs in one set of processes; those that did not end because a process was killed."""
        stop = context.Value("b", 0, lock=False)
        workers = min(self.workers, len(group))
        with ProcessPoolExecutor(workers, context, _begin, (steps, stop)) as executor:
            # Processes read this as they start; this one has read its own long ago.
            with in_environment(dict.fromkeys(ONE_THREAD, "1")):
                futures = {executor.submit(_call, self.function, index, jobs[index]): index for index in group}
            try:
                return self._collect(futures, steps)
            except KeyboardInterrupt:
                stop.value = 1
                executor.shutdown(wait=True, cancel_futures=True)
                for future in [future for future in futures if future.cancelled()]:
                    del futures[future]
                self._collect(futures, steps)
                raise
            finally:  # of an error of who is told of results, too: what waits is not begun any more
                stop.value = 1
                executor.shutdown(wait=True, cancel_futures=True)

    def _collect(self, futures: dict[Future[Result], int], steps: Any) -> list[int]:
        """Report what ends, and take it out of ``futures``, until none is left."""
        broken = []
        while futures:
            done, _ = wait(futures, timeout=POLL, return_when="FIRST_COMPLETED")
            for future in done:
                index = futures.pop(future)
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    broken.append(index)
                else:
                    self.on_end(index, error if error is not None else future.result())
            self.on_poll(list(steps))
        return broken


@contextmanager
def in_environment(values: Mapping[str, str]) -> Iterator[None]:
    """These environment variables for whatever reads them meanwhile; afterwards those of before."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_shared: dict[str, Any] = {}


def _begin(steps: Any, stop: Any) -> None:
    """First thing in a new process. An interrupt from the keyboard reaches all processes; the parent decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _shared.update(steps=steps, stop=stop)


def _call(function: Callable[[Job, Report], Result], index: int, job: Job) -> Result:
    def report(step: int) -> None:
        _shared["steps"][index] = step
        if _shared["stop"].value:
            raise KeyboardInterrupt

    report(0)
    return function(job, report)
