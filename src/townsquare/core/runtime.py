"""What Townsquare sets in the process that it runs in: memory and waiting threads. Nothing is set at import.

Memory that is freed stays with the process while it simulates, to be used again in the next step, by any thread. A step
of a million agents makes and frees gigabytes of arrays. The C library gives such memory back to the system at once and
asks for it again, and the system then clears every page of it anew: a third of the time of a step. The memory is asked
for in pages of 2 MB: with those of 4 KB, a fifth of the rest went into finding out where they are.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

WORTH_HOLDING = 300_000
"""Agents from which on it is held: with 100,000 a step takes as long without, and less memory is enough."""
BYTES_AN_AGENT = 16 * 1024
"""Room that is made in large pages. It is not used before something is in it; what does not fit goes elsewhere."""
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8  # of mallopt(3), GNU C library
_HUGE_PAGES = 14  # MADV_HUGEPAGE of madvise(2), Linux
_PAGE = 4096
_KEEP, _DEFAULT_TRIM, _DEFAULT_MMAPS = -1, 128 * 1024, 65_536


@contextmanager
def held_memory(n_agents: int) -> Iterator[None]:
    """Have the C library keep what large runs free, and give it back at the end.

    Nothing happens for small runs, or with another C library. That threads share memory (:func:`share_memory`) lasts
    for the process: the C library knows no way back.
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
    """Have the heap grow by so much, in large pages; where the system refuses, it grows as ever."""
    begin = library.malloc(n_bytes)
    if begin:
        first = -(-begin // _PAGE) * _PAGE
        library.madvise(first, (begin + n_bytes - first) // _PAGE * _PAGE, _HUGE_PAGES)
        library.free(begin)  # and kept


def _library() -> ctypes.CDLL | None:
    """The C library, if it is one that can."""
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
    """Have all threads take memory from one place, unless the user has said from how many.

    Else each new thread has a place of its own, or that of one that has ended: what one has freed no other uses again,
    and what is too large for such a place is given back at once. Threads that have a place
    keep it, so this is best done before threads start.
    """
    library = _library()
    user_says = "MALLOC_ARENA_MAX" in os.environ or "arena_max" in os.environ.get("GLIBC_TUNABLES", "")
    if library is not None and not user_says:
        library.mallopt(_ARENA_MAX, 1)


def take_over() -> None:
    """For processes of Townsquare's own, the command line and workers: before anything there starts a thread."""
    share_memory()
    let_waiting_threads_sleep()


def let_waiting_threads_sleep() -> None:
    """Have a thread that waits for others sleep, unless the user has said otherwise.

    By default it spins, and takes a processor from whoever has work to do: the thread that writes the last step, or
    another run. GNU's OpenMP reads this when the first kernel runs.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
