"""Columns as the binary form of ``COPY``, and back: built and read as arrays, without a Python object a value.

A row is its number of fields (2 bytes), then of each field its length (4 bytes, -1 for NULL) and its bytes, big-endian.
Rows with the same fields NULL have the same shape, so each chunk is written shape by shape; ``rowid`` keeps the order.
Source: PostgreSQL's documentation of ``COPY``, "Binary Format".

PostgreSQL's texts hold every character but U+0000. That one is written as U+FDD0 and ``0``, and U+FDD0, which no text
should hold, twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from townsquare.core import schema
from townsquare.core.errors import RecordError
from townsquare.record.database import DAMAGED
from townsquare.record.frames import as_sql_values, dtype_of, to_frame
from townsquare.record.postgresql.tables import TYPES

if TYPE_CHECKING:
    from townsquare.record.postgresql.server import Connection

_WIRE = {"int2": ">i2", "int4": ">i4", "int8": ">i8", "float4": ">f4", "float8": ">f8"}
_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)  # signature, no flags, no further header
_TAIL = b"\xff\xff"
_ARRAY_HEAD = 20  # bytes: dimensions, flags, type, length, first index
_WRITE_ROWS = 1 << 16
_STORED = {"\ufdd0": "\ufdd0\ufdd0", "\0": "\ufdd00"}


def stored_text(text: str) -> str:
    """A text as PostgreSQL can hold it.

    >>> plain_text(stored_text("a\\0b")) == "a\\0b", stored_text("plain")
    (True, 'plain')
    """
    return text.replace("\ufdd0", "\ufdd0\ufdd0").replace("\0", "\ufdd00")


def plain_text(text: str) -> str:
    """The text that :func:`stored_text` was given."""
    return "\ufdd0".join(part.replace("\ufdd00", "\0") for part in text.split("\ufdd0\ufdd0"))


def copy_in(connection: Connection, table: str, columns: schema.Columns, before: int) -> None:
    """Append rows to ``ts_<table>``, which has ``before`` rows; the caller holds a transaction."""
    recorded = schema.TABLES[table].recorded
    n = len(columns[recorded[0].name])
    has_text = any(column.dtype == "str" for column in recorded)
    names = ", ".join(f'"{column.name}"' for column in recorded)
    with connection.cursor().copy(f'COPY "ts_{table}" ({names}, rowid) FROM STDIN (FORMAT BINARY)') as copy:
        if has_text:
            copy.set_types([*(TYPES[column.dtype] for column in recorded), "int8"])
            rows = to_frame(recorded, columns).select(as_sql_values(recorded))
            stored = rows.with_columns(pl.selectors.string().str.replace_many(_STORED))
            for row in stored.with_columns(pl.int_range(before + 1, before + n + 1).alias("rowid")).iter_rows():
                copy.write_row(row)
            return
        copy.write(_HEAD)
        for first in range(0, n, _WRITE_ROWS):
            part = {c.name: np.asarray(columns[c.name][first : first + _WRITE_ROWS]) for c in recorded}
            for block in _blocks(recorded, part, before + first):
                copy.write(block)
        copy.write(_TAIL)


def copy_out(
    connection: Connection, table: str, columns: Sequence[schema.Column], condition: str, where: str
) -> pl.DataFrame:
    """The rows of ``ts_<table>`` that meet a condition, in order of addition, with the dtypes of the schema.

    Raises
    ------
    RecordError
        A value is outside the range of its column.
    """
    read = _texts_too if any(column.dtype == "str" for column in columns) else _numbers
    rows = f'FROM "ts_{table}" WHERE {condition} ORDER BY rowid'
    return pl.DataFrame([_series(*one, where) for one in read(connection, columns, rows)])


def _numbers(
    connection: Connection, columns: Sequence[schema.Column], rows: str
) -> Iterator[tuple[schema.Column, npt.NDArray[Any]]]:
    """One array a column, which the server puts together: rows one by one would take three times as long here."""
    named = ", ".join(f"{_selected(column)} AS c{at}" for at, column in enumerate(columns))
    arrays = ", ".join(f"array_agg(c{at})" for at in range(len(columns)))
    with connection.cursor(binary=True) as cursor:
        result = cursor.execute(f"SELECT {arrays} FROM (SELECT {named} {rows}) ordered").pgresult
        for at, column in enumerate(columns):
            data = result.get_value(0, at) if result else None
            wire = np.dtype(_WIRE[TYPES[column.dtype]])
            items = np.frombuffer(
                data or b"", np.dtype([("length", ">i4"), ("value", wire)]), offset=_ARRAY_HEAD if data else 0
            )
            yield column, items["value"].astype(wire.newbyteorder("="))


def _texts_too(
    connection: Connection, columns: Sequence[schema.Column], rows: str
) -> Iterator[tuple[schema.Column, npt.NDArray[Any] | list[str]]]:
    named = ", ".join(_selected(column) for column in columns)
    with connection.cursor(binary=True) as cursor:
        found = cursor.execute(f"SELECT {named} {rows}").fetchall()
    for column, values in zip(columns, zip(*found, strict=True) if found else [()] * len(columns), strict=True):
        if column.dtype == "str":
            yield column, [plain_text(text) for text in values]
        else:
            yield column, np.array(values, dtype=_WIRE[TYPES[column.dtype]].replace(">", "="))


def _selected(column: schema.Column) -> str:
    if column.dtype.startswith("f"):
        return f"coalesce(\"{column.name}\", 'NaN')"
    if column.since > 1:
        return f'coalesce("{column.name}", CAST({column.missing!r} AS {TYPES[column.dtype]}))'
    return f'"{column.name}"'


def _series(column: schema.Column, values: npt.NDArray[Any] | list[str], where: str) -> pl.Series:
    if isinstance(values, list):
        return pl.Series(column.name, values, dtype=pl.String)
    if column.dtype == "u8":
        return pl.Series(column.name, values.view(np.uint64))
    narrow = values.astype(column.dtype)
    if column.dtype[0] != "f" and narrow.dtype != values.dtype and (narrow != values).any():
        raise RecordError(f"{where}.{column.name}", got="a value that its column cannot have", do=DAMAGED)
    return pl.Series(column.name, narrow, dtype=dtype_of(column))


def _blocks(recorded: Sequence[schema.Column], part: dict[str, npt.NDArray[Any]], before: int) -> Iterator[bytes]:
    """The bytes of some rows, one block for each set of fields that are NULL."""
    n = len(part[recorded[0].name])
    shape = np.zeros(n, dtype=np.int64)  # bit k: field k is NULL
    for at, column in enumerate(recorded):
        if column.dtype.startswith("f"):
            shape |= np.isnan(part[column.name]).astype(np.int64) << at
        elif column.since > 1:
            shape |= (part[column.name] == column.missing).astype(np.int64) << at
    rowid = np.arange(before + 1, before + n + 1)
    shapes = np.unique(shape)
    for nulls in shapes.tolist():
        rows = slice(None) if len(shapes) == 1 else np.flatnonzero(shape == nulls)
        yield _rows(recorded, part, rowid, rows, nulls).tobytes()


def _rows(
    recorded: Sequence[schema.Column],
    part: dict[str, npt.NDArray[Any]],
    rowid: npt.NDArray[np.int64],
    rows: slice | npt.NDArray[np.intp],
    nulls: int,
) -> npt.NDArray[np.void]:
    out = np.empty(len(rowid[rows]), dtype=_row_dtype([*recorded, _ROWID], nulls))
    out["n"] = len(recorded) + 1
    for at, column in enumerate([*recorded, _ROWID]):
        if nulls >> at & 1:
            out[f"l{at}"] = -1
            continue
        values = rowid if column is _ROWID else part[column.name]
        out[f"l{at}"] = out.dtype[f"c{at}"].itemsize
        out[f"c{at}"] = (values.view(np.int64) if values.dtype == np.uint64 else values)[rows]
    return out


_ROWID = schema.Column("rowid", "i8", "the place of the row in its table, from 1")


def _row_dtype(columns: Sequence[schema.Column], nulls: int) -> np.dtype[np.void]:
    fields: list[tuple[str, str]] = [("n", ">i2")]
    for at, column in enumerate(columns):
        fields.append((f"l{at}", ">i4"))
        if not nulls >> at & 1:
            fields.append((f"c{at}", _WIRE[TYPES[column.dtype]]))
    return np.dtype(fields)
