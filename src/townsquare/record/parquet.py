"""Parquet parts: the bulky tables of large runs, one file a table and step, ``parts/<table>/step-000012.parquet``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from townsquare import schema
from townsquare.errors import RecordError
from townsquare.record.frames import frame_schema, to_frame

FOLDER = "parts"
LOST_PART = "copy the whole folder of the run again, or run it anew into a new folder"
_PART = re.compile(r"step-(\d+)\.(parquet|tmp)")


def part_path(folder: Path, table: str, step: int) -> Path:
    """Where the rows that ``step`` added to ``table`` stand, below the folder of the run."""
    return folder / FOLDER / table / f"step-{step:06d}.parquet"


def write_part(folder: Path, table: str, step: int, columns: schema.Columns) -> None:
    """Write one part so that it is whole and on disk, or not there at all, when this returns.

    The file is synced under another name before it gets its own, and the folder after, so that a step that is
    committed later can never point at half a part, even after a power cut.
    """
    final = part_path(folder, table, step)
    _make_folder(final.parent, folder)
    temporary = final.with_suffix(".tmp")
    frame = to_frame(schema.TABLES[table].recorded, columns)
    # Level 1 wrote a third more rows a second than the default, in files of the same size.
    frame.write_parquet(temporary, compression="zstd", compression_level=1, statistics=False)
    _sync(temporary)
    temporary.replace(final)
    _sync(final.parent)


def read_parts(folder: Path, table: str, steps: Sequence[int], columns: Sequence[schema.Column]) -> pl.LazyFrame:
    """The rows that these steps added, in order, as a scan; no rows for no steps.

    Raises
    ------
    RecordError
        If a part is missing.
    """
    files = [part_path(folder, table, step) for step in steps]
    for file in files:
        if not file.is_file():
            raise RecordError(str(file), got="no such file, though its step is committed", do=LOST_PART)
    if not files:
        return pl.LazyFrame(schema=frame_schema(columns))
    recorded = frame_schema(schema.TABLES[table].recorded)
    scan = pl.scan_parquet(files, glob=False, hive_partitioning=False, schema=recorded)
    return scan.select([column.name for column in columns])


def remove_uncommitted(folder: Path, last: int) -> list[Path]:
    """Remove parts of steps after ``last``, and files that were being written; returns what it removed."""
    removed = []
    for file in sorted((folder / FOLDER).glob("*/step-*")):
        match = _PART.fullmatch(file.name)
        if match and file.parent.name in schema.TABLES and (match[2] == "tmp" or int(match[1]) > last):
            file.unlink()
            removed.append(file)
    return removed


def _make_folder(path: Path, above: Path) -> None:
    if path.is_dir():
        return
    path.mkdir(parents=True)
    while path != above:
        path = path.parent
        _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
