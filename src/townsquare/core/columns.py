"""What a table and a column of a run are; :mod:`townsquare.core.schema` declares them all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum


@dataclass(frozen=True, slots=True)
class Column:
    """One column: ``dtype`` is a NumPy dtype string, or ``"str"`` for text (UTF-8).

    ``hashed``: part of the content hash. ``repeats``: says the same with each showing of one root in a step, so that
    the content hash covers its distinct values only. ``current``: only the world holds it.

    ``since`` is the version of the record that brought the column. One that came after version 1 is null in older runs,
    and enters the content hash only in steps in which it holds a value. ``missing`` is the value that stands for null
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


@dataclass(frozen=True, slots=True)
class Table:
    """One table. ``kept``: the world holds its rows in memory. ``bulky``: goes to Parquet in large runs."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    kept: bool = False
    bulky: bool = False

    @property
    def recorded(self) -> tuple[Column, ...]:
        """The columns that a recorder writes."""
        return tuple(column for column in self.columns if not column.current)

    def recorded_in(self, version: int) -> tuple[Column, ...]:
        """The recorded columns that a version of the record has."""
        return tuple(column for column in self.recorded if column.since <= version)

    @property
    def current(self) -> tuple[Column, ...]:
        """The columns that only the world holds."""
        return tuple(column for column in self.columns if column.current)


def table(name: str, meaning: str, *columns: Column, kept: bool = False, bulky: bool = False) -> Table:
    """Return a table of these columns."""
    return Table(name, meaning, columns, kept, bulky)


STEP = Column("step", "i4", "the step in which it happened; 0 is the initial state", "step")
AGENT = Column("agent", "i4", "row of agents")
POST = Column("post", "i4", "row of posts")
