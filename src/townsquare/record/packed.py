"""Packed rows: the largest tables of a run in its database; a row of ``ts_packed`` is of some steps and one table.

The rows that steps added to a table are one Arrow stream (IPC), compressed with Zstandard, under the first of the
steps. Coded rows (:class:`townsquare.core.coded_rows.CodedRows`) are two: the second, ``beside``, has the columns that
are functions of the code, which is the column ``beside`` of the first: a row of the second.

A table of :data:`DENSE` holds a row for everybody in each step, of which few change where few people are online. Every
:data:`WHOLE_EVERY` steps it is whole, and in between has only the rows that differ from the step before; the column
``skipped`` counts those that stand between a row and the one before it, and is -1 in the first row of a whole step.
Runs of earlier versions have a row for each step, with positions in the column ``at`` in place of ``skipped``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import pairwise

import numpy as np
import polars as pl

from townsquare.core import schema
from townsquare.core.array_types import Array, Int64
from townsquare.core.coded_rows import CodedRows, PartedRows
from townsquare.record.frames import frame_schema, missing_values, to_frame

CODE, AT, SKIPPED = "beside", "at", "skipped"
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
    """Pack the rows that steps from ``step`` on added to a table; the caller holds a transaction.

    ``before`` are the rows of the step before, if they are known and the table is dense; then the rows of the last step
    are returned.
    """
    stored, skipped = stored_rows(table, columns), None
    if table in DENSE:
        [(own, blocks)] = stored
        rows = {column.name: np.concatenate([block[column.name] for block in blocks]) for column in own}
        changed, skipped, before = _changes(rows, before)
        stored = [(own, [{name: values[changed] for name, values in rows.items()}])]
    frames = [pl.concat([to_frame(own, block) for block in blocks]) for own, blocks in stored]
    if skipped is not None:
        frames[0] = frames[0].with_columns(pl.Series(SKIPPED, skipped, pl.Int32))
    connection.execute("INSERT INTO ts_packed VALUES (?, ?, ?, ?)", (step, table, *map(_packed, frames), None)[:4])
    return before


def _changes(rows: schema.Columns, before: schema.Columns | None) -> tuple[Int64, Int64, schema.Columns | None]:
    """Return which rows of some steps to store, how many each skips, and the rows of the last step."""
    changed, skipped = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for first, stop in _steps(np.asarray(rows["step"])):
        now = {name: values[first:stop] for name, values in rows.items()}
        at = np.arange(stop - first)
        if before is not None and _one_block(now, before) and len(at) == len(before["step"]):
            at = _changed(now, before)
            skipped.append(np.diff(at, prepend=-1) - 1)
        else:
            skipped.append(np.where(at == 0, -1, 0))
        changed.append(first + at)
        before = now
    return np.concatenate(changed), np.concatenate(skipped), before


def _one_block(now: schema.Columns, before: schema.Columns) -> bool:
    here, there = (int(np.asarray(rows["step"])[0]) for rows in (now, before))
    return here // WHOLE_EVERY == there // WHOLE_EVERY  # readers begin with a block


def _steps(step: Array) -> Iterator[tuple[int, int]]:
    """Yield where the rows of each step begin and end."""
    return pairwise([*np.flatnonzero(np.diff(step, prepend=-1)).tolist(), len(step)])


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
    query = (
        "SELECT step, data, beside FROM ts_packed WHERE name = ?1 AND step BETWEEN"
        " (SELECT coalesce(max(step), 0) FROM ts_packed WHERE name = ?1 AND step <= ?2) AND ?3 ORDER BY step"
    )
    wanted, first, last = set(steps), min(steps, default=0), max(steps, default=-1)
    first -= first % WHOLE_EVERY if table in DENSE else 0
    stored = connection.execute(query, (table, first, last)).fetchall()  # a cursor would hold the file
    if table in DENSE:
        frames = [_unpacked(columns, frame, None) for frame in _dense(stored, first, wanted)]
    else:
        frames = [_unpacked(columns, _of_steps(_rows(data), wanted, begin), second) for begin, data, second in stored]
    return pl.concat(frames, rechunk=True) if frames else pl.DataFrame(schema=frame_schema(columns))


def _of_steps(frame: pl.DataFrame, wanted: set[int], begin: int) -> pl.DataFrame:
    """Return the rows of wanted steps, of those from ``begin`` on."""
    step = frame["step"]
    if not step.len() or (step[0] >= begin and wanted.issuperset(range(step[0], step[-1] + 1))):
        return frame
    return frame.filter(step.is_in([each for each in wanted if each >= begin]))


def _dense(stored: Iterable[tuple[int, object, object]], first: int, wanted: Collection[int]) -> Iterator[pl.DataFrame]:
    """Yield all rows of each wanted step of a dense table; rows of step ``first`` are all stored."""
    changes: dict[int, tuple[dict[str, Array], Array | None]] = {}
    for begin, data, _ in stored:
        changes.update((step, (rows, at)) for step, rows, at in _by_step(begin, _rows(data)))
    whole: dict[str, Array] = {}
    for step in range(first, max(wanted, default=-1) + 1):
        rows, at = changes.get(step, ({}, None))
        whole = _whole(rows, at, whole) if rows else whole
        if step in wanted:
            yield pl.DataFrame({**whole, "step": np.full(len(whole.get("step", ())), step, np.int32)})


def _by_step(first: int, frame: pl.DataFrame) -> Iterator[tuple[int, dict[str, Array], Array | None]]:
    """Yield steps, the rows that are stored of each, and their positions, None where they are all."""
    if any(frame.null_count().row(0)):
        raise pl.exceptions.ComputeError("rows with missing values")
    rows = {name: frame[name].to_numpy() for name in frame.columns}
    if SKIPPED not in rows:
        yield first, rows, rows.pop(AT, None)
        return
    skipped = rows.pop(SKIPPED)
    for lo, hi in _steps(rows["step"]):
        at = np.cumsum(skipped[lo:hi].astype(np.int64) + 1) - 1 if skipped[lo] >= 0 else None
        yield int(rows["step"][lo]), {name: values[lo:hi] for name, values in rows.items()}, at


def _whole(rows: Mapping[str, Array], at: Array | None, before: Mapping[str, Array]) -> dict[str, Array]:
    """Return all rows of a step of a dense table."""
    if at is None:
        return dict(rows)
    n = len(before.get("step", ()))
    same = all(name in before and before[name].dtype == new.dtype for name, new in rows.items())
    if not same or (at >= n).any() or (at < 0).any():
        raise pl.exceptions.ComputeError("changed rows without the rows that they change")
    whole = {name: values.copy() for name, values in before.items()}
    for name, new in rows.items():
        whole[name][at] = new
    return whole


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
