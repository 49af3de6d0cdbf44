"""Ctrl-C and an order to end: finish the step in hand, then stop."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

AGAIN = 0.01  # seconds
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def no_interrupt_lost() -> Iterator[None]:
    """Have Ctrl-C come again where it fell into code whose errors Python prints and drops, such as ``__del__``."""
    before = sys.unraisablehook

    def hook(dropped: UnraisableHookArgs) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            again = threading.Timer(
                AGAIN, signal.raise_signal, (signal.SIGINT,)
            )  # not here, where it would be lost too
            again.daemon = True
            again.start()
        else:
            before(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


class OrderToEnd:
    """While the context lasts, SIGTERM interrupts as Ctrl-C does: for commands that clean up when interrupted.

    ``code`` is the exit code of a command that was interrupted: 130, or 143 after SIGTERM.
    """

    def __init__(self) -> None:
        self.code = 128 + signal.SIGINT
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._came)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)

    def _came(self, number: int, frame: FrameType | None) -> None:
        self.code = 128 + number
        raise KeyboardInterrupt


class StopRequest:
    """While the context lasts, a first signal is remembered and a second one interrupts at once.

    ``signal`` is the number of the signal that came, or 0.
    """

    def __init__(self) -> None:
        self.signal = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._came) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if a signal came: call it where it is safe to stop."""
        if self.signal:
            raise KeyboardInterrupt

    def _came(self, number: int, frame: FrameType | None) -> None:
        if self.signal:
            raise KeyboardInterrupt
        self.signal = number
        print("\nstopping after the step in hand; once more to stop at once", file=sys.stderr, flush=True)
