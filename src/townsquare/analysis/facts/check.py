"""Facts held against recorded runs: the value of each over the runs, and whether it lies in the published interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from townsquare.analysis import statistics
from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import CachedRun, Reads
from townsquare.analysis.facts.contract import FEWEST_COUNTED, Reading
from townsquare.analysis.facts.measures import OF_A_RUN, OF_NOTES
from townsquare.analysis.facts.table import Fact, read_facts
from townsquare.core.words import listed

Readings = Mapping[str, Reading]
"""What one run shows, by measure."""
MOST_NAMED = 12
CLASSES = {"run": "runs", "sitting": "sittings", "notes": "notes", "rule": "rules"}
BOUNDED = {"proportion": (0, 1), "Gini": (0, 1), "R squared": (0, 1), "correlation": (-1, 1)}
"""The smallest and the largest value of a unit, by how the unit begins: intervals are cut there."""
_EXPOSURES = {"exposures": "step agent post root slot verdict note first_seen"}


@dataclass(frozen=True, slots=True)
class FactCheck:
    """One fact held against runs.

    Attributes
    ----------
    fact : Fact
        The published fact.
    measured : bool
        Whether any run shows it.
    value, low, high : float
        Mean over the runs that show it, with Student's interval at 95%, cut at the bounds of :data:`BOUNDED` units; NaN
        where there is none, as for one run. Of a fact of a rule: at the shipped value of its parameter, and over the
        interval of that.
    runs : int
        How many runs show it; 0 for a fact of a rule, which needs none.
    reason : str
        Why it is not measured, in plain words.
    also : mapping of str to float
        Means of further readings.
    """

    fact: Fact
    measured: bool
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    runs: int = 0
    reason: str = ""
    also: Mapping[str, float] = field(default_factory=dict)

    @property
    def inside(self) -> bool | None:
        """Whether the value lies in the interval; None where it is not measured."""
        return self.fact.holds(self.value) if self.measured else None

    @property
    def verdict(self) -> str:
        """``yes`` or ``no``, ``uncertain`` where the 95% CI holds an end of the published range; ``not scored``."""
        if not self.scored:
            return "not scored"
        low, high = self.fact.interval
        ends = {"at least": [low], "at most": [high]}.get(self.fact.direction, [low, high])
        uncertain = any(self.low < end < self.high for end in ends)
        return ("yes" if self.inside else "no") + (", uncertain" if uncertain else "")

    @property
    def scored(self) -> bool:
        """Whether it counts in the answer: measured, and not from memory."""
        return self.measured and not self.fact.unscored


@dataclass(frozen=True, slots=True)
class FactReport:
    """All facts held against runs; ``runs`` is their number, and ``arm`` the arm of a comparison."""

    checks: tuple[FactCheck, ...]
    runs: int
    arm: str = ""

    @property
    def answer(self) -> str:
        """The answer in one sentence: how many facts of runs, sittings and notes are inside, and which are not."""
        checks = [check for check in self.checks if check.scored and check.fact.scope != "rule"]
        scopes = {check.fact.scope for check in checks}
        return _inside(checks, f"facts of {listed([word for scope, word in CLASSES.items() if scope in scopes])}")

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.answer, self.left_out, self.of_rules, self.by_class)))

    @property
    def of_rules(self) -> str:
        """The same of facts of `credence` and `averaging`, whatever rule the runs use; empty where none is measured."""
        checks = [check for check in self.checks if check.scored and check.fact.scope == "rule"]
        return _inside(checks, "facts of the rules `credence` and `averaging`") if checks else ""

    @property
    def by_class(self) -> str:
        """How many facts of each class are inside, of those measured; empty where one class at most is measured."""
        scored: dict[str, list[FactCheck]] = {}
        for check in self.checks:
            if check.scored:
                scored.setdefault(CLASSES.get(check.fact.scope, check.fact.scope), []).append(check)
        words = [f"{name} {sum(bool(check.inside) for check in of)} of {len(of)}" for name, of in scored.items()]
        return f"By class: {', '.join(words)}." if len(words) > 1 else ""

    @property
    def left_out(self) -> str:
        """The same of the facts that no default is set from; empty where none of them is measured."""
        checks = [check for check in self.checks if check.scored and check.fact.left_out]
        return _inside(checks, "facts not used for defaults") if checks else ""


def _inside(checks: Sequence[FactCheck], what: str) -> str:
    """Return how many are inside and which are not, in words."""
    if not checks:
        return "No published fact can be scored."
    out = [check.fact.id for check in checks if not check.inside]
    named = ", ".join(out[:MOST_NAMED]) + (f" and {len(out) - MOST_NAMED} more" if len(out) > MOST_NAMED else "")
    outside = f"; outside: {named}" if out else ""
    return f"{len(checks) - len(out)} of {len(checks)} {what} inside the published range{outside}."


def read_once(run: Reads) -> CachedRun:
    """Return a run of which measures of facts read each table once."""
    return run if isinstance(run, CachedRun) else CachedRun(run, keep=_EXPOSURES)


def readings_of(run: Reads, names: Iterable[str]) -> dict[str, Reading]:
    """Measure in one run those of the named measures that one run shows."""
    cached, measures = read_once(run), OF_A_RUN | OF_NOTES
    return {name: measures[name](cached) for name in dict.fromkeys(names) if name in measures}


def check(facts: Iterable[Fact], readings: Sequence[Readings], runs: int = 1, arm: str = "") -> FactReport:
    """Hold facts against the readings of runs: equal weight for each run that shows a fact."""
    return FactReport(tuple(_check(fact, readings) for fact in facts), runs, arm)


def _check(fact: Fact, runs: Sequence[Readings]) -> FactCheck:
    readings = [run[fact.measure] for run in runs if fact.measure in run]
    shown = [reading for reading in readings if reading.measured]
    counted = [reading for reading in readings if math.isfinite(reading.counts[1])]
    if len(counted) > 1:
        return _pooled(fact, counted)
    if not shown:
        return FactCheck(fact, measured=False, reason=readings[0].reason if readings else fact.reason)
    values = [reading.value for reading in shown]
    bounds = next((ends for unit, ends in BOUNDED.items() if fact.unit.startswith(unit)), (-math.inf, math.inf))
    estimate = statistics.mean(values)
    low, high = (min(max(end, bounds[0]), bounds[1]) for end in (estimate.low, estimate.high))  # NaN stays NaN
    names = dict.fromkeys(name for reading in shown for name in reading.also)
    if len(shown) == 1 and not math.isnan(shown[0].ends[0]):
        return FactCheck(fact, True, shown[0].value, *shown[0].ends)
    also = {name: statistics.mean([each.also[name] for each in shown if name in each.also]).value for name in names}
    return FactCheck(fact, True, estimate.value, low, high, runs=len(shown), also=also)


def _pooled(fact: Fact, readings: Sequence[Reading]) -> FactCheck:
    """Return a relative change of counts added up over runs, with an interval by leaving out each run in turn."""
    counts = np.array([reading.counts for reading in readings])
    total, n = counts.sum(axis=0), len(readings)
    if total[1] < FEWEST_COUNTED:
        return FactCheck(fact, measured=False, reason=f"{readings[0].reason}; {n} runs have {total[1]:,.0f}")
    value = float(total[0] / total[1] - 1)
    others = total - counts
    if not (others[:, 1] > 0).all():
        return FactCheck(fact, True, value, runs=n)
    without_each = others[:, 0] / others[:, 1] - 1
    half = float(statistics.student(n - 1) * np.sqrt((n - 1) * np.var(without_each)))
    return FactCheck(fact, True, value, value - half, value + half, runs=n)


def check_run(run: Reads) -> FactReport | None:
    """Hold the bundled facts against one run; return None where steps have no length, since facts are about hours."""
    if clock_of(run).hours is None:
        return None
    facts, cached = read_facts(), read_once(run)
    readings = cached.once("facts", lambda: readings_of(cached, [fact.measure for fact in facts]))
    return check(facts, [readings])
