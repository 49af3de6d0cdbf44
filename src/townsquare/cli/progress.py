"""Progress on stderr (a bar on a terminal, else a line now and then), or as lines of JSON on stdout."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Self

from townsquare.cli.console import console, show_json

if TYPE_CHECKING:
    from townsquare.experiments.execution import Progress

LINE_EVERY = 5.0  # seconds
JSON_EVERY = 1.0


class ProgressDisplay:
    """Shows progress up to ``total``, or without an end where it is None.

    Use as a context; call :meth:`at` as often as you like. ``mode`` is ``"bar"``, ``"lines"``, ``"json"`` or
    ``"none"``; see :func:`mode`. ``what`` names the counted unit.
    """

    def __init__(self, total: int | None, mode: str, title: str, what: str = "step") -> None:
        self.total, self.mode, self.title, self.what = total, mode, title, what
        self._began = time.monotonic()
        self._last = self._began
        self._first_step = 0
        self._ended = False
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if self.mode == "bar":
            from rich import progress

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}", markup=False), progress.BarColumn(),
                progress.MofNCompleteColumn(), progress.TextColumn("{task.fields[rate]}", markup=False),
                progress.TimeRemainingColumn(), console=console(errors=True), transient=True,
            )  # fmt: skip
            self._task = self._bar.add_task(self.title, total=self.total, rate="")
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def at(self, step: int, note: str = "", *, last: bool = False) -> None:
        """Show that ``step`` of ``total`` are done; ``last`` if no more will follow."""
        now = time.monotonic()
        if not self._first_step:  # the first step holds what is done once, such as compiling
            self._first_step, self._began = step, now
        rate = (step - self._first_step) / (now - self._began) if now > self._began else 0.0
        if self._bar is not None:
            self._bar.update(self._task, completed=step, rate=f"{rate:.3g} {self.what}s/s {note}".strip())
            return
        every = {"json": JSON_EVERY, "lines": LINE_EVERY}.get(self.mode)
        is_end = last or (self.total is not None and step >= self.total)
        is_new_end = is_end and not self._ended
        if every is None or (now - self._last < every and not is_new_end):
            return
        self._last, self._ended = now, is_end
        left = (self.total - step) / rate if rate and self.total is not None else None
        if self.mode == "json":
            facts = {"event": "progress", self.what: step, f"{self.what}s": self.total, "rate": rate}
            show_json(facts | {"seconds_left": left} | ({"note": note} if note else {}))
        else:
            eta = f", {_in_units(left)} left" if left is not None else ""
            of = f" of {self.total}" if self.total is not None else ""
            line = f"{self.title}: {self.what} {step}{of}, {rate:.3g} {self.what}s/s{eta} {note}"
            print(line.rstrip(), file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        """Print a line above the progress."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        elif self.mode == "json":
            show_json({"event": "note", "text": text})
        elif self.mode == "lines":
            print(text, file=sys.stderr, flush=True)


def _in_units(seconds: float) -> str:
    """Return a duration in the largest unit of which it has two or more."""
    size, unit = next(((size, unit) for size, unit in ((3600, "h"), (60, "min")) if seconds >= 2 * size), (1, "s"))
    return f"{seconds / size:.0f} {unit}"


def show_study(display: ProgressDisplay, far: Progress, runs: str) -> None:
    """Show the progress of a study; ``runs`` is the word for its runs."""
    failed = f", {far.failed} failed" if far.failed else ""
    again = f", {far.restarts} restarted" if far.restarts else ""
    display.total = far.steps
    note = f"({far.runs_done} of {far.runs} {runs}{failed}{again})"
    display.at(far.steps_done, note, last=far.runs_done == far.runs)


def mode(*, quiet: bool, as_json: bool) -> str:
    """Return how to show progress: none, as JSON, as a bar on a terminal, else in lines."""
    if quiet:
        return "none"
    if as_json:
        return "json"
    return "bar" if sys.stderr.isatty() else "lines"
