"""Commands of the program as processes, forked from one that has imported everything and loaded the kernels.

Each is a process in a session of its own, with its own signals, streams and memory. A start takes a hundredth of a
second; that of a new interpreter takes one and a half. The server that forks computes nothing in Polars, as in
``interrupted_runs.py``.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from contextlib import suppress
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path

from repository import environment_with_helpers

ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "NUMBA_THREADING_LAYER": "workqueue", "POLARS_MAX_THREADS": "1"}


class ForkedCommand:
    """``townsquare WORDS`` in a process; what it prints goes to a file."""

    def __init__(self, words: list[str], said: Path) -> None:
        said.touch()
        self._process = _server().Process(target=_run, args=(words, str(said), os.getcwd()))
        self._process.start()

    @property
    def pid(self) -> int:
        """Number of the process, and of its session."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Its exit code, negative if a signal ended it; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for its end; its exit code."""
        self._process.join(timeout)
        return self._process.exitcode

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; nothing happens if it has just ended, which ``wait`` then says."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


@cache
def _server() -> ForkServerContext:
    """The process that forks, with all that a command needs in its memory."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["forked_commands_ready"])
    before = dict(os.environ)
    os.environ |= environment_with_helpers(**ONE_THREAD)
    try:
        forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ |= before
    return context


def _run(words: list[str], said: str, folder: str) -> None:
    """Be the command."""
    os.setsid()
    os.chdir(folder)
    for number, how in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        signal.signal(number, how)
    file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    from townsquare.cli import main

    code = main(words)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
