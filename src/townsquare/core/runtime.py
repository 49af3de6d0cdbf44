"""Sets how the process uses memory. Nothing is set at import.

Memory that is freed stays with the process while it simulates, to be used again in the next step, by any thread. A step
of a million agents makes and frees gigabytes of arrays. The C library gives such memory back to the system at once and
asks for it again, and the system then clears every page of it again: a third of the time of a step. The memory is asked
for in pages of 2 MB: with those of 4 KB, a fifth of the rest went into finding out where they are.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

WORTH_HOLDING = 300_000
"""Agents from which on it is held: with 100,000 a step takes as long without, and less memory is enough."""
BYTES_AN_AGENT = 16 * 1024
"""Room that is made in large pages. It is not used before something is in it; what does not fit goes elsewhere."""
NEW_OBJECTS = 500_000
"""New Python objects after which cycles among them are looked for: tens of megabytes, more than a short run makes. With
10,000, a run of 300 agents spends 160 ms on it, most while it imports."""
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8  # of mallopt(3), GNU C library
_HUGE_PAGES = 14  # MADV_HUGEPAGE of madvise(2), Linux
_PAGE = 4096
_KEEP, _DEFAULT_TRIM, _DEFAULT_MMAPS = -1, 128 * 1024, 65_536


@contextmanager
def held_memory(n_agents: int) -> Iterator[None]:
    """Keep memory that large runs free in the process, and give it back at the end.

    Small runs and other C libraries are left alone. Threads share memory (:func:`share_memory`) until the process ends.
    """
    library = _library() if n_agents >= WORTH_HOLDING else None
    if library is None:
        yield
        return
    share_memory()
    library.mallopt(_MMAP_MAX, 0)
    library.mallopt(_TRIM_THRESHOLD, _KEEP)
    _make_room(library, n_agents * BYTES_AN_AGENT)
    try:
        yield
    finally:
        library.mallopt(_MMAP_MAX, _DEFAULT_MMAPS)
        library.mallopt(_TRIM_THRESHOLD, _DEFAULT_TRIM)
        library.malloc_trim(0)


def _make_room(library: ctypes.CDLL, n_bytes: int) -> None:
    """Grow the heap by ``n_bytes`` in large pages, if the system allows it."""
    begin = library.malloc(n_bytes)
    if begin:
        first = -(-begin // _PAGE) * _PAGE
        library.madvise(first, (begin + n_bytes - first) // _PAGE * _PAGE, _HUGE_PAGES)
        library.free(begin)  # and kept


def _library() -> ctypes.CDLL | None:
    """Return the C library if it has these functions, else None."""
    try:
        library = ctypes.CDLL(None)
        _ = library.mallopt, library.malloc_trim, library.madvise
        library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        library.free.argtypes = [ctypes.c_void_p]
        library.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    except (AttributeError, OSError, TypeError):  # Windows, macOS, musl
        return None
    return library


def share_memory() -> None:
    """Let all threads share one memory arena, unless the user has set a number of arenas.

    With an arena for each thread, memory that one thread frees is not used by others, and large blocks go back to the
    system at once. A thread keeps its arena, so call this before threads start.
    """
    library = _library()
    user_says = "MALLOC_ARENA_MAX" in os.environ or "arena_max" in os.environ.get("GLIBC_TUNABLES", "")
    if library is not None and not user_says:
        library.mallopt(_ARENA_MAX, 1)


def take_over() -> None:
    """Set up a process of Townsquare's own, the command line or a worker, before any thread starts."""
    gc.set_threshold(NEW_OBJECTS)
    atexit.register(gc.freeze)  # else the exit takes 0.15 s to look for cycles in memory that goes back to the system
    share_memory()
