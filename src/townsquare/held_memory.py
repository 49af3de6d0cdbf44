"""Memory that is freed stays with the process while it simulates, to be used again in the next step.

A step of a million agents makes and frees gigabytes of arrays. The C library gives such memory back to the system at
once and asks for it again, and the system then clears every page of it anew: a third of the time of a step.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

LARGE = 100_000
"""Agents from which on it is worth it."""
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of mallopt(3), GNU C library
_KEEP, _DEFAULT_TRIM, _DEFAULT_MMAPS = -1, 128 * 1024, 65_536


@contextmanager
def held_memory(n_agents: int) -> Iterator[None]:
    """Have the C library keep what large runs free, and give it back at the end.

    Nothing happens for small runs, or with another C library.
    """
    library = _library() if n_agents >= LARGE else None
    if library is None:
        yield
        return
    library.mallopt(_MMAP_MAX, 0)
    library.mallopt(_TRIM_THRESHOLD, _KEEP)
    try:
        yield
    finally:
        library.mallopt(_MMAP_MAX, _DEFAULT_MMAPS)
        library.mallopt(_TRIM_THRESHOLD, _DEFAULT_TRIM)
        library.malloc_trim(0)


def _library() -> ctypes.CDLL | None:
    """The C library, if it is one that can."""
    try:
        library = ctypes.CDLL(None)
        _ = library.mallopt, library.malloc_trim
    except (AttributeError, OSError, TypeError):  # Windows, macOS, musl
        return None
    return library
