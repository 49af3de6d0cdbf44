"""The code book of a record, for data archives: type, unit, codes, missing value and meaning of every column."""

from __future__ import annotations

import re

import polars as pl

from townsquare.core import schema

FILE = "code-book.csv"
TYPES = {"?": "true or false", "str": "text", "i": "whole number", "u": "whole number", "f": "real number"}
_MISSING = re.compile(r"(?:-1|NaN|null)(?: for| if| where| without|:| no) [^;]+")


def code_book(tables: tuple[str, ...] = tuple(schema.TABLES)) -> pl.DataFrame:
    """Describe the recorded columns of tables.

    Returns
    -------
    DataFrame
        A row for each column: ``table``, ``column``, ``type``, ``bits``, ``unit``, ``codes`` (number = word, in the
        order of the numbers), ``missing`` (the value that represents none, and when it does), ``since`` (version of the
        record), ``meaning`` and ``table_meaning``.

    Examples
    --------
    >>> code_book(("follows",)).select("column", "type", "unit").rows()[0]
    ('step', 'whole number', 'step')
    """
    rows = [_row(schema.TABLES[name], column) for name in tables for column in schema.TABLES[name].recorded]
    return pl.DataFrame(rows).with_columns(pl.col(pl.String).replace("", None))


def _row(table: schema.Table, column: schema.Column) -> dict[str, str | int | None]:
    number = column.dtype not in ("?", "str")
    codes = "; ".join(f"{int(word)} = {word.name.lower()}" for word in column.words or ())
    kind, bits = TYPES[column.dtype[0] if number else column.dtype], int(column.dtype[1:]) * 8 if number else None
    return {
        "table": table.name, "column": column.name, "type": kind, "bits": bits, "unit": column.unit, "codes": codes,
        "missing": missing(column), "since": column.since, "meaning": column.meaning, "table_meaning": table.meaning,
    }  # fmt: skip


def missing(column: schema.Column) -> str:
    """Say which value of a column represents none, and when; "" if every row has a value.

    >>> missing(schema.Column("parent", "i4", "row of posts: what a comment answers; -1 for none"))
    '-1 for none'
    """
    later = [f"empty in records before version {column.since}"] if column.since > 1 else []
    return "; ".join([*_MISSING.findall(column.meaning), *later])
