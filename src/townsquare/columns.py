"""What a table and a column of a run are; :mod:`townsquare.schema` declares them all."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


@dataclass(frozen=True, slots=True)
class Column:
    """One column: ``dtype`` is a NumPy dtype string, or ``"str"`` for text (UTF-8).

    ``hashed``: part of the content hash. ``repeats``: says the same with each showing of one root in a step, so that
    the content hash covers its distinct values only. ``current``: only the world holds it.
    """

    name: str
    dtype: str
    meaning: str
    unit: str = ""
    words: type[IntEnum] | None = None
    hashed: bool = True
    repeats: bool = False
    current: bool = False


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

    @property
    def current(self) -> tuple[Column, ...]:
        """The columns that only the world holds."""
        return tuple(column for column in self.columns if column.current)


STEP = Column("step", "i4", "the step in which it happened; 0 is the initial state", "step")
AGENT = Column("agent", "i4", "row of agents")
POST = Column("post", "i4", "row of posts")
