"""Rows of large tables, held so that nothing is copied or said twice; read by name, a column is what it always was."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Array

_BLOCK = 1 << 16  # values that are looked up at a time where a column is read in parts: they stay in the cache


@nb.njit(nogil=True, cache=True)
def look_up(values: Array, code: Array, out: Array) -> None:
    """``out = values[code]``, which NumPy takes three times as long for: it makes 64-bit numbers of the codes first."""
    for x in range(code.shape[0]):
        out[x] = values[code[x]]


class LargeRows(Mapping[str, Array]):
    """Columns of n rows by name, (n,) each, read-only; a column that is not held as one array is made if asked for."""

    __slots__ = ()

    @property
    @abstractmethod
    def n(self) -> int:
        """How many rows."""

    @abstractmethod
    def dtype(self, name: str) -> np.dtype[Any]:
        """Of a column."""

    @abstractmethod
    def parts(self, name: str) -> Iterator[Array]:
        """A column piece by piece, in order, without holding all of it; each is good until the next is asked for."""


class CodedRows(LargeRows):
    """Rows of which many columns are functions of one: ``columns[name]``, or ``beside[name][code]``.

    Feeds show few roots, and each of them often. What stands beside a root (its counts, its labels) is the same in
    every row that shows it: it is held once a root, and in each row which root it is.

    Parameters
    ----------
    columns : mapping of str to (n,) array
        Columns with a value for each row.
    code : (n,) int32
        For each row, a place in ``beside``.
    beside : mapping of str to (k,) array
        Columns with a value for each code.

    Examples
    --------
    >>> rows = CodedRows({"rank": np.arange(3)}, np.array([1, 0, 1], np.int32), {"likes": np.array([7, 9])})
    >>> rows["likes"].tolist(), rows.at("likes", np.array([1])).tolist(), sorted(rows), rows.n
    ([9, 7, 9], [7], ['likes', 'rank'], 3)
    """

    __slots__ = ("beside", "code", "columns")

    def __init__(self, columns: Mapping[str, Array], code: npt.NDArray[np.int32], beside: Mapping[str, Array]) -> None:
        self.columns = {name: _read_only(column) for name, column in columns.items()}
        self.beside = {name: _read_only(column) for name, column in beside.items()}
        self.code = _read_only(code)

    @classmethod
    def of(cls, rows: Mapping[str, Any]) -> CodedRows:
        """Any rows in this form: those that are not coded get a code each."""
        if isinstance(rows, CodedRows):
            return rows
        arrays = {name: np.asarray(column) for name, column in rows.items()}
        n = len(next(iter(arrays.values()), ()))
        return cls({}, np.arange(n, dtype=np.int32), arrays)

    @classmethod
    def joined(cls, parts: Sequence[CodedRows]) -> CodedRows:
        """Rows of the same columns, one after the other.

        >>> one = CodedRows({}, np.array([0], np.int32), {"likes": np.array([7])})
        >>> CodedRows.joined([one, one])["likes"].tolist()
        [7, 7]
        """
        sizes = [len(next(iter(part.beside.values()), ())) for part in parts]
        before = np.cumsum([0, *sizes[:-1]])
        return cls(
            {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns},
            np.concatenate([part.code + np.int32(n) for part, n in zip(parts, before, strict=True)]),
            {name: np.concatenate([part.beside[name] for part in parts]) for name in parts[0].beside},
        )

    @property
    def n(self) -> int:
        """How many rows."""
        return int(self.code.shape[0])

    def __getitem__(self, name: str) -> Array:
        if name in self.columns:
            return self.columns[name]
        out = np.empty(self.n, self.beside[name].dtype)
        look_up(self.beside[name], self.code, out)
        return _read_only(out)

    def __iter__(self) -> Iterator[str]:
        yield from self.columns
        yield from self.beside

    def __len__(self) -> int:
        return len(self.columns) + len(self.beside)

    def dtype(self, name: str) -> np.dtype[Any]:
        """Of a column."""
        return (self.columns[name] if name in self.columns else self.beside[name]).dtype

    def at(self, name: str, rows: Array) -> Array:
        """A column of some rows: ``self[name][rows]`` without the rest of it."""
        return self.columns[name][rows] if name in self.columns else self.beside[name][self.code[rows]]

    def parts(self, name: str) -> Iterator[Array]:
        """A column piece by piece."""
        if name in self.columns:
            yield self.columns[name]
            return
        beside = self.beside[name]
        out = np.empty(min(self.n, _BLOCK), beside.dtype)
        for first in range(0, self.n, _BLOCK):
            code = self.code[first : first + _BLOCK]
            look_up(beside, code, out[: code.shape[0]])
            yield out[: code.shape[0]]

    def take(self, rows: Array) -> CodedRows:
        """Some of the rows, by place or by mask."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return CodedRows(columns, self.code[rows], self.beside)


class PartedRows(LargeRows):
    """Rows block by block, as stages make them.

    >>> rows = PartedRows([{"post": np.array([4, 5])}, {"post": np.array([6])}])
    >>> rows["post"].tolist(), rows.n, [part.tolist() for part in rows.parts("post")]
    ([4, 5, 6], 3, [[4, 5], [6]])
    """

    __slots__ = ("blocks",)

    def __init__(self, blocks: Sequence[Mapping[str, Array]]) -> None:
        self.blocks = [{name: _read_only(column) for name, column in block.items()} for block in blocks]

    @property
    def n(self) -> int:
        """How many rows."""
        return sum(len(next(iter(block.values()))) for block in self.blocks)

    def __getitem__(self, name: str) -> Array:
        return _read_only(np.concatenate([block[name] for block in self.blocks]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.blocks[0] if self.blocks else ())

    def __len__(self) -> int:
        return len(self.blocks[0]) if self.blocks else 0

    def dtype(self, name: str) -> np.dtype[Any]:
        """Of a column; ``ValueError`` if blocks differ."""
        dtypes = {block[name].dtype for block in self.blocks}
        if len(dtypes) != 1:
            raise ValueError(f"{name}: blocks of {sorted(map(str, dtypes))}")
        return dtypes.pop()

    def parts(self, name: str) -> Iterator[Array]:
        """A column block by block."""
        for block in self.blocks:
            yield block[name]


def column_at(rows: Mapping[str, Any], name: str, places: Array) -> Array:
    """A column at some places of any rows."""
    return rows.at(name, places) if isinstance(rows, CodedRows) else np.asarray(rows[name])[places]


def row_count(rows: Mapping[str, Any]) -> int:
    """How many rows there are."""
    return rows.n if isinstance(rows, LargeRows) else len(next(iter(rows.values())))


def _read_only(column: Array) -> Array:
    view = column.view()
    view.flags.writeable = False
    return view
