"""Where two records of a step part, for the error that says so."""

from __future__ import annotations

import numpy as np

from townsquare import schema
from townsquare.record.content_hash import ColumnsOf, hashed_tables


def first_difference(recorded: ColumnsOf, now: ColumnsOf) -> str:
    """The first table, row and column in which two versions of a step differ by a hashed value, in words.

    Rows are looked at in order, and columns within a row; equal versions give an empty string.
    """
    for name in hashed_tables():
        old, new = recorded(name), now(name)
        rows: list[tuple[int, str]] = []
        for column in schema.TABLES[name].recorded:
            at = _first_row(old[column.name], new[column.name], column) if column.hashed else -1
            if at >= 0:
                rows.append((at, column.name))
        if rows:
            row, key = min(rows, key=lambda pair: pair[0])
            was, is_now = (_value(columns, key, row) for columns in (old, new))
            return f"first difference: {name}, row {row} of the step, {key}: recorded {was}, now {is_now}"
        lengths = [len(next(iter(columns.values()))) for columns in (old, new)]
        if lengths[0] != lengths[1]:
            return f"first difference: {name} has {lengths[1]} rows in the step, recorded {lengths[0]}"
    return ""


def _first_row(old: object, new: object, column: schema.Column) -> int:
    dtype = object if column.dtype == "str" else column.dtype
    a, b = np.asarray(old, dtype=dtype), np.asarray(new, dtype=dtype)
    n = min(a.shape[0], b.shape[0])
    differs = a[:n] != b[:n]
    if a.dtype.kind == "f":
        differs &= ~(np.isnan(a[:n]) & np.isnan(b[:n]))
    at = np.flatnonzero(differs)
    return int(at[0]) if at.size else -1


def _value(columns: schema.Columns, name: str, row: int) -> str:
    value = columns[name][row]
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."
