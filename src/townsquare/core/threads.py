"""Share work among threads: compiled kernels over many rows, and blocks of agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from threading import local
from typing import Any, NamedTuple, TypeVar

import numba as nb

Item = TypeVar("Item")
Result = TypeVar("Result")

FEW = 4
"""Items below which they are done one after the other."""
SMALL = 5_000
"""Agents below which one thread is faster: measured, kernels of so few rows end before other threads wake up."""
LEAST = 4_096
"""Rows of the smallest part that is worth a thread."""
PARTS = 2
"""Parts for each thread, so that a thread whose rows are quick takes more of them."""
_here = local()


class Part(NamedTuple):
    """The rows of one call of a kernel: ``start`` to ``stop`` - 1."""

    start: int
    stop: int


def all_threads() -> int:
    """Return how many threads the process may use: one for each processor, or ``NUMBA_NUM_THREADS``."""
    return int(nb.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def available() -> int:
    """Return how many threads this thread may use: all, unless :func:`limited` says otherwise."""
    return getattr(_here, "threads", all_threads())


@contextmanager
def limited(threads: int, least: int = LEAST) -> Iterator[None]:
    """Let this thread use ``threads`` threads, for parts of at least ``least`` rows."""
    before = vars(_here).copy()
    _here.threads, _here.least = threads, least
    try:
        yield
    finally:
        vars(_here).clear()
        vars(_here).update(before)


@contextmanager
def threads_for(n_agents: int) -> Iterator[None]:
    """Use one thread for small runs, else all available threads; results are the same, bit for bit.

    >>> with threads_for(100):
    ...     available()
    1
    """
    with limited(1 if n_agents < SMALL else available()):
        yield


def in_parts(kernel: Callable[..., None], n: int, *arguments: Any) -> None:
    """Call ``kernel(part, *arguments)`` for parts of ``n`` rows, in several threads if there are enough rows.

    A kernel is compiled with ``nogil=True`` and writes only the rows of its part, so that results do not depend on the
    parts. Loops that Numba itself shares among threads (``prange``) take twice as long to compile.
    """
    threads = available()
    parts = 1 if threads == 1 else min(n // getattr(_here, "least", LEAST), PARTS * threads)
    if parts < 2:
        kernel(Part(0, n), *arguments)
        return
    bounds = [n * k // parts for k in range(parts + 1)]
    calls = [_pool().submit(kernel, Part(*ends), *arguments) for ends in pairwise(bounds)]
    for call in calls:
        call.result()


def each(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return the results of ``work`` for all items, in order; several threads work where there are any.

    What is done to a block of agents is a row of kernels with some bookkeeping between them. A block a thread keeps all
    processors busy where kernels of two threads, one after the other, wait for the bookkeeping. Few are done one after
    the other: what all of them need at once would be a large part of a run's memory, and no time is won. ``work`` may
    write only what no other item's does.

    >>> each(lambda number: number + 1, [1, 2, 3])
    [2, 3, 4]
    """
    if available() == 1 or len(items) < FEW:
        return [work(item) for item in items]
    return list(_pool().map(work, items))


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the threads of this process; each works alone on what it is given."""
    return ThreadPoolExecutor(all_threads(), "townsquare", _work_alone)


def _work_alone() -> None:
    _here.threads = 1
