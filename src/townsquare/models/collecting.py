"""Python's search for unreachable cycles, told to look less often while thousands of calls are under way.

It looks whenever 700 containers more were made than given up, and what it finds alive grows old: after two more looks
only a search through everything finds it. A call has some three hundred containers for as long as it takes, its schema
and what HTTP needs among them; they all grew old while the call waited for its server, and every few hundred calls all
of the process was searched. With more room they are gone, freed by their last reader, before anybody looks.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ROOM = 50_000
"""Containers, some ten megabytes, that may come together before a search."""

_lock = threading.Lock()
_before: list[tuple[int, int, int]] = []  # how often it looked when each of the stretches under way began


@contextmanager
def seldom() -> Iterator[None]:
    """Search less often until the end, in all threads; as before when the last of several such stretches has ended.

    Who has switched the search off, or given it more room, is left alone.
    """
    with _lock:
        _before.append(gc.get_threshold())
        if 0 < _before[0][0] < ROOM:
            gc.set_threshold(ROOM, *_before[0][1:])
    try:
        yield
    finally:
        with _lock:
            if len(_before) == 1:
                gc.set_threshold(*_before[0])
            _before.pop()
