"""One Parquet file, written a stretch of rows at a time from arrays as they are.

Rows of large runs are numbers that hardly repeat within a column: which post, whose, by how much. Looking for a
dictionary of such a column costs more than all else, so none is made. Whole numbers are split into bytes, of which
the upper ones hardly differ, and then pressed; real numbers stay as they are, since next to nothing is won.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from townsquare.core import schema

Array = npt.NDArray[np.generic]
ROW_GROUP = 1 << 20
"""Rows that stand together in a file, and are held in Arrow's memory at a time."""
_LARGE = 1 << 24  # bytes: smaller files may stay in memory, for whoever looks at them next
_AT_ONCE = 1 << 20
"""Bytes that are gathered before they are handed to the system. Arrow writes pages of 20,000 rows, each behind a header
of some bytes, and so many small pieces take the system twice as long as the same bytes in large ones. Files written
past its cache (``O_DIRECT``) save little more, and each write then waits for the disk and for the lock of Python.
"""


def write_file(path: Path, columns: Sequence[schema.Column], blocks: Iterable[schema.Columns]) -> None:
    """Write a new file and have it on disk when this returns; what a broken write leaves is the caller's to remove.

    Parameters
    ----------
    path : Path
        Overwritten.
    columns : sequence of Column
        With their names and dtypes.
    blocks : iterable of mapping of str to (n,) array or list
        Rows, block after block, with all of ``columns`` each.

    Raises
    ------
    OSError
        As the system says it: a full disk, no permission.
    """
    import pyarrow as pa  # a fifth of a second: only large runs wait for it
    import pyarrow.parquet as pq

    types = {c.name: pa.string() if c.dtype == "str" else pa.from_numpy_dtype(np.dtype(c.dtype)) for c in columns}
    form = pa.schema([pa.field(name, dtype, nullable=False) for name, dtype in types.items()])
    whole = [column.name for column in columns if column.dtype[0] in "iu"]
    pressed = {column.name: "none" if column.dtype[0] == "f" else "lz4" for column in columns}
    texts = [column.name for column in columns if column.dtype == "str"]
    encoding = {"use_dictionary": texts or False, "column_encoding": dict.fromkeys(whole, "BYTE_STREAM_SPLIT")}
    options = {"compression": pressed, "write_statistics": False, **encoding}
    with pa.OSFile(str(path), mode="wb") as raw, path.open("rb") as file:
        with pa.BufferedOutputStream(raw, _AT_ONCE) as sink, pq.ParquetWriter(sink, form, **options) as writer:
            for rows in _groups(columns, blocks):
                arrays = [pa.array(rows[name], type=dtype) for name, dtype in types.items()]
                writer.write_batch(pa.record_batch(arrays, schema=form), row_group_size=ROW_GROUP)
                _let_go(file, sink.tell())
        os.fsync(file.fileno())  # all of it: the sink is closed
        _let_go(file, os.fstat(file.fileno()).st_size)


def _let_go(file: BinaryIO, size: int) -> None:
    """Have what is written go to the disk, and the system use its memory for something else once it is there.

    Nobody reads it soon, and to get memory that was not in use costs more than to write the file. Not every system has
    such a call.
    """
    if size > _LARGE and hasattr(os, "posix_fadvise"):
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _groups(columns: Sequence[schema.Column], blocks: Iterable[schema.Columns]) -> Iterator[Mapping[str, object]]:
    """Yield blocks of at most ``ROW_GROUP`` rows with the dtypes of the schema."""
    for block in blocks:
        n = len(next(iter(block.values())))
        for first in range(0, n, ROW_GROUP):
            part = {column: block[column.name][first : first + ROW_GROUP] for column in columns}
            yield {c.name: v if c.dtype == "str" else np.ascontiguousarray(v, c.dtype) for c, v in part.items()}
