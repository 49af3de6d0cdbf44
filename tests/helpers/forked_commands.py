"""Commands of the program, and other work, as processes forked from one that has everything imported and compiled.

Each is a process in a session of its own, with its own signals, streams and memory. A start takes a hundredth of a
second; that of a new interpreter takes one and a half. The server that forks computes nothing in Polars, as in
``interrupted_runs.py``.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from repository import environment_with_helpers

ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "NUMBA_THREADING_LAYER": "workqueue", "POLARS_MAX_THREADS": "1"}


class Forked:
    """A function in a process, which ends with the code that it gives.

    What it prints goes to the file ``said``, its errors to ``errors`` if that is given, or all of it to a terminal.
    It does not hear signals that it is ``deaf`` to, as below ``nohup``.
    """

    def __init__(
        self, work: Callable[..., int], given: tuple[object, ...], said: Path, errors: Path | None = None, *,
        terminal: str = "", deaf: tuple[signal.Signals, ...] = (),
    ) -> None:  # fmt: skip
        self._said, self._errors = said, errors or said
        streams = {0: terminal, 1: terminal, 2: terminal} if terminal else {1: str(said), 2: str(self._errors)}
        for path in {self._said, self._errors}:
            path.touch()
        self._process = _server().Process(target=_run, args=(work, given, streams, deaf, os.getcwd()))
        self._process.start()

    @property
    def said(self) -> str:
        """What it has printed so far."""
        return self._said.read_text(encoding="utf-8", errors="replace")

    @property
    def errors(self) -> str:
        """What it has printed so far where errors go."""
        return self._errors.read_text(encoding="utf-8", errors="replace")

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


class ForkedCommand(Forked):
    """``townsquare WORDS`` in a process."""

    def __init__(self, words: list[str], said: Path, errors: Path | None = None, **how: Any) -> None:
        super().__init__(_main, (words,), said, errors, **how)


def _main(words: list[str]) -> int:
    from townsquare.cli import main

    return main(words)


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


def _run(
    work: Callable[..., int], given: tuple[object, ...], streams: dict[int, str], deaf: tuple[int, ...], folder: str
) -> None:
    """Do the work."""
    os.setsid()
    os.chdir(folder)
    for number, how in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        signal.signal(number, signal.SIG_IGN if number in deaf else how)
    for descriptor, path in streams.items():
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOCTTY), descriptor)
    code = work(*given)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
