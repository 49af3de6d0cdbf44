"""Frames as the cells of a CSV file."""

from __future__ import annotations

import re

import polars as pl

_STARTS_FORMULA = r"^[=+\-@\t\r]"


def safe_texts(value: pl.Expr) -> pl.Expr:
    """Texts with an apostrophe before each that a spreadsheet would run as a formula.

    These start with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return.
    """
    return pl.when(value.str.contains(_STARTS_FORMULA)).then("'" + value).otherwise(value)


def as_cells(frame: pl.DataFrame, *, safe: bool) -> pl.DataFrame:
    """Return a frame that a CSV file can hold: lists as text, undefined numbers as empty cells.

    With ``safe``, texts and names of columns are as :func:`safe_texts` gives them. Numbers stay as they are.

    >>> as_cells(pl.DataFrame({"text": ["=1+1", "so"], "change": [-1.0, float("nan")]}), safe=True).rows()
    [("'=1+1", -1.0), ('so', None)]
    """
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    flat = frame.with_columns(pl.col(nested).cast(pl.String), pl.selectors.float().fill_nan(None))
    if not safe:
        return flat
    texts = [name for name, dtype in flat.schema.items() if isinstance(dtype, pl.String | pl.Categorical | pl.Enum)]
    named = {name: f"'{name}" for name in flat.columns if re.match(_STARTS_FORMULA, name)}
    return flat.with_columns(safe_texts(pl.col(name).cast(pl.String)).alias(name) for name in texts).rename(named)
