"""Memory that is freed stays with the process, to be used again in the next step.

A step of a million agents makes and frees gigabytes of arrays. The C library gives such memory back to the system at
once and asks for it again, and the system then clears every page of it anew: a third of the time of a step.
"""

from __future__ import annotations

import ctypes

LARGE = 100_000
"""Agents from which on it is worth it."""
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of mallopt(3), GNU C library


def hold_memory(n_agents: int) -> None:
    """Ask the C library to keep what large runs free; nothing happens for small ones, or with another C library."""
    if n_agents < LARGE:
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # Windows, macOS, musl
        return
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, -1)
