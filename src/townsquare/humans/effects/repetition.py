"""Ratings of statements met before or not, at several delays: the form ``truth_effect``.

The rating of each new statement is taken as it is, as log odds; a repeated one is predicted by adding the familiarity
that one earlier reading leaves after the delay. An answer at the end of a scale stands for the outer half of its step.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from townsquare.analysis.statistics import Estimate
from townsquare.beliefs.equation import stances_of, start_log_odds
from townsquare.beliefs.laboratory import RULE, familiarity
from townsquare.core.array_types import Bool, Float, Int64
from townsquare.core.cells import Column, name_cell, names, numbers
from townsquare.core.errors import DataError
from townsquare.core.tabular import Record
from townsquare.humans.effects.contract import NO_CONTROLS, YES, Arm, Form, Source, effect, few, fixed
from townsquare.humans.resample import codes, estimate, mean_difference, out_of_fold, sums

GOAL = 0.05
POINTS = 7
"""Of the rating scale where no column ``scale`` says otherwise."""
_DAYS = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.0, "year": 365.0}
_AT_ONCE = ("immediate", "immediately", "at once", "none", "0")


def _days(row: Record, column: str) -> float:
    """Return a delay in days: a number of days, ``immediate``, or words such as ``1 week``."""
    word = name_cell(row, column).lower()
    if word in _AT_ONCE:
        return 0.0
    match = re.fullmatch(r"(a|an|one|[0-9]+(?:\.[0-9]+)?)?\s*([a-z]*?)s?", word)
    unit = match[2] if match else "?"
    if match is None or (unit and unit not in _DAYS) or not (match[1] or unit):
        allowed = "a number of days, `immediate`, or a delay such as `1 week`"
        raise DataError(row.where(column), got=repr(word)[:80], allowed=allowed)
    number = 1.0 if match[1] in (None, "a", "an", "one") else float(match[1])
    return min(number * _DAYS.get(unit, 1.0), 1e5)


COLUMNS = (
    Column("person", names(), needed=True),
    Column("interval", _days, needed=True),
    Column("repeated", YES, needed=True),
    Column("rating", numbers(1, 101), needed=True),
    Column("keep", YES),
    Column("scale", numbers(2, 101, POINTS, whole=True)),
)
ABOUT = "person, interval (immediate, 1 day, ...), repeated 0 or 1, rating from 1 to 7 (or to `scale`)"


class _Ratings(NamedTuple):
    """Ratings that count, as stances; ``points`` of the scale, ``delay`` in days."""

    stance: Float
    points: Float
    delay: Float
    person: Int64
    repeated: Bool

    def take(self, at: Bool) -> _Ratings:
        """Return some rows."""
        return _Ratings(self.stance[at], self.points[at], self.delay[at], self.person[at], self.repeated[at])

    def at(self, days: float) -> tuple[_Ratings, _Ratings]:
        """Return repeated and new statements at one delay."""
        of = self.take(self.delay == days)
        return of.take(of.repeated), of.take(~of.repeated)

    def gain(self, size: float | Float = RULE.familiar) -> Float:
        """Return how much more each statement is believed if it was read once before the delay, in stance."""
        start = start_log_odds(self.stance, 1.0, 0.5 / (self.points - 1.0))
        return stances_of(start + familiarity(self.delay, size)) - stances_of(start)

    def loss(self, size: float, rows: Bool) -> float:
        """Return the sum of squared errors of the effect over the delays, for some rows."""
        total, some = 0.0, self.take(rows)
        for days in np.unique(self.delay).tolist():
            again, new = some.at(days)
            if again.stance.size and new.stance.size:
                total += float(again.stance.mean() - new.stance.mean() - new.gain(size).mean()) ** 2
        return total


def check(sources: Sequence[Source], fit: bool) -> Iterator[Arm]:
    """Yield every delay of every table."""
    for source in sources:
        ratings = _read(source)
        size = np.full(ratings.stance.size, RULE.familiar)
        fitted = fit and np.unique(ratings.person).size > 1
        if fitted:
            size, _ = out_of_fold(ratings.loss, ratings.person, (0.0, 3.0))
        for days in few(ratings.delay.tolist(), source.sheet, "interval"):
            again, new = ratings.at(days)
            own = size[(ratings.delay == days) & ~ratings.repeated]
            if again.stance.size:
                note = f"fitted to other people: {own.min():.2f} to {own.max():.2f} log odds" if fitted else ""
                yield _arm(source, days, again, new, (own, note))


def _read(source: Source) -> _Ratings:
    sheet = source.sheet
    rating, delay, points = (np.array(sheet[name], np.float64) for name in ("rating", "interval", "scale"))
    beyond = np.flatnonzero(rating > points)
    if beyond.size:
        row, most = sheet.table.records[int(beyond[0])], points[beyond[0]]
        do = "give a column `scale` with the number of points"
        raise DataError(row.where("rating"), got=f"{rating[beyond[0]]:g}", allowed=f"1 to {most:g}", do=do)
    used = np.isfinite(rating) & (np.array(sheet["keep"], np.bool_) if "keep" in sheet else np.bool_(True))
    stance = 2.0 * (rating - 1.0) / (points - 1.0) - 1.0
    person, repeated = codes(sheet["person"]), np.array(sheet["repeated"], np.bool_)
    return _Ratings(stance, points, delay, person, repeated).take(used)


def _arm(source: Source, days: float, again: _Ratings, new: _Ratings, fitted: tuple[Float, str]) -> Arm:
    """Return one delay; ``fitted`` is the size of a full reading for each new statement, and a note."""
    observed, predicted, note = Estimate(math.nan, math.nan, math.nan), math.nan, f"{NO_CONTROLS}: no new statements"
    if new.stance.size:
        whole = np.concatenate([again.person, new.person])
        columns = []
        for part, before in ((again, 0), (new, again.person.size)):
            indicator = np.zeros((2, whole.size))
            indicator[:, before : before + part.person.size] = np.ones(part.person.size), part.stance
            columns += [*indicator]
        observed = estimate(lambda t: mean_difference(t[:, :2], t[:, 2:]), sums(whole, *columns))
        predicted, note = float(new.gain(fitted[0]).mean()), fitted[1]
    fields = effect(observed, predicted, GOAL, unit="stance (−1 to +1)")
    title = f"{days:g} {'day' if days == 1 else 'days'}" if days else "at once"
    return source.arm(title, baselines={"evidence rules": 0.0}, note=note, **fields)


FORM = Form("truth_effect", ABOUT, fixed(COLUMNS), check)
