"""Jobs on a Ray cluster: as :class:`townsquare.experiments.workers.Pool`, and a job whose process dies runs again.

Ray only places jobs. What is tried again, and how often, is decided here: an error that a job raises is its result; a
process that was killed, a machine that is gone or memory that ran out is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Generic

from townsquare.experiments.cluster.ray_cluster import check_made_by, connected, made_by
from townsquare.experiments.workers import POLL, WAITING, Job, Report, Result

TRIES = 3
"""How often a job is begun before it counts as one that kills its process."""


class _Stopped:
    """What a job returns that was told to stop: Ray would take ``KeyboardInterrupt`` for an order of its own."""


@dataclass
class RayPool(Generic[Job, Result]):
    """Runs ``function(job, report)`` for jobs on a cluster, one processor each.

    Attributes
    ----------
    function, on_steps
        As those of :class:`townsquare.experiments.workers.Pool`.
    on : str
        ``ray`` or ``ray://HOST:PORT``: see :func:`townsquare.experiments.cluster.ray_cluster.connected`.
    workers : int, optional
        Jobs at a time; by default as many as the cluster has processors.
    lost : list of int
        Positions of jobs that were started again because their process, or its machine, was lost.
    """

    function: Callable[[Job, Report], Result]
    on: str
    workers: int | None = None
    on_steps: Callable[[Sequence[int]], None] = lambda steps: None
    lost: list[int] = field(default_factory=list)

    def map(self, jobs: Sequence[Job]) -> Generator[tuple[int, Result | BaseException]]:
        """Run all jobs; yield the place of each that ended, with its result or the exception that ended it.

        A job whose process died is begun again, up to ``TRIES`` times in all, then ends with ``BrokenProcessPool``.

        Raises
        ------
        KeyboardInterrupt
            When interrupted: running jobs were asked to stop, have ended and were yielded.
        SettingError, WrongVersion
            There is no such cluster, or not with what is installed here.
        """
        if not jobs:
            return
        with connected(self.on, self.workers) as ray:
            board = _pinned(ray, ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(_Board)).remote(len(jobs))
            call = ray.remote(num_cpus=1, max_retries=0)(_call)
            waiting, running = list(range(len(jobs))), dict[Any, int]()
            try:
                while waiting or running:
                    while waiting and (self.workers is None or len(running) < self.workers):
                        index = waiting.pop(0)
                        running[call.remote(self.function, index, jobs[index], board, made_by())] = index
                    yield from self._collect(ray, running, waiting)
                    self.on_steps(_look(ray, board, len(jobs)))
            except (KeyboardInterrupt, GeneratorExit) as ended:
                steps = _look(ray, board, len(jobs), stop=True)
                for reference in [call for call, index in running.items() if steps[index] == WAITING]:
                    ray.cancel(reference)
                    del running[reference]
                while running:
                    results = list(self._collect(ray, running, None))
                    if isinstance(ended, KeyboardInterrupt):
                        yield from results
                    _look(ray, board, 1, stop=True)
                raise

    def _collect(
        self, ray: Any, running: dict[Any, int], waiting: list[int] | None
    ) -> Iterator[tuple[int, Result | BaseException]]:
        """Yield what ended, out of ``running``; put what was lost among the ``waiting``, unless none shall begin."""
        ended, _ = ray.wait(list(running), num_returns=1, timeout=POLL)
        if ended:  # and what else has ended by now
            ended, _ = ray.wait(list(running), num_returns=len(running), timeout=0)
        for reference in ended:
            index = running.pop(reference)
            try:
                result = ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                yield index, error.cause if isinstance(error.cause, BaseException) else error
            except ray.exceptions.RayError as error:
                if waiting is None:
                    yield index, KeyboardInterrupt()
                elif self.lost.count(index) + 1 < TRIES:
                    self.lost.append(index)
                    waiting.append(index)
                else:
                    message = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
                    got = f"its process was killed or ran out of memory, {TRIES} times; Ray reports: {message}"
                    yield index, BrokenProcessPool(got)
            else:
                yield index, KeyboardInterrupt() if isinstance(result, _Stopped) else result


class _Board:
    """An actor: how far every job is, and whether all should stop. Should it die, it comes again and is told again."""

    def __init__(self, jobs: int) -> None:
        self._steps, self._stop = [WAITING] * jobs, False

    def at(self, index: int, step: int) -> bool:
        """Note the step of a job; return whether the job should stop."""
        self._steps[index] = step
        return self._stop

    def look(self, stop: bool) -> list[int]:
        """Return the steps of all jobs; say whether they should stop."""
        self._stop = stop
        return self._steps


def _pinned(ray: Any, actor: Any) -> Any:
    """Return an actor that stays where the order came from, while that machine is there."""
    strategies = import_module("ray.util.scheduling_strategies")
    node = ray.get_runtime_context().get_node_id()
    return actor.options(scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node, soft=True))


def _look(ray: Any, board: Any, jobs: int, *, stop: bool = False) -> list[int]:
    """Return the steps of all jobs; while the board cannot be asked, none has begun."""
    try:
        return list(ray.get(board.look.remote(stop)))
    except ray.exceptions.RayError:
        return [WAITING] * jobs


def _call(
    function: Callable[[Job, Report], Result], index: int, job: Job, board: Any, theirs: Mapping[str, str]
) -> Result | _Stopped:
    """Run one job, in a process of the cluster; say how far it is a few times a second."""
    ray = import_module("ray")
    check_made_by(theirs, f"machine {ray.util.get_node_ip_address()} of the cluster")
    last_report = -POLL

    def report(step: int) -> None:
        nonlocal last_report
        if time.monotonic() - last_report < POLL:
            return
        last_report = time.monotonic()
        try:
            stop = ray.get(board.at.remote(index, step))
        except ray.exceptions.RayError:
            return
        if stop:
            raise KeyboardInterrupt

    try:
        report(0)
        return function(job, report)
    except KeyboardInterrupt:
        return _Stopped()
