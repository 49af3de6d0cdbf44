"""Jobs in processes of their own, which report how far they are and can be asked to stop.

Processes are spawned and compute with one thread each: runs of a comparison are independent, so that many of them side
by side use the machine better than threads within one. Progress is an array in shared memory, one whole number a
job: nothing that a killed process could leave locked. A process ends when its parent does, however the parent ends. One
worker alone is no process but a thread of this one, so that a plain script can use it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from townsquare.core.errors import SettingError
from townsquare.core.former_names import FormerName
from townsquare.core.runtime import take_over

Job = TypeVar("Job")
Result = TypeVar("Result")
Report = Callable[[int], None]
"""What a job calls with the step it has finished. Raises ``KeyboardInterrupt`` if the job should stop."""

WAITING = -1
POLL = 0.2  # seconds
GRACE = 2.0  # seconds that a job has for its step when the parent is gone; then its process ends, its run is safe
STOP_SIGNALS = (signal.SIGINT, signal.SIGHUP)
"""What a terminal sends to all processes of a command: a worker finishes the step in hand, then stops."""
ONE_THREAD = ("NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Pool(Generic[Job, Result]):
    """Runs ``function(job, report)`` for jobs, at most ``workers`` at a time.

    Attributes
    ----------
    function : callable
        Of a module, so that another process can import it.
    workers : int
        At least 1, which is this process: it then needs no guard in the main script, and is not isolated.
    on_steps : callable
        Called a few times a second with the last reported step of every job, -1 for those that have not begun.
    """

    function: Callable[[Job, Report], Result]
    workers: int
    on_steps: Callable[[Sequence[int]], None] = lambda steps: None

    def map(self, jobs: Sequence[Job]) -> Generator[tuple[int, Result | BaseException]]:
        """Run all jobs; yield the place of each that ended, with its result or the exception that ended it.

        A job whose process was killed ends with ``BrokenProcessPool``, and so does nothing else: what ran next to it is
        run again by itself. Close the generator to stop early.

        Raises
        ------
        KeyboardInterrupt
            When interrupted, or when a worker was: running jobs were asked to stop, have ended and were yielded.
        SettingError
            No process could begin, which is so where the main script starts the pool whenever it is imported.
        """
        context = multiprocessing.get_context("spawn")
        steps = context.Array("q", [WAITING] * len(jobs), lock=False)
        has_begun = context.Value("b", 0, lock=False)
        every = list(range(len(jobs)))
        groups = [[index] for index in every] if self.workers == 1 else [every] if jobs else []
        while groups:
            group = groups.pop(0)
            broken = yield from self._run_group(context, jobs, group, steps, has_begun)
            if broken and not has_begun.value:
                do = 'put the code of the script inside `if __name__ == "__main__":`, or set workers=1'
                raise SettingError("workers", got="processes that ended before their first run", do=do)
            suspects = [index for index in broken if steps[index] != WAITING]
            if len(group) == 1 or not suspects:
                killed = BrokenProcessPool("its process was killed or ran out of memory")
                yield from ((index, killed) for index in broken)
            else:
                rest = [index for index in broken if index not in suspects]
                groups += [*([index] for index in suspects), *([rest] if rest else [])]

    def _run_group(
        self, context: Any, jobs: Sequence[Job], group: Sequence[int], steps: Any, has_begun: Any
    ) -> Generator[tuple[int, Result | BaseException], None, list[int]]:
        """Run some jobs in one set of processes; return those that did not end because a process was killed."""
        stop = context.Value("b", 0, lock=False)
        executor: Executor
        call: Callable[..., Result]
        if self.workers == 1:
            executor, call = ThreadPoolExecutor(1, "townsquare-job"), partial(_reported, steps, stop)
        else:
            with _signals_held():  # the process that cleans up after the others starts here, and hears no signal ever
                executor = ProcessPoolExecutor(min(self.workers, len(group)), context, _begin, (steps, stop, has_begun))
            call = _call
        broken: list[int] = []
        with executor:
            # Processes read this as they start; this one keeps its own.
            with in_environment({} if self.workers == 1 else dict.fromkeys(ONE_THREAD, "1")), _signals_held():
                futures = {executor.submit(call, self.function, index, jobs[index]): index for index in group}
            try:
                yield from self._collect(futures, steps, broken)
                if stop.value:
                    raise KeyboardInterrupt
                return broken
            except KeyboardInterrupt:
                stop.value = 1
                executor.shutdown(wait=True, cancel_futures=True)
                left = {future: index for future, index in futures.items() if not future.cancelled()}
                yield from self._collect(left, steps, broken)
                raise
            finally:  # of an error of who takes the results, too: what waits is not begun any more
                stop.value = 1
                executor.shutdown(wait=True, cancel_futures=True)

    def _collect(
        self, futures: dict[Future[Result], int], steps: Any, broken: list[int]
    ) -> Iterator[tuple[int, Result | BaseException]]:
        """Yield what ends, and take it out of ``futures``, until none is left; note the ``broken`` ones."""
        while futures:
            done, _ = wait(futures, timeout=POLL, return_when="FIRST_COMPLETED")
            for future in done:
                index = futures.pop(future)
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    broken.append(index)
                else:
                    yield index, future.result() if error is None else error
            self.on_steps(list(steps))


@contextmanager
def in_environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables while the context lasts."""
    before = {name: os.environ[name] for name in values if name in os.environ}
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            os.environ.pop(name, None)
        os.environ.update(before)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Have processes that start meanwhile hear no signal before :func:`_begin` knows what to do about it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_where_main_is_imported() -> None:
    """End a process of a pool that has come here by importing a main script without a guard.

    The parent then finds that no process began, and says what is missing.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(1)


_shared: dict[str, Any] = {}


def _begin(steps: Any, stop: Any, has_begun: Any) -> None:
    """Prepare a new process: handle signals, and watch the parent."""
    take_over()
    warnings.simplefilter("ignore", FormerName)  # the parent has said so
    _shared.update(steps=steps, stop=stop, is_busy=False)
    has_begun.value = 1
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGINT:  # as below nohup
            signal.signal(number, _stop_soon)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    threading.Thread(target=_end_with_parent, name="townsquare-parent", daemon=True).start()


def _stop_soon(_number: int, _frame: object) -> None:
    _shared["stop"].value = 1


def _end_with_parent() -> None:
    """Wait for the end of a pipe that the parent has open as long as it lives, then end this process too."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    _shared["stop"].value = 1
    until = time.monotonic() + GRACE
    while _shared["is_busy"] and time.monotonic() < until:
        time.sleep(0.05)
    os._exit(1)


def _call(function: Callable[[Job, Report], Result], index: int, job: Job) -> Result:
    _shared["is_busy"] = True
    try:
        return _reported(_shared["steps"], _shared["stop"], function, index, job)
    finally:
        parent = multiprocessing.parent_process()
        if parent is not None and not parent.is_alive():
            os._exit(1)  # there is nobody to take the result, and nothing more to do
        _shared["is_busy"] = False


def _reported(steps: Any, stop: Any, function: Callable[[Job, Report], Result], index: int, job: Job) -> Result:
    def report(step: int) -> None:
        steps[index] = step
        if stop.value:
            raise KeyboardInterrupt

    report(0)
    return function(job, report)
