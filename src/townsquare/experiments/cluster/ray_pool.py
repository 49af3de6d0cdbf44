"""Jobs on a Ray cluster: as :class:`townsquare.experiments.workers.Pool`, and a job whose process dies runs again.

Ray only places jobs. What is tried again, and how often, is decided here: an error that a job raises is its result; a
process that was killed, a machine that is gone or memory that ran out is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Generic

from townsquare.experiments.cluster.ray_cluster import check_made_by, connected, made_by
from townsquare.experiments.workers import POLL, WAITING, Job, Report, Result

TRIES = 3
"""How often a job is begun before it counts as one that kills its process."""


class _Stopped:
    """What a job gives that was told to stop: Ray would take ``KeyboardInterrupt`` for an order of its own."""


@dataclass
class RayPool(Generic[Job, Result]):
    """Runs ``function(job, report)`` for jobs on a cluster, one processor each.

    Attributes
    ----------
    function, on_poll, on_end
        As those of :class:`townsquare.experiments.workers.Pool`. A job whose process died is begun again, up to
        ``TRIES`` times in all, then ends with ``BrokenProcessPool``.
    workers : int, optional
        Jobs at a time; by default as many as the cluster has processors.
    on : str
        ``ray`` or ``ray://HOST:PORT``: see :func:`townsquare.experiments.cluster.ray_cluster.connected`.
    on_again : callable
        Called with the index of a job that is begun again.
    """

    function: Callable[[Job, Report], Result]
    workers: int | None
    on_poll: Callable[[Sequence[int]], None]
    on_end: Callable[[int, Result | BaseException], None]
    on: str
    on_again: Callable[[int], None] = lambda index: None
    _tries: dict[int, int] = field(default_factory=dict)

    def run(self, jobs: Sequence[Job]) -> None:
        """Run all jobs.

        Raises
        ------
        KeyboardInterrupt
            When interrupted: running jobs were asked to stop, have ended and were reported.
        SettingError, WrongVersion
            There is no such cluster, or not with what is installed here.
        """
        if not jobs:
            return
        with connected(self.on, self.workers) as ray:
            board = _pinned(ray, ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(_Board)).remote(len(jobs))
            waiting = list(range(len(jobs)))
            running: dict[Any, int] = {}
            try:
                self._work(ray, board, jobs, waiting, running)
            except KeyboardInterrupt:
                waiting.clear()
                self._stop(ray, board, running)
                raise

    def _work(self, ray: Any, board: Any, jobs: Sequence[Job], waiting: list[int], running: dict[Any, int]) -> None:
        call = ray.remote(num_cpus=1, max_retries=0)(_call)
        while waiting or running:
            while waiting and (self.workers is None or len(running) < self.workers):
                index = waiting.pop(0)
                self._tries[index] = self._tries.get(index, 0) + 1
                running[call.remote(self.function, index, jobs[index], board, made_by())] = index
            for index in self._collect(ray, running):
                self.on_again(index)
                waiting.append(index)
            self.on_poll(_look(ray, board, len(jobs)))

    def _stop(self, ray: Any, board: Any, running: dict[Any, int]) -> None:
        """Have what runs end after its step, and what has not begun not begin."""
        steps = _look(ray, board, 1 + max(running.values(), default=0), stop=True)
        for reference, index in list(running.items()):
            if steps[index] == WAITING:
                ray.cancel(reference)
                del running[reference]
        while running:
            self._collect(ray, running, again=False)
            _look(ray, board, 1, stop=True)

    def _collect(self, ray: Any, running: dict[Any, int], *, again: bool = True) -> list[int]:
        """Take what ended out of ``running`` and report it; those that should be begun again."""
        lost = []
        ended, _ = ray.wait(list(running), num_returns=1, timeout=POLL)
        if ended:  # and what else has ended by now
            ended, _ = ray.wait(list(running), num_returns=len(running), timeout=0)
        for reference in ended:
            index = running.pop(reference)
            try:
                result = ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                self.on_end(index, error.cause if isinstance(error.cause, BaseException) else error)
            except ray.exceptions.RayError as error:
                if again and self._tries[index] < TRIES:
                    lost.append(index)
                else:
                    self.on_end(index, KeyboardInterrupt() if not again else _broken(error, self._tries[index]))
            else:
                self.on_end(index, KeyboardInterrupt() if isinstance(result, _Stopped) else result)
        return lost


def _broken(error: Exception, tries: int) -> BrokenProcessPool:
    said = (str(error).strip() or type(error).__name__).splitlines()[0]
    return BrokenProcessPool(f"its process was killed, or ran out of memory, {tries} times; Ray says: {said[:200]}")


class _Board:
    """An actor: how far every job is, and whether all should stop. Should it die, it comes again and is told anew."""

    def __init__(self, jobs: int) -> None:
        self._steps, self._stop = [WAITING] * jobs, False

    def at(self, index: int, step: int) -> bool:
        """Note the step of a job; whether the job should stop."""
        self._steps[index] = step
        return self._stop

    def look(self, stop: bool) -> list[int]:
        """The steps of all jobs; says whether they should stop."""
        self._stop = stop
        return self._steps


def _pinned(ray: Any, actor: Any) -> Any:
    """An actor that stays where the order came from, while that machine is there."""
    strategies = import_module("ray.util.scheduling_strategies")
    node = ray.get_runtime_context().get_node_id()
    return actor.options(scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node, soft=True))


def _look(ray: Any, board: Any, jobs: int, *, stop: bool = False) -> list[int]:
    """The steps of all jobs; while the board cannot be asked, none has begun."""
    try:
        return list(ray.get(board.look.remote(stop)))
    except ray.exceptions.RayError:
        return [WAITING] * jobs


def _call(
    function: Callable[[Job, Report], Result], index: int, job: Job, board: Any, theirs: Mapping[str, str]
) -> Result | _Stopped:
    """One job, in a process of the cluster; says how far it is a few times a second, and once more when it ends."""
    ray = import_module("ray")
    check_made_by(theirs, f"machine {ray.util.get_node_ip_address()} of the cluster")
    last, said = [0], [0.0]

    def say() -> None:
        said[0] = time.monotonic()
        try:
            stop = ray.get(board.at.remote(index, last[0]))
        except ray.exceptions.RayError:
            return
        if stop:
            raise KeyboardInterrupt

    def report(step: int) -> None:
        last[0] = step
        if time.monotonic() - said[0] > POLL:
            say()

    try:
        say()
        result = function(job, report)
        board.at.remote(index, last[0])
    except KeyboardInterrupt:
        return _Stopped()
    return result
