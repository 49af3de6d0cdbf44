"""Columns whose values repeat together, as their distinct combinations and which of them each row has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numba as nb
import numpy as np

from townsquare.core import schema
from townsquare.core.array_types import Array, Int32
from townsquare.core.coded_rows import CodedRows, LazyRows, first_uses, look_up
from townsquare.core.draws import U64, mix

_BLOCK = 1 << 16  # rows that are numbered at a time: they stay in the cache


@nb.njit(inline="always", cache=True)
def _equal(row: Array, other: Array) -> bool:
    equal = True
    for j in range(row.shape[0]):
        equal &= row[j] == other[j]
    return equal


@nb.njit(nogil=True, cache=True)
def _number(rows: Array, distinct: Array, n: int, table: Array, out: Array) -> int:
    """Number each row, append new rows to ``distinct``, and return how many distinct rows there are."""
    mask = table.shape[0] - 1
    for x in range(rows.shape[0]):
        word = U64(0)
        for value in rows[x]:
            word = mix(word ^ value)
        at = np.int64(word & U64(mask))
        while table[at] >= 0 and not _equal(distinct[table[at]], rows[x]):
            at = (at + 1) & mask
        if table[at] < 0:
            table[at] = n
            for j in range(rows.shape[1]):
                distinct[n, j] = rows[x, j]
            n += 1
        out[x] = table[at]
    return n


class _Distinct:
    """Rows of 64-bit words, each once, by first appearance."""

    def __init__(self, width: int) -> None:
        self.n, self._rows, self._table = 0, np.empty((0, width), np.uint64), np.full(2, -1, np.int32)

    @property
    def rows(self) -> Array:
        return self._rows[: self.n]

    def number(self, rows: Array) -> Int32:
        """Return the number of each row (m, width)."""
        capacity = self.n + rows.shape[0]
        if capacity > self._rows.shape[0]:
            self._grow(2 * capacity)
        out = np.empty(rows.shape[0], np.int32)
        self.n = _number(rows, self._rows, self.n, self._table, out)
        return out

    def _grow(self, capacity: int) -> None:
        old = self.rows
        self._rows = np.empty((capacity, old.shape[1]), np.uint64)
        self._table = np.full(1 << (2 * capacity).bit_length(), -1, np.int32)
        _number(old, self._rows, 0, self._table, np.empty(old.shape[0], np.int32))


class Combinations:
    """What some columns of a table say: each combination of values once, and its number in every row.

    Numbers follow the order in which combinations first appear, so that they are those of the rows and not of the way
    that these are held. -0.0 is 0.0, and all NaN are one.

    Parameters
    ----------
    columns : sequence of Column
        At least one; none is text.
    rows : mapping of str to (n,) array
        With all of ``columns``.

    Examples
    --------
    >>> likes = schema.Column("likes", "i4", "")
    >>> found = Combinations([likes], {"likes": np.array([7, 9, 7])})
    >>> found.columns()["likes"].tolist(), [part.tolist() for part in found.numbers()]
    ([7, 9], [[0, 1, 0]])
    """

    def __init__(self, columns: Sequence[schema.Column], rows: Mapping[str, Any]) -> None:
        self._columns = columns
        self._distinct = _Distinct(len(columns))
        self._coded = isinstance(rows, CodedRows) and all(column.name in rows.per_root for column in columns)
        if isinstance(rows, CodedRows) and self._coded:
            shared = {column.name: rows.per_root[column.name] for column in columns}
            n_codes = len(shared[columns[0].name])
            order = first_uses(rows.index, n_codes)
            number = np.zeros(n_codes, np.int32)
            used = {name: values[order] for name, values in shared.items()}
            number[order] = self._distinct.number(self._words(used))
            self._parts = [(number, rows.index)]
        else:
            numbers = [self._distinct.number(self._words(block)) for block in _blocks(columns, rows)]
            self._parts = [(np.arange(self._distinct.n, dtype=np.int32), part) for part in numbers]

    def columns(self) -> dict[str, Array]:
        """Return the combinations as columns of (k,) values with the dtypes of the schema."""
        words = self._distinct.rows
        return {
            column.name: words[:, j].view("f8" if column.dtype[0] == "f" else "i8").astype(column.dtype)
            for j, column in enumerate(self._columns)
        }

    def numbers(self) -> Iterator[Int32]:
        """Yield the combination number of each row in (n,) int32 blocks; the next block overwrites the one before."""
        for number, code in self._parts:
            out = np.empty(min(code.shape[0], _BLOCK), np.int32)
            for first in range(0, code.shape[0], _BLOCK):
                part = code[first : first + _BLOCK]
                look_up(number, part, out[: part.shape[0]])
                yield out[: part.shape[0]]

    def _words(self, rows: Mapping[str, Array]) -> Array:
        out = np.empty((len(rows[self._columns[0].name]), len(self._columns)), np.uint64)
        for j, column in enumerate(self._columns):
            values = np.asarray(rows[column.name], column.dtype)
            if column.dtype[0] == "f":
                with np.errstate(invalid="ignore"):  # a signaling NaN
                    values = values.astype(np.float64) + 0.0  # -0.0 becomes 0.0
                values[np.isnan(values)] = np.nan
                out[:, j] = values.view(np.uint64)
            else:
                out[:, j] = values.astype(np.int64).view(np.uint64)
        return out


def _blocks(columns: Sequence[schema.Column], rows: Mapping[str, Any]) -> Iterator[dict[str, Array]]:
    """Yield the columns in blocks of rows."""
    names = [column.name for column in columns]
    n = rows.n if isinstance(rows, LazyRows) else len(rows[names[0]])
    whole = {name: rows[name] for name in names}
    for first in range(0, n, _BLOCK):
        yield {name: column[first : first + _BLOCK] for name, column in whole.items()}
