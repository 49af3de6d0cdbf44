"""Packed rows: the largest tables of a run in its database, a row of ``ts_packed`` for each step and table.

The rows that a step added to a table are one Arrow stream (IPC), compressed with Zstandard. Coded rows
(:class:`townsquare.core.coded_rows.CodedRows`) are two: the second, ``beside``, has the columns that are functions of
the code, which is the column ``beside`` of the first: a row of the second.

A table of :data:`DENSE` holds a row for everybody in each step, of which few change where few people are online. Every
:data:`WHOLE_EVERY` steps it is whole, and in between has only the rows that differ from the step before, with their
positions in the column ``at``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from io import BytesIO

import numpy as np
import polars as pl

from townsquare.core import schema
from townsquare.core.array_types import Array, Int64
from townsquare.core.coded_rows import CodedRows, PartedRows
from townsquare.record.frames import frame_schema, missing_values, to_frame

CODE, AT = "beside", "at"
DENSE = frozenset({"beliefs"})
WHOLE_EVERY = 24
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


def write(
    connection: sqlite3.Connection, step: int, table: str, columns: schema.Columns, before: schema.Columns | None = None
) -> schema.Columns | None:
    """Pack the rows that a step added to a table; the caller holds a transaction.

    ``before`` are the rows of the step before, if they are known and the table is dense; then the rows are returned for
    the next step.
    """
    stored, whole, at = stored_rows(table, columns), None, None
    if table in DENSE:
        [(own, blocks)] = stored
        rows = whole = {column.name: np.concatenate([block[column.name] for block in blocks]) for column in own}
        if before is not None and step % WHOLE_EVERY and len(whole["step"]) == len(before["step"]):
            at = _changed(whole, before)
            rows = {name: values[at] for name, values in whole.items()}
        stored = [(own, [rows])]
    frames = [pl.concat([to_frame(own, block) for block in blocks]) for own, blocks in stored]
    if at is not None:
        frames[0] = frames[0].with_columns(pl.Series(AT, at, pl.UInt32))
    connection.execute("INSERT INTO ts_packed VALUES (?, ?, ?, ?)", (step, table, *map(_packed, frames), None)[:4])
    return whole


def _changed(whole: schema.Columns, before: schema.Columns) -> Int64:
    """Return the positions of the rows that differ from those before in anything but the step."""
    pairs = [(whole[name], before[name]) for name in whole if name != "step"]
    differs = [(now != was) & ((now == now) | (was == was)) for now, was in pairs]  # a missing number is not itself
    return np.flatnonzero(np.logical_or.reduce(differs))


def _packed(frame: pl.DataFrame) -> memoryview:
    out = BytesIO()
    frame.write_ipc_stream(out, compression="zstd")
    return out.getbuffer()


def read(
    connection: sqlite3.Connection, table: str, columns: Sequence[schema.Column], steps: Collection[int]
) -> pl.DataFrame:
    """Return the rows that these steps added to a table, in order."""
    query = "SELECT step, data, beside FROM ts_packed WHERE name = ? AND step BETWEEN ? AND ? ORDER BY step"
    first = min(steps, default=0)
    if table in DENSE:
        first -= first % WHOLE_EVERY
    stored = connection.execute(query, (table, first, max(steps, default=-1))).fetchall()
    wanted, frames = set(steps), []
    whole: dict[str, Array] = {}
    for step, data, per_root in stored:
        frame = _rows(data)
        if table in DENSE:
            whole = _whole(frame, whole, step)
        if step in wanted:
            frames.append(_unpacked(columns, pl.DataFrame(whole) if table in DENSE else frame, per_root))
    return pl.concat(frames, rechunk=True) if frames else pl.DataFrame(schema=frame_schema(columns))


def _whole(frame: pl.DataFrame, before: Mapping[str, Array], step: int) -> dict[str, Array]:
    """Return all rows of a step of a dense table, of those that changed and of the rows before."""
    rows = {name: frame[name].to_numpy() for name in frame.columns}
    at = rows.pop(AT, None)
    if at is None:
        return rows
    n = len(before.get("step", ()))
    same = all(name in before and before[name].dtype == new.dtype for name, new in rows.items())
    if not same or any(frame.null_count().row(0)) or (at >= n).any():
        raise pl.exceptions.ComputeError("changed rows without the rows that they change")
    for name, new in rows.items():
        rows[name] = before[name].copy()
        rows[name][at] = new
    rows["step"] = np.full(n, step, before["step"].dtype)
    return rows


def _unpacked(columns: Sequence[schema.Column], frame: pl.DataFrame, per_root: object) -> pl.DataFrame:
    names = [column.name for column in columns]
    lacking = set(names).difference(frame.columns)
    if lacking and per_root is not None:
        second = _rows(per_root)
        if frame[CODE].dtype != pl.Int32:
            raise pl.exceptions.SchemaError(f"column {CODE} of {frame[CODE].dtype}")
        looked_up = [name for name in second.columns if name in lacking]
        frame = frame.hstack(second[looked_up][frame[CODE]]) if looked_up else frame
        lacking = lacking.difference(looked_up)
    return frame.with_columns(missing_values(columns, frame.columns))[names] if lacking else frame[names]


def _rows(data: object) -> pl.DataFrame:
    """Return the rows of a stream; of a text, which SQLite stores as well, Polars would open the file or address."""
    if not isinstance(data, bytes):
        raise pl.exceptions.ComputeError("packed rows that are not bytes")
    return pl.read_ipc_stream(BytesIO(data))
