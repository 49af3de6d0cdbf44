"""The clock of a run: how long its steps are, in words and on axes."""

from __future__ import annotations

import math
from typing import NamedTuple

from townsquare.analysis.contract import Reads, setting

IN_DAYS = 72
"""Hours from which an axis is in days."""
MOST_TICKS = 8
_SPANS = {"days": (1, 2, 5, 7, 10, 14, 28, 50, 100, 365), "hours": (0.25, 0.5, 1, 2, 3, 6, 12, 24)}


class Clock(NamedTuple):
    """The last step, the length of a step in hours (None without one), and the last step of the warm-up, 0 for none."""

    last: int
    hours: float | None = None
    warm_up: int = 0

    def ticks(self) -> tuple[list[float], list[str], str]:
        """Return places of ticks in steps, what they say, and their unit; for steps with a length.

        >>> Clock(336, 1.0).ticks()
        ([0.0, 48.0, 96.0, 144.0, 192.0, 240.0, 288.0, 336.0], ['0', '2', '4', '6', '8', '10', '12', '14'], 'days')
        """
        hours = self.hours or 1.0
        unit = "days" if self.last * hours >= IN_DAYS else "hours"
        each = hours / 24 if unit == "days" else hours
        whole = max(self.last, 1) * each
        span = next((span for span in _SPANS[unit] if whole / span < MOST_TICKS), math.ceil(whole / MOST_TICKS))
        at = [k * span for k in range(math.floor(whole / span + 1e-9) + 1)]
        return [tick / each for tick in at], [f"{tick:,g}" for tick in at], unit

    def says(self, step: int) -> str:
        """Return when a step ends in words: ``step 5``, or the time since the start.

        >>> Clock(9).says(5), Clock(9, 1.0).says(54), Clock(9, 0.25).says(9)
        ('step 5', '2 d 6 h', '2 h 15 min')
        """
        return f"step {step:,}" if self.hours is None else in_words(step * self.hours)


def over_whole_run(clock: Clock) -> str:
    """Return how a sentence on all steps begins where other sentences leave a warm-up out; else "".

    >>> over_whole_run(Clock(336, 1.0, 72)), over_whole_run(Clock(336, 1.0))
    ('Over the whole run (warm-up included), ', '')
    """
    return "Over the whole run (warm-up included), " if clock.warm_up else ""


def after_warm_up(clock: Clock) -> str:
    """Return the words that limit a sentence to the time after the warm-up, for a run that has one; else "".

    >>> after_warm_up(Clock(336, 1.0, 72)), after_warm_up(Clock(336, 1.0))
    (' after the warm-up', '')
    """
    return " after the warm-up" if clock.warm_up else ""


def clock_of(run: Reads) -> Clock:
    """Return the clock of a run."""
    minutes = setting(run, "time", "step_minutes")
    if minutes is None:
        return Clock(max(run.last_step, 0))
    hours, warm_up = float(minutes) / 60, float(setting(run, "time", "warm_up_hours", default=0.0) or 0.0)
    return Clock(max(run.last_step, 0), hours, math.ceil(warm_up / hours - 1e-9))


def in_words(hours: float) -> str:
    """Return a length of time in days, hours and minutes.

    >>> in_words(54), in_words(0.75), in_words(336), in_words(0)
    ('2 d 6 h', '45 min', '14 d', '0 h')
    """
    minutes = round(hours * 60)
    parts = (minutes // 1440, "d"), (minutes % 1440 // 60, "h"), (minutes % 60, "min")
    return " ".join(f"{amount:,} {unit}" for amount, unit in parts if amount) or "0 h"
