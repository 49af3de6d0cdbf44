"""Rows to a server and back by ``COPY``, as text that Polars writes and reads: without a Python object a value.

PostgreSQL's texts hold every character but U+0000. That one is written as U+FDD0 and ``0``, and U+FDD0, which no text
should hold, twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import polars as pl

from townsquare.core import schema
from townsquare.core.errors import RecordError
from townsquare.record.database import DAMAGED
from townsquare.record.frames import as_sql_values, dtype_of, frame_schema, to_frame

if TYPE_CHECKING:
    from townsquare.record.postgresql.server import Connection

_ESCAPED = {"\ufdd0": "\ufdd0\ufdd0", "\0": "\ufdd00"}
_IN_COPY = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
"""What the text format of ``COPY`` writes otherwise."""
_WRITE_ROWS = 1 << 16


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
    texts = pl.selectors.string().str.replace_many(_ESCAPED | _IN_COPY)
    with connection.cursor().copy(f'COPY "ts_{table}" ({_names(recorded)}, rowid) FROM STDIN') as copy:
        for first in range(0, len(columns[recorded[0].name]), _WRITE_ROWS):
            part = {column.name: columns[column.name][first : first + _WRITE_ROWS] for column in recorded}
            rows = to_frame(recorded, part).select(as_sql_values(recorded)).with_columns(texts)
            block = BytesIO()
            numbered = rows.with_columns(pl.int_range(before + first + 1, before + first + 1 + pl.len()).alias("rowid"))
            numbered.write_csv(block, include_header=False, separator="\t", quote_style="never", null_value="\\N")
            copy.write(block.getbuffer())


def copy_out(
    connection: Connection, table: str, columns: Sequence[schema.Column], condition: str, where: str
) -> pl.DataFrame:
    """The rows of ``ts_<table>`` that meet a condition, in order of addition, with the dtypes of the schema.

    Raises
    ------
    RecordError
        A value is outside the range of its column.
    """
    query = f'SELECT {_names(columns)} FROM "ts_{table}" WHERE {condition} ORDER BY rowid'
    with connection.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT CSV)") as copy:
        data = b"".join(copy)
    if not data:
        return pl.DataFrame(schema=frame_schema(columns))
    sent = {
        name: dtype if dtype.is_float() or dtype == pl.String else pl.Int64()
        for name, dtype in frame_schema(columns).items()
    }
    rows = pl.read_csv(data, has_header=False, schema=sent)
    return pl.DataFrame([_typed(column, rows[column.name], where) for column in columns])


def _names(columns: Sequence[schema.Column]) -> str:
    return ", ".join(f'"{column.name}"' for column in columns)


def _typed(column: schema.Column, values: pl.Series, where: str) -> pl.Series:
    missing = math.nan if column.dtype[0] == "f" else column.missing
    values = values if missing is None else values.fill_null(missing)
    if column.dtype == "str":
        return values.str.replace_many({stored: text for text, stored in _ESCAPED.items()})
    if column.dtype == "u8":
        return values.reinterpret(signed=False)
    narrow = values.cast(dtype_of(column), strict=False)
    if column.dtype[0] != "f" and not (narrow.cast(pl.Int64) == values).all():
        raise RecordError(f"{where}.{column.name}", got="a value that its column cannot have", do=DAMAGED)
    return narrow
