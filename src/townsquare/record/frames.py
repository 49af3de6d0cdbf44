"""Columns of ``schema`` as Polars frames and back, and as words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from townsquare.core import schema
from townsquare.core.registry import check_known


def known_table(name: str) -> schema.Table:
    """Return the table of a name; raises ``UnknownName`` with the nearest name."""
    check_known("table", name, schema.TABLES)
    return schema.TABLES[name]


def chosen_columns(table: schema.Table, columns: Sequence[str] | None) -> list[schema.Column]:
    """Return recorded columns by name, in the order given; ``None`` means all. Raises ``UnknownName``."""
    recorded = {column.name: column for column in table.recorded}
    for name in columns or ():
        check_known(f"column of {table.name}", name, recorded)
    return [recorded[name] for name in (recorded if columns is None else columns)]


@cache
def dtype_of(column: schema.Column) -> pl.DataType:
    """Return the Polars dtype of a column."""
    return pl.String() if column.dtype == "str" else pl.Series(np.empty(0, column.dtype)).dtype


def frame_schema(columns: Sequence[schema.Column]) -> dict[str, pl.DataType]:
    """Return the Polars dtypes of columns by name."""
    return {column.name: dtype_of(column) for column in columns}


def missing_values(columns: Sequence[schema.Column], there: Collection[str]) -> list[pl.Expr]:
    """Return the missing value for each column that was added later and that an older run lacks."""
    lacking = [column for column in columns if column.since > 1 and column.name not in there]
    return [pl.lit(column.missing, dtype=dtype_of(column)).alias(column.name) for column in lacking]


def stored_columns(table: schema.Table, columns: Sequence[schema.Column], version: int) -> list[schema.Column]:
    """Return the columns that a version of the record has; if none, the first of the table, to count rows."""
    return [column for column in columns if column.since <= version] or [table.recorded[0]]


def as_nulls(columns: Sequence[schema.Column]) -> list[pl.Expr]:
    """Return columns by name, with null for the missing value of added columns; for real numbers that is NaN."""
    return [
        pl.when(pl.col(column.name) != column.missing).then(pl.col(column.name)).alias(column.name)
        if column.since > 1 and not column.dtype.startswith("f")
        else pl.col(column.name)
        for column in columns
    ]


def to_frame(columns: Sequence[schema.Column], values: schema.Columns) -> pl.DataFrame:
    """Make a frame with the dtypes of the schema, of arrays that have them already, which are not copied, and texts."""
    texts = {column.name: pl.String for column in columns if column.dtype == "str"}
    return pl.DataFrame([pl.Series(c.name, values[c.name], dtype=texts.get(c.name)) for c in columns])


def from_frame(table: str, frame: pl.DataFrame) -> schema.Columns:
    """Return a frame of all recorded columns in the form of :func:`townsquare.core.schema.rows`."""
    out: dict[str, Any] = {}
    for column in schema.TABLES[table].recorded:
        series, dtype = frame[column.name], column.dtype
        out[column.name] = series.to_list() if dtype == "str" else series.to_numpy().astype(dtype, copy=False)
    return out


def in_words(table: schema.Table, frame: pl.DataFrame) -> pl.DataFrame:
    """Replace codes by ``pl.Enum`` of lower-case names.

    A code without a word, as those of further text scorers are, reads as its number.
    """
    for column in table.recorded:
        if column.words is None or column.name not in frame.columns:
            continue
        names = {int(word): word.name.lower() for word in column.words}
        for code in frame[column.name].drop_nulls().unique().sort().to_list():
            names.setdefault(code, str(code))
        codes = pl.col(column.name).cast(pl.Int64)
        words = codes.replace_strict(names, return_dtype=pl.Enum(list(names.values())))
        frame = frame.with_columns(words.alias(column.name))
    return frame


def as_sql_values(columns: Sequence[schema.Column]) -> list[pl.Expr]:
    """Return columns as SQLite holds them, so that one query means the same over both layouts.

    Whole numbers are 64 bits wide and signed (a uint64 by its two's complement), booleans 0 and 1, NaN is NULL, and so
    is what is missing from a column that was added later.
    """
    shown = []
    for column, value in zip(columns, as_nulls(columns), strict=True):
        if column.dtype == "u8":
            value = value.reinterpret(signed=True)
        elif column.dtype.startswith("f"):
            value = value.cast(pl.Float64).fill_nan(None)
        elif column.dtype != "str":
            value = value.cast(pl.Int64)
        shown.append(value)
    return shown


def sql_values(column: schema.Column, values: npt.ArrayLike) -> list[Any]:
    """Return the values of a column as SQLite holds them: those of :func:`as_sql_values`, of an array or a list."""
    if column.dtype == "str":
        return [None if column.since > 1 and text == column.missing else text for text in values]  # type: ignore[union-attr]
    array, real = np.asarray(values), column.dtype.startswith("f")
    out: list[Any] = (array.view(np.int64) if column.dtype == "u8" else array.astype("f8" if real else "i8")).tolist()
    missing = np.isnan(array) if real else array == column.missing if column.since > 1 else np.zeros(0)
    for at in np.flatnonzero(missing).tolist():
        out[at] = None
    return out
