"""From times of posts to steps."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from townsquare.errors import DataError
from townsquare.files import Record

_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")
_SECONDS = {
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("w", "week", "weeks"), 604800.0),
}
MAX_STEP = 1_000_000
TIME = "a time such as 2024-05-01T13:30, or seconds since 1970"


def read_length(given: object, where: str) -> float:
    """Seconds that a step lasts, from ``1h``, ``30 min``, ``1 day`` or a number of seconds.

    Raises
    ------
    DataError
        Anything else, or nothing that lasts.

    >>> read_length("1.5h", "step_length"), read_length(60, "step_length")
    (5400.0, 60.0)
    """
    found = None if isinstance(given, bool) else _LENGTH.fullmatch(str(given).strip().lower())
    seconds = float(found[1]) * _SECONDS[found[2]] if found and found[2] in _SECONDS else 0.0
    if not (math.isfinite(seconds) and seconds > 0):
        raise DataError(where, got=repr(given)[:80], allowed="30 min, 1h, 1 day, or a number of seconds")
    return seconds


def read_time(given: object, where: str) -> float:
    """Seconds since 1970 (UTC) of a time; one without a zone is UTC.

    Raises
    ------
    DataError
        What is no time.

    >>> read_time("1970-01-01T01:00+01:00", "time"), read_time("1970-01-02", "time")
    (0.0, 86400.0)
    """
    if isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given):
        return float(given)
    text = str(given).strip()
    try:
        return float(text)
    except ValueError:
        pass
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise DataError(where, got=repr(given)[:80], allowed=TIME) from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def steps_of_times(records: Sequence[Record], column: str, length: float | None, start: float | None) -> list[int]:
    """The step of each record's time, from 1; -1 for a record without one.

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
        With row and column: no time, a time before the start, a step over 1,000,000, a step beside it; times without
        a length of steps.
    """
    times: list[float | None] = []
    for record in records:
        cell = record.cells.get(column)
        if cell is None or not str(cell).strip():
            times.append(None)
            continue
        where = record.where(column)
        if length is None:
            raise DataError(where, got=repr(cell)[:80], allowed="times only with `step_length: 1h` in the scenario")
        if str(record.cells.get("step") or "").strip():
            raise DataError(where, got="a time and a step", allowed="one of them")
        times.append(read_time(cell, where))
    known = [time for time in times if time is not None]
    first = min(known, default=0.0) if start is None else start
    out = []
    for record, time in zip(records, times, strict=True):
        step = -1 if time is None or length is None else math.floor((time - first) / length) + 1
        if time is not None and not 1 <= step <= MAX_STEP:
            got = "a time before `start_time`" if step < 1 else f"step {step:,}"
            raise DataError(record.where(column), got=got, allowed=f"times in steps 1 to {MAX_STEP:,}")
        out.append(step)
    return out
