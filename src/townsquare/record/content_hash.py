"""The content hash: one SHA-256 chain over what a run recorded, whatever it is stored in.

Of each step, in the order of ``schema.TABLES``, the tables that have rows are hashed by value, column by column, those
that repeat first and else in declared order, each column in row order:

* whole numbers and booleans as little-endian bytes of the declared dtype (booleans as one byte, 0 or 1);
* real numbers likewise, after -0.0 became 0.0 and every NaN the same NaN, since no two stores keep those apart alike;
* texts as their UTF-8 lengths (int64), then their bytes.

A column of whole numbers or booleans that are all equal is hashed as one value. Columns that repeat together
(``Column.repeats``: what exposures show next to a root) are hashed once a combination of their values, in the order in
which these first appear, and after them, as a column ``combination`` of int32, which one each row has, from 0.

Every column gives a digest of its own; name of the table, number of rows, and name, dtype, number of values and digest
of each hashed column go into the chain with the hash before and the number of the step. Digests of columns are
independent, so large tables are hashed by several threads. A table without rows adds nothing, and neither does, in a
step, a column that was added after version 1 of the record and holds no value there, or none but those of the column
that it refines: a version of Townsquare that knows more tables and columns gives a run that does not use them the same
hash.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from townsquare.core import schema
from townsquare.core.array_types import Array
from townsquare.core.coded_rows import LazyRows, row_count
from townsquare.record.combinations import Combinations

ColumnsOf = Callable[[str], schema.Columns]
"""Gives the rows of a table by its name, as :meth:`townsquare.record.batches.Batches.get` does."""

START = b"townsquare content hash 2"
_BLOCK = 1 << 16  # values of a real column that are made canonical at a time: they stay in the cache
_PARALLEL_ABOVE = 1 << 20  # rows times columns of a table; starting threads costs more than hashing fewer
_MAX_THREADS = 8


class HashChain:
    """The hash of all steps added so far; the chain starts from :data:`START`.

    >>> one, other = HashChain(), HashChain()
    >>> rows = schema.rows("note_ratings", 2, note=0, agent=[3, 4], step=0, helpful=True)
    >>> by_name = lambda table: rows if table == "note_ratings" else schema.empty(table)
    >>> one.add(0, by_name) == other.add(0, by_name) == one.value
    True
    >>> one.add(1, by_name) == other.value
    False
    """

    def __init__(self) -> None:
        self._state = hashlib.sha256(START).digest()

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
    """Return the tables that the hash covers, in order: all but ``steps``, which holds the hash."""
    return [name for name in schema.TABLES if name != "steps"]


class _Digest(NamedTuple):
    """What goes into the chain of a column."""

    name: str
    dtype: str
    values: int
    digest: bytes


def _update_table(chained: Any, table: schema.Table, columns: schema.Columns, n: int) -> None:
    hashed = [column for column in table.recorded if column.hashed and _holds_values(table, columns, column)]
    repeating = [column for column in hashed if column.repeats]
    tasks = [partial(_own_digest, columns, column, n) for column in hashed if not column.repeats]
    if repeating:
        tasks.insert(0, partial(_repeating_digests, columns, repeating, n))  # the longest
    if n * len(hashed) > _PARALLEL_ABOVE:
        with ThreadPoolExecutor(min(_MAX_THREADS, os.cpu_count() or 1)) as pool:
            digests = list(pool.map(lambda task: task(), tasks))
    else:
        digests = [task() for task in tasks]
    for digest in chain.from_iterable(digests):
        chained.update(_head(digest.name, digest.dtype) + _number(digest.values) + digest.digest)


def _repeating_digests(columns: schema.Columns, repeating: list[schema.Column], n: int) -> list[_Digest]:
    combinations = Combinations(repeating, columns)
    values = combinations.columns()
    digests = []
    for column in repeating:
        distinct = values[column.name]
        digests.append(_Digest(column.name, column.dtype, len(distinct), _digest(column.dtype, [distinct])))
    return [*digests, _Digest("combination", "i4", n, _digest("i4", combinations.numbers()))]


def _own_digest(columns: schema.Columns, column: schema.Column, n: int) -> list[_Digest]:
    name, dtype = column.name, column.dtype
    if dtype == "str":
        return [_Digest(name, dtype, n, _text_digest(columns[name]))]
    only = None if dtype[0] == "f" else _only_value(_parts(columns, column))
    if only is not None:
        return [_Digest(name, dtype, 1, _digest(dtype, [only]))]
    return [_Digest(name, dtype, n, _digest(dtype, _parts(columns, column)))]


def _parts(columns: schema.Columns, column: schema.Column) -> Iterable[Any]:
    return columns.parts(column.name) if isinstance(columns, LazyRows) else (columns[column.name],)


def _holds_values(table: schema.Table, columns: schema.Columns, column: schema.Column) -> bool:
    """Return whether a column counts in a step: an added column counts where some value is not missing."""
    if column.since == 1:
        return True
    if column.refines:
        coarse = next(other for other in table.recorded if other.name == column.refines)
        pairs = zip(_parts(columns, column), _parts(columns, coarse), strict=True)
        return not all(((new == old) | np.isnan(new)).all() for new, old in pairs)
    if column.dtype == "str":
        return any(text != column.missing for text in columns[column.name])
    if column.dtype[0] == "f":
        return not all(np.isnan(part).all() for part in _parts(columns, column))
    return not all(_is_all(part, column.missing) for part in _parts(columns, column))


def _only_value(parts: Iterable[Any]) -> Array | None:
    """Return the first value, (1,), if all are equal to it."""
    first = None
    for part in parts:
        if first is None and len(part):
            first = np.array(part[:1])
        if first is not None and not _is_all(part, first[0]):
            return None
    return first


def _is_all(part: Any, value: Any) -> bool:
    """Return whether all values equal one; the last value of most columns shows that they do not."""
    part = np.asarray(part)
    if not part.size or part[-1] != value:
        return not part.size
    return part.strides == (0,) or all((part[lo : lo + _BLOCK] == value).all() for lo in range(0, part.size, _BLOCK))


def _text_digest(texts: Iterable[object]) -> bytes:
    encoded = [str(text).encode() for text in texts]
    digest = hashlib.sha256(np.array([len(text) for text in encoded], dtype="<i8").data)
    digest.update(b"".join(encoded))
    return digest.digest()


def _digest(dtype: str, parts: Iterable[Any]) -> bytes:
    digest, little = hashlib.sha256(), _little_endian(dtype)
    for part in parts:
        array = np.asarray(part, little)
        if array.flags.c_contiguous and dtype[0] != "f":
            digest.update(array.data)
            continue
        for first in range(0, array.size, _BLOCK):
            block = array[first : first + _BLOCK]  # perhaps one value, repeated
            digest.update((_canonical(block) if dtype[0] == "f" else np.ascontiguousarray(block)).data)
    return digest.digest()


def _canonical(block: Array) -> Array:
    """Return real numbers with 0.0 for -0.0 and one NaN for all."""
    with np.errstate(invalid="ignore"):  # a signaling NaN
        out: Array = block + 0.0  # -0.0 + 0.0 is 0.0; every other number stays as it is
    missing = np.isnan(out)
    if missing.any():
        out[missing] = np.nan
    return out


@cache
def _little_endian(dtype: str) -> np.dtype[Any]:
    return np.dtype(dtype).newbyteorder("<")


@cache
def _head(name: str, dtype: str) -> bytes:
    return _text(name) + _text(dtype)


def _number(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return _number(len(encoded)) + encoded
