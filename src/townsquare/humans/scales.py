"""From answers on a scale to stances: Likert scales of any number of points, sliders, and words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from townsquare.core.errors import DataError
from townsquare.core.registry import did_you_mean
from townsquare.core.tabular import Record


class Scale(NamedTuple):
    """How an answer becomes a stance.

    Attributes
    ----------
    against, for_it : float
        The answer that is wholly against (-1), and the one that is wholly for (+1); what lies between is linear.
    values : mapping of str to float
        Answers in words and their stances; asked first.
    """

    against: float = -1.0
    for_it: float = 1.0
    values: Mapping[str, float] = {}


STANCE = Scale()


def stance_cell(record: Record, column: str, scale: Scale = STANCE) -> float:
    """The stance in [-1, 1] that a cell stands for; NaN for an empty one.

    >>> six = Scale(1, 6)
    >>> [round(stance_cell(Record("row 1", {"x": answer}), "x", six), 2) for answer in ("1", "4", "6")]
    [-1.0, 0.2, 1.0]

    Raises
    ------
    DataError
        No number, or one outside the scale.
    """
    value = record.cells.get(column)
    said = "" if value is None else str(value).strip()
    if not said:
        return math.nan
    for word, stance in scale.values.items():
        if word.strip().casefold() == said.casefold():
            return float(stance)
    low, high = sorted((scale.against, scale.for_it))
    try:
        number = math.nan if isinstance(value, bool) else float(said)
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        allowed = f"a number from {low:g} to {high:g}"
        if scale.values:
            allowed += ", or " + ", ".join(scale.values)
        do = did_you_mean(said, scale.values) if scale.values else ""
        raise DataError(record.where(column), got=repr(value)[:80], allowed=allowed, do=do)
    if (scale.against, scale.for_it) == (-1.0, 1.0):
        return number  # to the last bit
    return 2.0 * (number - scale.against) / (scale.for_it - scale.against) - 1.0
