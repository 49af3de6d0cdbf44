"""How many threads the compiled kernels use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numba as nb

# A thread that waits for others sleeps. By default it spins, and takes a processor from whoever has work to do: the
# thread that writes the last step, another run. GNU's OpenMP reads this when the first kernel runs.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

SMALL = 5_000
"""Agents below which one thread is faster: measured, kernels of so few rows end before other threads wake up."""


@contextmanager
def threads_for(n_agents: int) -> Iterator[None]:
    """One thread for small runs, else all that there are; results are the same, bit for bit.

    Where other processes want the processors too, a kernel that waits for its second thread takes 12 ms instead of
    0.1: a run of 40 agents was 17 times slower with two threads than with one.

    >>> with threads_for(100):
    ...     nb.get_num_threads()
    1
    """
    before = nb.get_num_threads()
    nb.set_num_threads(1 if n_agents < SMALL else before)
    try:
        yield
    finally:
        nb.set_num_threads(before)
