"""Arms of experiments with people: what was observed, what the shipped rules predict, and the goal.

A *form* is a kind of table that ``townsquare check people`` reads; it is recognized by its columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from townsquare.analysis.statistics import Estimate
from townsquare.core.cells import Column, Sheet, words
from townsquare.core.errors import DataError

EFFECT, RMSE = "effect", "RMSE"
"""What ``error`` is: predicted less observed effect, or the root of the mean squared error over single answers."""
CONSTANT = ", by a constant"
"""The end of a goal that a constant meets or misses, not a rule."""
NO_CONTROLS = "no control arm"
"""Stands in the note of an arm that cannot be scored."""
POINTS = "points"
"""Stands in a unit of percent."""

MOST_ARMS = 200
YES = words({"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True})


class Source(NamedTuple):
    """One table of a folder. ``dataset`` is the name of the folder, ``form`` that of the form."""

    dataset: str
    form: str
    sheet: Sheet

    def arm(self, name: str, **fields: Any) -> Arm:
        """Return an arm of this table."""
        return Arm(dataset=self.dataset, form=self.form, arm=name, **fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One arm of one data set.

    Attributes
    ----------
    dataset, form, arm : str
        Folder, form of its table, and what people were shown.
    unit : str
        Of ``observed`` and ``predicted``.
    observed, predicted : float
        The effect; NaN if there is none to compare.
    interval : (float, float)
        95% bootstrap interval of ``observed`` over people, groups, items or conversations.
    error : float
        As ``measure`` says.
    measure : str
        :data:`EFFECT` or :data:`RMSE`.
    goal : str
        What the project asked for; "" if it asked for nothing.
    met : bool, optional
        Whether the goal is met; None without a goal or without what it needs.
    against : str
        The baseline of ``gain``; "" for none.
    gain : Estimate, optional
        RMSE of the rule minus that of ``against``: below 0 the rule is better.
    baselines : mapping of str to float
        What other rules and plain models say: an effect or an RMSE, as ``measure`` says.
    note : str
        What limits the comparison.
    """

    dataset: str
    form: str
    arm: str
    unit: str
    observed: float
    interval: tuple[float, float]
    predicted: float
    error: float
    measure: str = EFFECT
    goal: str = ""
    met: bool | None = None
    against: str = ""
    gain: Estimate | None = None
    baselines: Mapping[str, float] = field(default_factory=dict)
    note: str = ""


Check = Callable[[Sequence[Source], bool], Iterator[Arm]]
"""Yields the arms of all tables of the forms that it knows; the second argument says whether to fit to them."""


class Form(NamedTuple):
    """A kind of table.

    Attributes
    ----------
    name : str
    about : str
        Its columns, in words, for an error.
    columns_of : callable
        Returns the columns to read of a table with these headers; None if the table is not of this form.
    check : Check
    """

    name: str
    about: str
    columns_of: Callable[[Sequence[str]], Sequence[Column] | None]
    check: Check


def fixed(columns: Sequence[Column]) -> Callable[[Sequence[str]], Sequence[Column] | None]:
    """Return what tells a form by its columns: all that are needed are there."""
    needed = {column.name for column in columns if column.needed}
    return lambda headers: columns if needed <= set(headers) else None


def few(values: Sequence[Any], sheet: Sheet, column: str) -> list[Any]:
    """Return the different values of a column that makes arms, in order.

    Raises
    ------
    DataError
        More of them than any experiment has arms.
    """
    different = sorted(set(values))
    if len(different) > MOST_ARMS:
        got, where = f"{len(different):,} different values", f"{sheet.table.location}, column {column!r}"
        raise DataError(where, got=got, allowed=f"at most {MOST_ARMS}: each is an arm")
    return different


def effect(observed: Estimate, predicted: float, within: float = math.nan, unit: str = "") -> dict[str, Any]:
    """Return the fields of an arm that compares two effects; ``within`` is the goal, NaN for none."""
    error = predicted - observed.value
    goal, met = ("", None) if math.isnan(within) else (f"within ±{within:g}", abs(error) <= within)
    interval = (observed.low, observed.high)
    return {
        "observed": observed.value, "interval": interval, "predicted": predicted, "error": error, "unit": unit,
        "goal": goal, "met": met if math.isfinite(error) else None,
    }  # fmt: skip
