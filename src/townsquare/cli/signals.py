"""Ctrl-C, SIGTERM and SIGHUP: finish the current step, then stop."""

from __future__ import annotations

import errno
import os
import signal
import sys
import termios
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

AGAIN = 0.01  # seconds
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def no_interrupt_lost() -> Iterator[None]:
    """Repeat Ctrl-C if it was raised in code whose errors Python drops, such as ``__del__``."""
    before = sys.unraisablehook

    def hook(dropped: UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            # Not here, where it would be lost too.
            again = threading.Timer(AGAIN, signal.raise_signal, (signal.SIGINT,))
            again.daemon = True
            again.start()
        else:
            before(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


class _Handlers(ABC):
    """Sends signals to :meth:`_came` while the context lasts; works only in the main thread."""

    _numbers: tuple[signal.Signals, ...] = SIGNALS

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        self._has_terminal = True

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in self._numbers:
                if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                    continue  # started by nohup, which wants just that
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            if not self._has_terminal:
                return  # a lost terminal says so twice: by its shell, and when the shell has ended
            self._has_terminal = False
            _leave_terminal()
        self._came(number)

    @abstractmethod
    def _came(self, number: int) -> None:
        """Do what a signal asks."""


def _leave_terminal() -> None:
    """Discard output if the terminal is gone."""
    for stream in (sys.stdout, sys.stderr):
        try:
            termios.tcgetattr(stream.fileno())
        except termios.error as error:
            if error.args[0] == errno.EIO:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except (OSError, ValueError):
            pass  # a stream of a test or a notebook, which is no terminal


class OrderToEnd(_Handlers):
    """Interrupts on SIGTERM and SIGHUP as on Ctrl-C, for commands that clean up.

    ``code`` is the exit code of a command that was interrupted: 130, 143 after SIGTERM, 129 after SIGHUP.
    """

    _numbers = (signal.SIGTERM, signal.SIGHUP)
    code = 128 + signal.SIGINT

    def _came(self, number: int) -> None:
        self.code = 128 + number
        raise KeyboardInterrupt


class StopRequest(_Handlers):
    """Remembers a first signal while the context lasts; a second signal interrupts at once.

    ``signal`` is the number of the signal that came, or 0.
    """

    signal = 0

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if a signal came; call where it is safe to stop."""
        if self.signal:
            raise KeyboardInterrupt

    def _came(self, number: int) -> None:
        if self.signal:
            raise KeyboardInterrupt
        self.signal = number
        print("\nfinishing the current step; repeat to stop at once", file=sys.stderr, flush=True)
