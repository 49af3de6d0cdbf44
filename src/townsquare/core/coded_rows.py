"""Rows of large tables without copies: dictionary-encoded, or in blocks. Reading a column by name makes the array."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numba as nb
import numpy as np

from townsquare.core.array_types import Array, Int32, read_only

_BLOCK = 1 << 16  # values that are looked up at a time where a column is read in parts: they stay in the cache


@nb.njit(nogil=True, cache=True)
def look_up(values: Array, index: Array, out: Array) -> None:
    """Write ``values[index]`` into ``out``, in a third of the time of NumPy, which first makes the index 64-bit."""
    for x in range(index.shape[0]):
        out[x] = values[index[x]]


@nb.njit(nogil=True, cache=True)
def first_uses(code: Array, n_codes: int) -> Array:
    """Return the codes that are used, in the order of their first use."""
    used, order, n = np.zeros(n_codes, np.bool_), np.empty(n_codes, np.int64), 0
    for x in range(code.shape[0]):
        if not used[code[x]]:
            used[code[x]] = True
            order[n] = code[x]
            n += 1
    return order[:n]


class LazyRows(Mapping[str, Array]):
    """Columns of n rows by name, (n,) each, read-only; a column that is not stored as one array is made when read."""

    __slots__ = ()

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows."""

    @abstractmethod
    def dtype(self, name: str) -> np.dtype[Any]:
        """Return the dtype of a column."""

    @abstractmethod
    def parts(self, name: str) -> Iterator[Array]:
        """Yield a column piece by piece, in order; each piece is valid until the next is requested."""


class CodedRows(LazyRows):
    """Dictionary-encoded rows: a column is ``columns[name]``, or ``per_root[name][index]``.

    Feeds show few roots, and each of them often. The counts and labels of a root are the same in every row that shows
    it. They are stored once for each root, and each row stores the index of its root.

    Parameters
    ----------
    columns : mapping of str to (n,) array
        Columns with a value for each row.
    index : (n,) int32
        For each row, its position in the columns of ``per_root``.
    per_root : mapping of str to (k,) array
        Columns with a value for each index.

    Examples
    --------
    >>> rows = CodedRows({"rank": np.arange(3)}, np.array([1, 0, 1], np.int32), {"likes": np.array([7, 9])})
    >>> rows["likes"].tolist(), rows.at("likes", np.array([1])).tolist(), sorted(rows), rows.n
    ([9, 7, 9], [7], ['likes', 'rank'], 3)
    """

    __slots__ = ("columns", "index", "per_root")

    def __init__(self, columns: Mapping[str, Array], index: Int32, per_root: Mapping[str, Array]) -> None:
        self.columns = {name: read_only(column) for name, column in columns.items()}
        self.per_root = {name: read_only(column) for name, column in per_root.items()}
        self.index = read_only(index)

    @classmethod
    def of(cls, rows: Mapping[str, Any]) -> CodedRows:
        """Return any rows in this form; rows that are not encoded get an index each."""
        if isinstance(rows, CodedRows):
            return rows
        arrays = {name: np.asarray(column) for name, column in rows.items()}
        n = len(next(iter(arrays.values()), ()))
        return cls({}, np.arange(n, dtype=np.int32), arrays)

    @classmethod
    def joined(cls, parts: Sequence[CodedRows]) -> CodedRows:
        """Concatenate rows of the same columns.

        >>> rows = CodedRows({}, np.array([0], np.int32), {"likes": np.array([7])})
        >>> CodedRows.joined([rows, rows])["likes"].tolist()
        [7, 7]
        """
        sizes = [len(next(iter(part.per_root.values()), ())) for part in parts]
        before = np.cumsum([0, *sizes[:-1]])
        return cls(
            {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns},
            np.concatenate([part.index + np.int32(n) for part, n in zip(parts, before, strict=True)]),
            {name: np.concatenate([part.per_root[name] for part in parts]) for name in parts[0].per_root},
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.index.shape[0])

    def __getitem__(self, name: str) -> Array:
        if name in self.columns:
            return self.columns[name]
        out = np.empty(self.n, self.per_root[name].dtype)
        look_up(self.per_root[name], self.index, out)
        return read_only(out)

    def __iter__(self) -> Iterator[str]:
        yield from self.columns
        yield from self.per_root

    def __len__(self) -> int:
        return len(self.columns) + len(self.per_root)

    def dtype(self, name: str) -> np.dtype[Any]:
        """Return the dtype of a column."""
        return (self.columns[name] if name in self.columns else self.per_root[name]).dtype

    def at(self, name: str, rows: Array) -> Array:
        """Return ``self[name][rows]`` without making the whole column."""
        return self.columns[name][rows] if name in self.columns else self.per_root[name][self.index[rows]]

    def parts(self, name: str) -> Iterator[Array]:
        """Yield a column piece by piece."""
        if name in self.columns:
            yield self.columns[name]
            return
        per_root = self.per_root[name]
        out = np.empty(min(self.n, _BLOCK), per_root.dtype)
        for first in range(0, self.n, _BLOCK):
            index = self.index[first : first + _BLOCK]
            look_up(per_root, index, out[: index.shape[0]])
            yield out[: index.shape[0]]

    def take(self, rows: Array) -> CodedRows:
        """Return some of the rows, by number or by mask."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return CodedRows(columns, self.index[rows], self.per_root)


class PartedRows(LazyRows):
    """Rows in blocks, as stages make them.

    >>> rows = PartedRows([{"post": np.array([4, 5])}, {"post": np.array([6])}])
    >>> rows["post"].tolist(), rows.n, [part.tolist() for part in rows.parts("post")]
    ([4, 5, 6], 3, [[4, 5], [6]])
    """

    __slots__ = ("blocks",)

    def __init__(self, blocks: Sequence[Mapping[str, Array]]) -> None:
        self.blocks = [{name: read_only(column) for name, column in block.items()} for block in blocks]

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(len(next(iter(block.values()))) for block in self.blocks)

    def __getitem__(self, name: str) -> Array:
        return read_only(np.concatenate([block[name] for block in self.blocks]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.blocks[0] if self.blocks else ())

    def __len__(self) -> int:
        return len(self.blocks[0]) if self.blocks else 0

    def dtype(self, name: str) -> np.dtype[Any]:
        """Return the dtype of a column; ``ValueError`` if blocks differ."""
        dtypes = {block[name].dtype for block in self.blocks}
        if len(dtypes) != 1:
            raise ValueError(f"{name}: blocks of {sorted(map(str, dtypes))}")
        return dtypes.pop()

    def parts(self, name: str) -> Iterator[Array]:
        """Yield a column block by block."""
        for block in self.blocks:
            yield block[name]


def column_at(rows: Mapping[str, Any], name: str, places: Array) -> Array:
    """Return a column of some of any rows."""
    return rows.at(name, places) if isinstance(rows, CodedRows) else np.asarray(rows[name])[places]


def row_count(rows: Mapping[str, Any]) -> int:
    """Return the number of rows."""
    return rows.n if isinstance(rows, LazyRows) else len(next(iter(rows.values())))
