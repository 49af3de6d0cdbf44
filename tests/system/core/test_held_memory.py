"""Where threads take their memory from: asked of the C library, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, threading
library = ctypes.CDLL(None)
library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
library.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
library.fopen.restype, library.fopen.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_char_p]
library.fclose.argtypes = [ctypes.c_void_p]
from townsquare.core.runtime import take_over
take_over()

together = threading.Barrier(3)
def take():
    library.malloc(100_000)
    together.wait()

threads = [threading.Thread(target=take) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
stream = library.fopen(b"/dev/stdout", b"w")
library.malloc_info(0, stream)
library.fclose(stream)
"""


def places(**said: str) -> int:
    """How many places the C library hands out memory from, once three threads have asked for some at a time."""
    unsaid = {name: value for name, value in os.environ.items() if name not in ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env={**unsaid, **said}
    )
    return done.stdout.count("<heap nr=")


ON_GLIBC = "glibc" in str(os.confstr("CS_GNU_LIBC_VERSION")) if sys.platform == "linux" else False


@pytest.mark.skipif(not ON_GLIBC, reason="asks the GNU C library, which this system does not have: run it on Debian")
def test_all_threads_share_memory_unless_the_user_says_otherwise() -> None:
    assert places() == 1
    assert places(MALLOC_ARENA_MAX="8") > 1
    assert places(GLIBC_TUNABLES="glibc.malloc.arena_max=8") > 1
