"""``python -m townsquare.cli.warm``: compile every kernel, and say how far that is; ``make setup`` calls it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

LINE_EVERY, TERMINAL_EVERY = 5.0, 0.5  # seconds


class Ticker:
    """While the context lasts, shows a line now and then, and once more at its end.

    On a terminal the line is written over. Elsewhere each is a line of its own and ends in a line feed, so that a log
    can be read.
    """

    def __init__(self, line: Callable[[], str], every: float | None = None) -> None:
        self._line = line
        self._terminal = sys.stdout.isatty()
        self._every = every or (TERMINAL_EVERY if self._terminal else LINE_EVERY)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._show(last=True)

    def _tick(self) -> None:
        while not self._over.wait(self._every):
            self._show(last=False)

    def _show(self, *, last: bool) -> None:
        start, end = ("\r", "\n" if last else "") if self._terminal else ("", "\n")
        print(f"{start}{self._line()}", end=end, flush=True)


def main() -> None:
    """Compile every kernel that is not compiled yet."""
    from townsquare.core.runtime import take_over

    take_over()
    began = time.monotonic()
    print("compiling kernels: loading", flush=True)

    from townsquare.simulation.warm import counted, load, warm

    load()
    with counted() as count:
        total = count.total

        def line() -> str:
            return f"compiling kernels: {count.compiled} of {total}, {time.monotonic() - began:.0f} s"

        with Ticker(line):
            warm()
    print(f"kernels are ready: {count.compiled} compiled now, in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
