"""What a measure of a fact gives, and the part of a run that facts are measured on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import Reads

FOLLOWED_HOURS = 48
"""Hours for which a post is followed."""
FEWEST_COUNTED = 20
"""Counts without that a relative change needs, over all runs."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one run shows of one fact.

    Attributes
    ----------
    value : float
        The measured value; NaN where the run cannot show the fact.
    also : mapping of str to float
        Further readings by name, shown and not scored.
    reason : str
        Why there is no value, in plain words.
    counts : (float, float)
        Of a relative change: the counts with and without, which are added up over runs, as one run has few; else NaN.
    ends : (float, float)
        Of a belief rule: the values at the ends of the interval of the parameter that decides; else NaN.
    """

    value: float = math.nan
    also: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    counts: tuple[float, float] = (math.nan, math.nan)
    ends: tuple[float, float] = (math.nan, math.nan)

    @property
    def measured(self) -> bool:
        """Whether there is a value."""
        return math.isfinite(self.value)


class Unmeasured(Exception):
    """Ends a measure that has no value, with the reason in plain words."""


def by_name(*measures: Callable[..., Reading]) -> dict[str, Callable[..., Reading]]:
    """Return measures by their names; where one raises :class:`Unmeasured`, it gives a reading without a value."""

    def read(measure: Callable[..., Reading], *measured: object) -> Reading:
        try:
            return measure(*measured)
        except Unmeasured as reason:
            return Reading(reason=str(reason))

    return {measure.__name__: partial(read, measure) for measure in measures}


def few(n: int, least: int, what: str) -> str:
    """Say that there are too few of something.

    >>> few(2, 5, "cascades of at least 10 posts")
    'too few cascades of at least 10 posts: 2, and 5 are needed'
    """
    return f"too few {what}: {n:,}, and {least:,} are needed"


def at_least(least: int, n: float, what: str) -> None:
    """Raise :class:`Unmeasured` where there are too few of something."""
    if n < least:
        raise Unmeasured(f"{few(int(n), least, what)} in one run")


def change(with_it: float, without: float, what: str) -> Reading:
    """Return a relative change; a reading without a value, but with its counts, where there are too few.

    >>> change(30, 60, "shares").value
    -0.5
    """
    if without < FEWEST_COUNTED:
        reason = f"{few(int(without), FEWEST_COUNTED, what)} in all runs together"
        return Reading(reason=reason, counts=(with_it, without))
    return Reading(with_it / without - 1, counts=(with_it, without))


class Window(NamedTuple):
    """The steps of a run that facts are measured on, and the length of a step in hours, None without one."""

    first: int
    last: int
    hours: float | None

    def steps(self, hours: float) -> int:
        """Return the number of steps that so many hours take; 0 where a step has no length."""
        return 0 if self.hours is None else math.ceil(hours / self.hours - 1e-9)


def window_of(run: Reads) -> Window:
    """Return the steps after the warm-up."""
    clock = clock_of(run)
    return Window(clock.warm_up + 1, run.last_step, clock.hours)


def hours_of(run: Reads) -> float:
    """Return the length of a step in hours; raise :class:`Unmeasured` where steps have no length."""
    hours = clock_of(run).hours
    if hours is None:
        raise Unmeasured("steps have no length: set time.step_minutes")
    return hours
