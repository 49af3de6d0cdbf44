"""Packed rows: the largest tables of a run in its database, a row of ``ts_packed`` for each step and table.

The rows that a step added to a table are one Arrow stream (IPC), compressed with Zstandard. Coded rows
(:class:`townsquare.core.coded_rows.CodedRows`) are two: the second, ``beside``, has the columns that are functions of
the code, which is the column ``beside`` of the first: a row of the second.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from io import BytesIO

import polars as pl

from townsquare.core import schema
from townsquare.core.coded_rows import CodedRows, PartedRows
from townsquare.record.frames import frame_schema, missing_values, to_frame

CODE = "beside"
CREATE = (
    "CREATE TABLE ts_packed (step INTEGER NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, beside BLOB,"
    " PRIMARY KEY (name, step))"
)
Stored = tuple[Sequence[schema.Column], Sequence[schema.Columns]]
"""Columns, and blocks of rows that have all of them."""


def stored_rows(table: str, columns: schema.Columns) -> list[Stored]:
    """Return rows as they are stored: once, or twice if they are coded."""
    recorded = schema.TABLES[table].recorded
    if not isinstance(columns, CodedRows):
        return [(recorded, columns.blocks if isinstance(columns, PartedRows) else [columns])]
    own = [column for column in recorded if column.name in columns.columns]
    per_root = [column for column in recorded if column.name not in columns.columns]
    code = schema.Column(CODE, "i4", "Row of the second.")
    return [([*own, code], [{**columns.columns, CODE: columns.index}]), (per_root, [columns.per_root])]


def write(connection: sqlite3.Connection, step: int, table: str, columns: schema.Columns) -> None:
    """Pack the rows that a step added to a table; the caller holds a transaction."""
    packed = [_packed(*rows) for rows in stored_rows(table, columns)]
    connection.execute("INSERT INTO ts_packed VALUES (?, ?, ?, ?)", (step, table, *packed, None)[:4])


def _packed(columns: Sequence[schema.Column], blocks: Sequence[schema.Columns]) -> memoryview:
    out = BytesIO()
    pl.concat([to_frame(columns, block) for block in blocks]).write_ipc_stream(out, compression="zstd")
    return out.getbuffer()


def read(
    connection: sqlite3.Connection, table: str, columns: Sequence[schema.Column], steps: Collection[int]
) -> pl.DataFrame:
    """Return the rows that these steps added to a table, in order."""
    query = "SELECT step, data, beside FROM ts_packed WHERE name = ? AND step BETWEEN ? AND ? ORDER BY step"
    stored = connection.execute(query, (table, min(steps, default=0), max(steps, default=-1))).fetchall()
    wanted = set(steps)
    frames = [_unpacked(columns, *parts) for step, *parts in stored if step in wanted]
    return pl.concat(frames, rechunk=True) if frames else pl.DataFrame(schema=frame_schema(columns))


def _unpacked(columns: Sequence[schema.Column], data: object, per_root: object) -> pl.DataFrame:
    names, frame = [column.name for column in columns], _rows(data)
    lacking = set(names).difference(frame.columns)
    if lacking and per_root is not None:
        second = _rows(per_root)
        if frame[CODE].dtype != pl.Int32:
            raise pl.exceptions.SchemaError(f"column {CODE} of {frame[CODE].dtype}")
        looked_up = [name for name in second.columns if name in lacking]
        frame = frame.hstack(second[looked_up][frame[CODE]]) if looked_up else frame
    return frame.with_columns(missing_values(columns, frame.columns))[names] if lacking else frame[names]


def _rows(data: object) -> pl.DataFrame:
    """Return the rows of a stream; of a text, which SQLite stores as well, Polars would open the file or address."""
    if not isinstance(data, bytes):
        raise pl.exceptions.ComputeError("packed rows that are not bytes")
    return pl.read_ipc_stream(BytesIO(data))
