"""From times of posts to steps."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from pathlib import Path

from townsquare.core import tabular
from townsquare.core.errors import DataError
from townsquare.core.files import MAX_BYTES
from townsquare.core.tabular import MAX_ROWS, Record, Records

_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")
_SECONDS = {
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("w", "week", "weeks"), 604800.0),
}
MAX_STEP = 1_000_000
YEAR_1, YEAR_10000 = -62_135_596_800, 253_402_300_800
"""In seconds since 1970: the first and the one behind the last that a calendar has."""
TIME = "a time such as 2024-05-01T13:30, or seconds since 1970"


def read_length(given: object, where: str) -> float:
    """Seconds that a step lasts, from ``1h``, ``30 min``, ``1 day`` or a number of seconds.

    Raises
    ------
    DataError
        Anything else, nothing that lasts, or more than 10,000 years.

    >>> read_length("1.5h", "step_length"), read_length(60, "step_length")
    (5400.0, 60.0)
    """
    found = None if isinstance(given, bool) else _LENGTH.fullmatch(str(given).strip().lower())
    seconds = float(found[1]) * _SECONDS[found[2]] if found and found[2] in _SECONDS else 0.0
    if not 0 < seconds < YEAR_10000 - YEAR_1:
        raise DataError(where, got=repr(given)[:80], allowed="30 min, 1h, 1 day, or a number of seconds")
    return seconds


def read_time(given: object, where: str) -> float:
    """Seconds since 1970 (UTC) of a time; one without a zone is UTC.

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


# Parquet files as records, so that what reads a CSV reads them too.


def read_parquet(path: Path) -> Records:
    """All rows of a Parquet file; columns as in :func:`townsquare.core.tabular.read_csv`.

    Structs are spread out (``stance`` with the field ``tax`` is the column ``stance:tax``), times become texts in
    ISO 8601, decimals become floats. Nulls are empty cells.

    Raises
    ------
    DataError
        Not there, no Parquet, over 512 MiB or 2,000,000 rows, two columns of one name.
    """
    import polars as pl  # a tenth of a second: only who gives such a file waits for it

    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise DataError(str(path), got=f"{size:,} bytes", allowed=f"at most {MAX_BYTES:,} bytes")
        rows = pl.scan_parquet(path).select(pl.len()).collect().item()
        if rows > MAX_ROWS:
            raise DataError(str(path), got=f"{rows:,} rows", allowed=f"at most {MAX_ROWS:,} rows")
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        said = " ".join(str(error).split())[:200]
        raise DataError(str(path), got=f"no Parquet that can be read ({said})", allowed="a Parquet file") from None
    records = []
    for number, row in enumerate(frame.iter_rows(named=True), 1):
        place = f"{path}, row {number}"
        cells = tabular.spread(place, {name: _plain(cell) for name, cell in row.items()})
        records.append(Record(place, cells))
    columns = tabular.columns_of(records) if records else tuple(tabular.column_name(name) for name in frame.columns)
    return Records(str(path), columns, records)


def _plain(cell: object) -> object:
    """A cell as CSV and JSON would have it."""
    if isinstance(cell, dict):
        return {name: _plain(inner) for name, inner in cell.items()}
    if isinstance(cell, datetime | date | clock_time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    return float(cell) if isinstance(cell, Decimal) else cell
