"""Parquet parts: the bulky tables of large runs, one file a table and step, ``parts/<table>/step-000012.parquet``.

Coded rows are two files, as in :mod:`townsquare.record.packed`; the second is ``step-000012-beside.parquet``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import polars as pl

from townsquare.core import schema
from townsquare.core.errors import RecordError
from townsquare.core.private_files import folder_mode
from townsquare.record.frames import dtype_of, frame_schema, missing_values
from townsquare.record.packed import CODE, stored_rows
from townsquare.record.part_writer import write_file

FOLDER = "parts"
LOST_PART = "copy the whole folder of the run again, or repeat the run in a new folder"
_PART = re.compile(r"step-(\d+)(?:-beside)?\.(parquet|tmp)")


def part_path(folder: Path, table: str, step: int) -> Path:
    """Return the path of the rows that ``step`` added to ``table``, below the folder of the run."""
    return folder / FOLDER / table / f"step-{step:06d}.parquet"


def is_part(name: str) -> bool:
    """Return whether a file has the name of a part, complete or still being written."""
    return _PART.fullmatch(name) is not None


def write_part(folder: Path, table: str, step: int, columns: schema.Columns) -> None:
    """Write one part so that it is whole and on disk, or not there at all, when this returns.

    The file is synced under another name before it gets its own, and the folder after, so that a step that is
    committed later can never point at half a part, even after a power cut.
    """
    final = part_path(folder, table, step)
    _make_folder(final.parent, folder)
    beside_path(final).unlink(missing_ok=True)  # of a run that was stopped before it committed this step
    for path, rows in zip((final, beside_path(final)), stored_rows(table, columns), strict=False):
        _write(path, *rows)
    _sync(final.parent)


def beside_path(part: Path) -> Path:
    """Return the path of the second file of a part, which only dictionary-encoded rows have."""
    return part.with_name(f"{part.stem}-{CODE}.parquet")


def _write(final: Path, columns: Sequence[schema.Column], blocks: Sequence[schema.Columns]) -> None:
    temporary = final.with_suffix(".tmp")
    write_file(temporary, columns, blocks)
    temporary.replace(final)


def read_parts(folder: Path, table: str, steps: Sequence[int], columns: Sequence[schema.Column]) -> pl.LazyFrame:
    """Scan the rows that these steps added, in order.

    Raises
    ------
    RecordError
        If a part is missing.
    """
    files = [part_path(folder, table, step) for step in steps]
    for file in files:
        if not file.is_file():
            raise RecordError(str(file), got="a missing file of a committed step", do=LOST_PART)
    if not files:
        return pl.LazyFrame(schema=frame_schema(columns))
    plain = [file for file in files if not beside_path(file).is_file()]
    for file in plain if len(plain) < len(files) else plain[:1]:  # a run that codes a table does so in every step
        if _is_coded(file):
            raise RecordError(str(beside_path(file)), got="a missing file of a committed step", do=LOST_PART)
    if len(plain) == len(files):
        # Parts hold no null: what is null was added to the table after the part was written.
        all_columns = schema.TABLES[table].recorded
        later = [pl.col(column.name).fill_null(column.missing) for column in all_columns if column.since > 1]
        absent: Literal["insert", "raise"] = "insert" if later else "raise"
        scan = pl.scan_parquet(
            files, glob=False, hive_partitioning=False, schema=frame_schema(all_columns), missing_columns=absent
        )
        return scan.with_columns(later).select(list(frame_schema(columns)))
    return pl.concat([_scan(file, columns) for file in files])


def _scan(part: Path, columns: Sequence[schema.Column]) -> pl.LazyFrame:
    """Scan columns of one part; dictionary-encoded columns are looked up only where a query needs them."""
    scan, second = pl.scan_parquet(part, glob=False, hive_partitioning=False), beside_path(part)
    own = scan.collect_schema().names()
    if second.is_file():
        lacking = [column for column in columns if column.name not in own]
        there = {column.name for column in lacking}
        if any(column.since > 1 for column in lacking):  # else, whoever needs its rows reads it
            there &= pl.read_parquet_schema(second).keys()
        looked_up = [_looked_up(second, column) for column in lacking if column.name in there]
        scan, own = scan.with_columns(looked_up), [*own, *there]
    return scan.with_columns(missing_values(columns, own)).select(list(frame_schema(columns)))


def _is_coded(part: Path) -> bool:
    try:
        return CODE in pl.read_parquet_schema(part)
    except pl.exceptions.PolarsError:  # torn: whoever reads its rows is told
        return False


def _looked_up(second: Path, column: schema.Column) -> pl.Expr:
    def look_up(code: pl.Series) -> pl.Series:
        return pl.read_parquet(second, columns=[column.name], hive_partitioning=False)[column.name].gather(code)

    values = pl.col(CODE).map_batches(look_up, return_dtype=dtype_of(column), is_elementwise=True)
    return values.alias(column.name)


def remove_uncommitted(folder: Path, last: int) -> list[Path]:
    """Remove parts of steps after ``last``, and files that were being written; returns what it removed."""
    removed = []
    for file in sorted((folder / FOLDER).glob("*/step-*")):
        match = _PART.fullmatch(file.name)
        if match and file.parent.name in schema.TABLES and (match[2] == "tmp" or int(match[1]) > last):
            file.unlink()
            removed.append(file)
    return removed


def _make_folder(path: Path, run: Path) -> None:
    """Make a folder below that of the run, which must be there: it is never made again."""
    if path.is_dir():
        return
    for folder in (path.parent, path):
        with suppress(FileExistsError):
            folder.mkdir(mode=folder_mode())
    _sync(path.parent)
    _sync(run)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
