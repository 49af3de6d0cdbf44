"""The content hash: one SHA-256 chain over what a run recorded, whatever it is stored in (DESIGN §3).

Of each step, in the order of ``schema.TABLES``, the tables that have rows are hashed by value, column by column in
declared order, each column in row order:

* whole numbers and booleans as little-endian bytes of the declared dtype (booleans as one byte, 0 or 1);
* real numbers likewise, after -0.0 became 0.0 and every NaN the same NaN, since no two stores keep those apart alike;
* texts as their UTF-8 lengths (int64), then their bytes.

Every column gives a digest of its own; name of the table, number of rows, and name, dtype and digest of each hashed
column go into the chain with the hash before and the number of the step. Digests of columns are independent, so large
tables are hashed by several threads. A table without rows adds nothing: a version of Townsquare that knows more tables
gives a run that does not use them the same hash.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare import schema
from townsquare.large_rows import LargeRows, row_count

ColumnsOf = Callable[[str], schema.Columns]
"""Gives the rows of a table by its name, as :meth:`townsquare.record.batches.Batches.get` does."""

START = b"townsquare content hash 1"
_BLOCK = 1 << 16  # values of a real column that are made canonical at a time: they stay in the cache
_PARALLEL_ABOVE = 1 << 20  # rows times columns of a table; starting threads costs more than hashing fewer
_MAX_THREADS = 8


class HashChain:
    """The hash of all steps added so far.

    Parameters
    ----------
    start : bytes
        What the chain starts from; part of every hash.

    Examples
    --------
    >>> one, other = HashChain(), HashChain()
    >>> rows = schema.rows("note_ratings", 2, note=0, agent=[3, 4], step=0, helpful=True)
    >>> by_name = lambda table: rows if table == "note_ratings" else schema.empty(table)
    >>> one.add(0, by_name) == other.add(0, by_name) == one.value
    True
    >>> one.add(1, by_name) == other.value
    False
    """

    def __init__(self, start: bytes = START) -> None:
        self._state = hashlib.sha256(start).digest()

    @property
    def value(self) -> str:
        """The hash so far, 64 hexadecimal digits."""
        return self._state.hex()

    def add(self, step: int, columns_of: ColumnsOf) -> str:
        """Chain the rows of ``step`` and return the new hash, 64 hexadecimal digits."""
        chained = hashlib.sha256(self._state)
        chained.update(_number(step))
        for name in hashed_tables():
            columns = columns_of(name)
            n = row_count(columns)
            if n:
                chained.update(_text(name) + _number(n))
                _update_table(chained, schema.TABLES[name], columns, n)
        self._state = chained.digest()
        return self.value


def hashed_tables() -> list[str]:
    """Tables that the hash covers, in order: all but ``steps``, which holds the hash."""
    return [name for name in schema.TABLES if name != "steps"]


def _update_table(chained: Any, table: schema.Table, columns: schema.Columns, n: int) -> None:
    hashed = [column for column in table.recorded if column.hashed]
    digest_of = partial(_column_digest, columns)
    if n * len(hashed) > _PARALLEL_ABOVE:
        with ThreadPoolExecutor(min(_MAX_THREADS, os.cpu_count() or 1)) as pool:
            digests = list(pool.map(digest_of, hashed))
    else:
        digests = list(map(digest_of, hashed))
    for column, digest in zip(hashed, digests, strict=True):
        chained.update(_text(column.name) + _text(column.dtype) + digest)


def _column_digest(columns: schema.Columns, column: schema.Column) -> bytes:
    digest = hashlib.sha256()
    if column.dtype == "str":
        encoded = [str(text).encode() for text in columns[column.name]]
        digest.update(np.array([len(text) for text in encoded], dtype="<i8").data)
        digest.update(b"".join(encoded))
        return digest.digest()
    for part in columns.parts(column.name) if isinstance(columns, LargeRows) else (columns[column.name],):
        for block in _canonical_blocks(np.asarray(part, dtype=np.dtype(column.dtype).newbyteorder("<"))):
            digest.update(block.data.cast("B"))
    return digest.digest()


def _canonical_blocks(array: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    if array.dtype.kind != "f":
        if array.flags.c_contiguous:
            yield array
            return
        for first in range(0, array.shape[0], _BLOCK):  # one value, repeated
            yield np.ascontiguousarray(array[first : first + _BLOCK])
        return
    buffer = np.empty(min(_BLOCK, array.shape[0]), dtype=array.dtype)
    for first in range(0, array.shape[0], _BLOCK):
        part = array[first : first + _BLOCK]
        block = buffer[: part.shape[0]]
        with np.errstate(invalid="ignore"):  # a signalling NaN
            np.add(part, 0.0, out=block)  # -0.0 + 0.0 is 0.0; every other number stays as it is
        missing = np.isnan(block)
        if missing.any():
            block[missing] = np.nan
        yield block


def _number(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return _number(len(encoded)) + encoded
