"""Tables in memory whose columns grow."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from townsquare.core import schema
from townsquare.core.array_types import Array, read_only


class GrowingTable:
    """The rows of one table as NumPy columns that double when they are full.

    A column is an attribute-like item, ``table["likes"]``: a read-only view of shape (n,). Only
    :class:`townsquare.simulation.world.World` calls :meth:`append` and :meth:`write`.

    >>> notes = GrowingTable("note_ratings")
    >>> notes.append(schema.rows("note_ratings", 2, note=0, agent=[3, 4], step=1, helpful=True))
    >>> notes.n, notes["agent"].tolist()
    (2, [3, 4])
    """

    def __init__(self, name: str, defaults: Mapping[str, float] | None = None) -> None:
        self.schema = schema.TABLES[name]
        self.n = 0
        self._defaults = dict(defaults or {})
        self._columns: dict[str, Array] = {column.name: np.empty(64, column.dtype) for column in self.schema.columns}

    def __getitem__(self, name: str) -> Array:
        return read_only(self._columns[name][: self.n])

    def __len__(self) -> int:
        return self.n

    def append(self, rows: schema.Columns) -> None:
        """Add recorded rows; current columns start at their default, which is 0 where none was given."""
        m = len(next(iter(rows.values())))
        self._reserve(self.n + m)
        for column in self.schema.columns:
            value = self._defaults.get(column.name, 0) if column.current else rows[column.name]
            self._columns[column.name][self.n : self.n + m] = value
        self.n += m

    def write(self, name: str) -> Array:
        """Return the column itself, writable."""
        return self._columns[name][: self.n]

    def _reserve(self, n: int) -> None:
        have = next(iter(self._columns.values())).shape[0]
        if n <= have:
            return
        size = max(n, have * 2)
        for name, old in self._columns.items():
            new = np.empty(size, dtype=old.dtype)
            new[: self.n] = old[: self.n]
            self._columns[name] = new
