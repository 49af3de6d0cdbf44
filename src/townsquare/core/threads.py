"""Sets how many threads the compiled kernels use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import numba as nb

from townsquare.core.runtime import let_waiting_threads_sleep

_LAYERS = ("omp", "tbb")
"""Of Numba's thread pools, those that several threads may use at once."""
Item = TypeVar("Item")
Result = TypeVar("Result")

FEW = 4
"""Items below which they are done one after the other."""
SMALL = 5_000
"""Agents below which one thread is faster: measured, kernels of so few rows end before other threads wake up."""


@contextmanager
def threads_for(n_agents: int) -> Iterator[None]:
    """Use one thread for small runs, else all available threads; results are the same, bit for bit.

    Where other processes want the processors too, a kernel that waits for its second thread takes 12 ms instead of
    0.1: a run of 40 agents was 17 times slower with two threads than with one.

    >>> with threads_for(100):
    ...     nb.get_num_threads()
    1
    """
    let_waiting_threads_sleep()
    before = nb.get_num_threads()
    nb.set_num_threads(1 if n_agents < SMALL else before)
    try:
        yield
    finally:
        nb.set_num_threads(before)


def each(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return the results of ``work`` for all items, in order; several threads work where there are any.

    What is done to a block of agents is a row of kernels with some bookkeeping between them. A block a thread keeps all
    processors busy where kernels of two threads, one after the other, wait for the bookkeeping. Few are done one after
    the other: what all of them need at once would be a large part of a run's memory, and no time is won. ``work`` may
    write only what no other item's does.

    >>> each(lambda number: number + 1, [1, 2, 3])
    [2, 3, 4]
    """
    threads = nb.get_num_threads()
    if threads == 1 or len(items) < FEW or not _several_may():
        return [work(item) for item in items]

    def alone(item: Item) -> Result:
        nb.set_num_threads(1)  # of this thread
        return work(item)

    with ThreadPoolExecutor(min(threads, len(items)), "townsquare-blocks") as pool:
        return list(pool.map(alone, items))


def _several_may() -> bool:
    """Return whether kernels may be started from several threads; unknown, so False, before the first kernel."""
    try:
        return nb.threading_layer() in _LAYERS  # type: ignore[attr-defined]
    except ValueError:
        return False
