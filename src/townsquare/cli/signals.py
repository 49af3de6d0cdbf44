"""Ctrl-C and an order to end: finish the step in hand, then stop."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


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
