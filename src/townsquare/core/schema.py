"""Every table and column of a run, as ``schema.csv`` declares them; their enumerations: :mod:`townsquare.core.enums`.

Everything else follows from that file: the world's columns, the rows that stages return, the SQLite tables
(``ts_<name>``), the Parquet parts, the content hash, the docs. A column has a dtype, a range and unit, a meaning, and
marks: ``unhashed``, ``repeats``, ``current``, ``since=3``, ``missing=-1``, ``refines=helpful`` (see :class:`Column`).
A table may have the marks ``bulky`` and ``packed`` (see :class:`Table`).

Sources: MOSAIC appendix D for what a relational record of such a platform holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.core import enums
from townsquare.core.actions import ActionKind
from townsquare.core.files import package_table

Columns = Mapping[str, npt.NDArray[np.generic] | list[str]]
ByTable = dict[str, Columns]
"""Rows by the name of their table."""
NONE = -1  # in a column that points at a row: it points at none
EPOCH = "2025-01-01"  # what counts as the day of step 0 where a date is wanted; a step is a day


@dataclass(frozen=True, slots=True)
class Column:
    """One column: ``dtype`` is a NumPy dtype string, or ``"str"`` for text (UTF-8).

    ``hashed``: part of the content hash. ``repeats``: has one value for all exposures to a root in a step, so that the
    content hash covers its distinct values only. ``current``: a value that the world keeps up to date from the recorded
    rows (a count, a status); it is never recorded and can be rebuilt from those rows.

    ``since`` is the version of the record that brought the column. One that came after version 1 is null in older runs,
    and enters the content hash only in steps in which it holds a value. ``missing`` is the value that represents null
    in rows, outside what the column can mean: declared for whole numbers and texts, NaN for real numbers. A truth value
    has none to spare: declare it as ``i1``, with 1, 0 and -1. Keys of 64 bits (``u8``) have none either.

    ``refines`` names an older column of numbers of the table that this one says more exactly: it enters the content
    hash only in steps in which a value differs from that column's.
    """

    name: str
    dtype: str
    meaning: str
    unit: str = ""
    words: type[IntEnum] | None = None
    hashed: bool = True
    repeats: bool = False
    current: bool = False
    since: int = 1
    missing: int | float | str | None = None
    refines: str = ""

    def __post_init__(self) -> None:
        if self.since > 1 and self.dtype.startswith("f"):
            object.__setattr__(self, "missing", math.nan)
        if (self.since > 1) == (self.missing is None) or (self.since > 1 and self.dtype in ("?", "u8")):
            raise ValueError(f"column {self.name}: columns that came after version 1 have a missing value, others none")


@dataclass(frozen=True)
class Table:
    """One table; ``bulky`` ones are written to Parquet in large runs, and ``packed`` ones are packed in others."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    bulky: bool = False
    packed: bool = False

    @cached_property
    def recorded(self) -> tuple[Column, ...]:
        """The columns that a recorder writes."""
        return tuple(column for column in self.columns if not column.current)

    def recorded_in(self, version: int) -> tuple[Column, ...]:
        """Return the recorded columns that a version of the record has."""
        return tuple(column for column in self.recorded if column.since <= version)

    @property
    def current(self) -> tuple[Column, ...]:
        """The columns that only the world holds."""
        return tuple(column for column in self.columns if column.current)


def _read_tables() -> dict[str, Table]:
    """Return the tables of ``schema.csv`` by name: a line for each table, followed by a line for each column."""
    tables: dict[str, Table] = {}
    words: dict[str, Any] = {**vars(enums), "ActionKind": ActionKind, "": None}
    for line in package_table("core/schema.csv"):
        name, meaning = line["table"], line["meaning"]
        marks = {mark: value for mark, _, value in (word.partition("=") for word in line["marks"].split())}
        if not line["column"]:
            tables[name] = Table(name, meaning, (), "bulky" in marks, "packed" in marks)
            continue
        missing = marks.get("missing")
        column = Column(
            line["column"], line["dtype"], meaning, line["unit"], words[line["words"]],
            hashed="unhashed" not in marks, repeats="repeats" in marks, current="current" in marks,
            since=int(marks.get("since", 1)), refines=marks.get("refines", ""),
            missing=missing if missing is None or line["dtype"] == "str" else int(missing),
        )  # fmt: skip
        tables[name] = replace(tables[name], columns=(*tables[name].columns, column))
    return tables


TABLES = _read_tables()
RECORD_VERSION = max(column.since for table in TABLES.values() for column in table.columns)
"""The version of the record that is written: that of the newest column. Version 2 brought ``run_hash``.

A column that a release adds says so by ``since``, one more than the version of the release before. Runs of every
version from 1 on are read: what they lack is null.
"""


def empty(name: str) -> dict[str, npt.NDArray[np.generic] | list[str]]:
    """Return no rows of a table, with the right dtypes.

    >>> empty("note_ratings")["helpful"].dtype
    dtype('bool')
    """
    dtypes = {column.name: column.dtype for column in TABLES[name].recorded}
    return {column: [] if dtype == "str" else np.empty(0, dtype) for column, dtype in dtypes.items()}


def rows(table: str, n: int, **columns: object) -> dict[str, npt.NDArray[np.generic] | list[str]]:
    """Return ``n`` rows of a table from arrays and scalars; every recorded column of version 1 must be given.

    Columns that were added later hold their missing value unless they are given.

    Raises ``KeyError`` for a missing or unknown column and ``ValueError`` for a wrong length: both are faults of the
    calling code, not of a user.

    >>> rows("note_ratings", 2, note=0, agent=[3, 4], step=1, helpful=True)["agent"]
    array([3, 4], dtype=int32)
    """
    recorded = TABLES[table].recorded
    unknown = set(columns) - {column.name for column in recorded}
    if unknown:
        raise KeyError(f"{table} has no column {sorted(unknown)}")
    out: dict[str, npt.NDArray[np.generic] | list[str]] = {}
    for column in recorded:
        value = columns[column.name] if column.since == 1 else columns.get(column.name, column.missing)
        if column.dtype == "str":
            out[column.name] = [value] * n if isinstance(value, str) else list(value)  # type: ignore[call-overload]
        else:
            array = np.asarray(value, dtype=column.dtype)
            out[column.name] = np.full(n, array) if array.ndim == 0 else np.ascontiguousarray(array)
        if len(out[column.name]) != n:
            raise ValueError(f"{table}.{column.name}: {len(out[column.name])} values for {n} rows")
    return out
