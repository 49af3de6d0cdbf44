"""Read tables that a user gave, CSV, JSON lines and Parquet, as records."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from townsquare.core.documents import parse_json
from townsquare.core.errors import DataError
from townsquare.core.files import MAX_BYTES, MAX_SHOWN, clean, read_text

MAX_ROWS = 2_000_000
LINES_KINDS = (".jsonl", ".ndjson")
TABLE_KINDS = (".csv", ".tsv", *LINES_KINDS, ".parquet")
"""Endings of files that hold tables."""


_NUMBER = re.compile(r"-?\d+(,\d+)?")


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a CSV, one line of a JSONL or one item of a YAML list.

    Attributes
    ----------
    location : str
        File with row and line, for errors.
    cells : mapping of str to object
        Value by column; ``None`` and ``""`` are empty. Objects inside an object are spread out:
        ``{"stance": {"tax": 1}}`` is the cell ``stance:tax``.
    part : str
        What a cell is called in such a file: column, field or key.
    """

    location: str
    cells: Mapping[str, object]
    part: str = "column"

    def where(self, column: str) -> str:
        """Return where an error in ``column`` stands."""
        return f"{self.location}, {self.part} {column!r}"


@dataclass(frozen=True, slots=True)
class Records:
    """All records of one file or list, with the columns that any of them has, in order of first appearance."""

    location: str
    columns: tuple[str, ...]
    records: list[Record]


def read_table(path: Path, kinds: Sequence[str] = ()) -> Records:
    """Read all rows of a table by the ending of its name: JSON lines, Parquet, else CSV.

    Raises
    ------
    DataError
        An ending that is none of ``kinds``, if any are given; or as the reader of that kind.
    """
    ending = path.suffix.lower()
    if kinds and ending not in kinds:
        raise DataError(str(path), got=ending or "a name without an ending", allowed=", ".join(kinds))
    if ending == ".parquet":
        return read_parquet(path)
    return read_jsonl(path) if ending in LINES_KINDS else read_csv(path)


def read_csv(path: Path) -> Records:
    """Read a CSV with a header; the separator is a comma, semicolon or tab, the most frequent in the header.

    Column names are stripped, and lowered before the first ``:``. Blank lines are skipped. Between semicolons, a column
    of numbers alone may have decimal commas.

    Raises
    ------
    DataError
        Empty file, repeated or missing column names, a row of another length, too many rows, broken quotes.
    """
    text = read_text(path)
    delimiter = separator(text.split("\n", 1)[0], ",;\t")
    lines = csv_rows(path, text, delimiter)
    _, _, header = next(lines, (0, 0, []))
    columns = tuple(column_name(name) for name in header)
    if not any(columns):
        raise DataError(str(path), got="an empty file", allowed="a header and at least one row")
    first = {column: at for at, column in reversed(list(enumerate(columns)))}
    for at, column in enumerate(columns):
        if not column or first[column] < at:
            got = f"the column {column[:MAX_SHOWN]!r} twice" if column else f"no name for column {at + 1}"
            raise DataError(f"{path}, line 1", got=got, allowed="a unique name for each column")
    records: list[Record] = []
    for row, line, cells in lines:
        location = f"{path}, row {row} (line {line})"
        if len(cells) != len(columns):
            allowed, do = f"{len(columns)} cells, as in the header", "quote cells that hold the separator"
            raise DataError(location, got=f"{len(cells)} cells", allowed=allowed, do=do)
        records.append(Record(location, dict(zip(columns, cells, strict=True))))
    return Records(str(path), columns, _with_points(columns, records) if delimiter == ";" else records)


def _with_points(columns: Sequence[str], records: list[Record]) -> list[Record]:
    """Return records in which columns of numbers alone have decimal points, not commas."""
    cells = {name: [str(record.cells[name]).strip() for record in records] for name in columns}
    commas = [name for name, of in cells.items() if all(_NUMBER.fullmatch(cell) for cell in of if cell)]
    return [
        replace(record, cells={**record.cells, **{name: str(record.cells[name]).replace(",", ".") for name in commas}})
        for record in records
    ]


