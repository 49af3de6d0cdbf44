"""Convert times of posts to steps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from townsquare.core.array_types import Int32
from townsquare.core.cells import is_filled
from townsquare.core.errors import DataError
from townsquare.core.tabular import Record
from townsquare.core.words import seconds_of

MAX_STEP = 1_000_000
YEAR_1, YEAR_10000 = -62_135_596_800, 253_402_300_800
"""In seconds since 1970: the first and the one behind the last that a calendar has."""
TIME = "a time such as 2024-05-01T13:30, or seconds since 1970"


def read_length(given: object, where: str) -> float:
    """Return seconds that a step lasts, from ``1h``, ``30 min``, ``1 day`` or a number of seconds.

    Raises
    ------
    DataError
        Anything else, nothing that lasts, or more than 10,000 years.

    >>> read_length("1.5h", "step_length"), read_length(60, "step_length")
    (5400.0, 60.0)
    """
    text = "" if isinstance(given, bool) else str(given).strip()
    seconds = seconds_of(text if not text or text[-1].isalpha() else f"{text} s") or 0.0
    if not 0 < seconds < YEAR_10000 - YEAR_1:
        raise DataError(where, got=repr(given)[:80], allowed="30 min, 1h, 1 day, or a number of seconds")
    return seconds


def read_time(given: object, where: str) -> float:
    """Return seconds since 1970 (UTC) of a time; one without a zone is UTC.

    Raises
    ------
    DataError
        What is no time in the years 1 to 9999.

    >>> read_time("1970-01-01T01:00+01:00", "time"), read_time("1970-01-02", "time")
    (0.0, 86400.0)
    """
    text = str(given).strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            raise DataError(where, got=repr(given)[:80], allowed=TIME) from None
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    if not YEAR_1 <= seconds < YEAR_10000:
        raise DataError(where, got=repr(given)[:80], allowed=f"{TIME}, in the years 1 to 9999")
    return seconds


def steps_of_times(records: Sequence[Record], column: str, length: float | None, start: float | None) -> Int32:
    """Return the step of each record's time, from 1; -1 for a record without one.

    Parameters
    ----------
    records : sequence of Record
        Posts.
    column : str
        Where the times stand.
    length : float, optional
        Seconds a step.
    start : float, optional
        When step 1 begins, in seconds since 1970; at the earliest time if not given.

    Raises
    ------
    DataError
        With row and column: no time, a time before the start, a step over 1,000,000, a step next to it; times without
        a length of steps.
    """
    times = np.full(len(records), np.nan)
    for row, record in enumerate(records):
        if not is_filled(record, column):
            continue
        cell, where = record.cells[column], record.where(column)
        if length is None:
            allowed = "times together with `step_length`, such as `step_length: 1h`"
            raise DataError(where, got=repr(cell)[:80], allowed=allowed)
        if is_filled(record, "step"):
            raise DataError(where, got="a time and a step", allowed="one of them")
        times[row] = read_time(cell, where)
    known = np.flatnonzero(~np.isnan(times))
    out = np.full(len(records), -1.0)
    if known.size and length is not None:
        first = times[known].min() if start is None else start
        out[known] = np.floor((times[known] - first) / length) + 1
    for row in known[(out[known] < 1) | (out[known] > MAX_STEP)][:1]:
        got = "a time before `start_time`" if out[row] < 1 else f"step {out[row]:,.0f}"
        raise DataError(records[row].where(column), got=got, allowed=f"times in steps 1 to {MAX_STEP:,}")
    return out.astype(np.int32)