def csv_rows(path: Path, text: str, delimiter: str, limit: int = MAX_ROWS) -> Iterator[tuple[int, int, list[str]]]:
    """Yield (row, line it starts in, cells) of the rows that are not blank; row 0 is the first, usually the header."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    row, line = -1, 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise DataError(f"{path}, line {line}", got=str(error), allowed="cells with closed quotes") from None
        if cells is None:
            return
        if "".join(cells).strip():
            row += 1
            if row > limit:
                raise DataError(str(path), got=f"more than {limit:,} rows", allowed=f"at most {limit:,} rows")
            yield row, line, cells
        line = reader.line_num + 1


def separator(line: str, allowed: str) -> str:
    """Return the character of ``allowed`` that a line has most of; the first of them if it has none.

    >>> separator("a;b;c,d", ",;")
    ';'
    """
    return max(allowed, key=line.count)


@lru_cache(maxsize=4096)
def column_name(name: str) -> str:
    """Return a column name as code compares it: ``' Stance:Tax '`` is ``'stance:Tax'``."""
    head, colon, rest = clean(name).strip().partition(":")
    return head.strip().lower() + colon + rest.strip()


def read_jsonl(path: Path) -> Records:
    """Read all records of a file with one JSON object a line; see :func:`jsonl_records`."""
    records = list(jsonl_records(path))
    return Records(str(path), columns_of(records), records)


def jsonl_records(path: Path) -> Iterator[Record]:
    """Yield the records of a file with one JSON object a line, one by one; see :func:`jsonl_objects`."""
    for line, value in jsonl_objects(path):
        location = f"{path}, line {line}"
        yield Record(location, spread(location, value), "field")


def jsonl_objects(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects of a file with one JSON object a line, one by one, with their lines; blank lines are skipped.

    Raises
    ------
    DataError
        A line that is no JSON object, or has a key twice; too many lines.
    """
    n = 0
    for line, content in enumerate(io.StringIO(read_text(path), newline=None), 1):
        if not content.strip():
            continue
        location = f"{path}, line {line}"
        n += 1
        if n > MAX_ROWS:
            raise DataError(location, got=f"more than {MAX_ROWS:,} rows", allowed=f"at most {MAX_ROWS:,} rows")
        value = parse_json(content, location)
        if not isinstance(value, dict):
            raise DataError(location, got=type(value).__name__, allowed="one JSON object per line")
        yield line, value


def spread(location: str, cells: Mapping[Any, object]) -> dict[str, object]:
    """Cells by column name, with objects inside spread out: ``{"stance": {"tax": 1}}`` is ``{"stance:tax": 1}``."""
    out: dict[str, object] = {}
    for key, value in cells.items():
        inner = value.items() if isinstance(value, dict) else [(None, value)]
        for part, cell in inner:
            name = column_name(str(key) if part is None else f"{key}:{part}")
            if name in out:
                raise DataError(location, got=f"the column {name!r} twice", allowed="each column once")
            out[name] = cell
    return out


def records_of(location: str, items: Iterable[tuple[str, object]], part: str) -> Records:
    """Return records of mappings, each with its place; ``part`` is what messages call a column."""
    records = []
    for where, item in items:
        if not isinstance(item, dict):
            raise DataError(where, got=repr(item)[:80], allowed="a mapping of column to value")
        records.append(Record(where, spread(where, item), part))
    return Records(location, columns_of(records), records)


def columns_of(records: list[Record]) -> tuple[str, ...]:
    """Return every column of the records, in order of first appearance."""
    return tuple(dict.fromkeys(column for record in records for column in record.cells))


def read_parquet(path: Path) -> Records:
    """Read all rows of a Parquet file; columns as in :func:`read_csv`.

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
        frame = pl.read_parquet(path, n_rows=MAX_ROWS + 1)
    except (OSError, pl.exceptions.PolarsError) as error:
        message = " ".join(str(error).split())[:200]
        raise DataError(str(path), got=f"an unreadable Parquet file ({message})", allowed="a Parquet file") from None
    if frame.height > MAX_ROWS:
        raise DataError(str(path), got=f"more than {MAX_ROWS:,} rows", allowed=f"at most {MAX_ROWS:,} rows")
    records = []
    for number, row in enumerate(frame.iter_rows(named=True), 1):
        location = f"{path}, row {number}"
        records.append(Record(location, spread(location, {name: _plain(cell) for name, cell in row.items()})))
    columns = columns_of(records) if records else tuple(column_name(name) for name in frame.columns)
    return Records(str(path), columns, records)


def _plain(cell: object) -> object:
    """Return a cell as CSV and JSON would have it."""
    if isinstance(cell, dict):
        return {name: _plain(inner) for name, inner in cell.items()}
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    return float(cell) if isinstance(cell, Decimal) else cell
