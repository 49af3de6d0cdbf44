"""The file of a part: whole whatever its size, and an error of the system, with nothing left open, if it cannot be."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from townsquare.core import schema
from townsquare.record.part_writer import write_file

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="asks the system what only Linux tells")

COLUMNS = [
    schema.Column("post", "i4", "row of posts"),
    schema.Column("slot", "u1", "code"),
    schema.Column("seen", "?", "yes or no"),
    schema.Column("amount", "f8", "noise, so that nothing is won by pressing it"),
]
MIB_OF_ROWS = (1 << 20) // 8  # whose amounts alone are as much as is handed to the system at once


def rows(n: int) -> dict[str, np.ndarray]:
    noise = np.random.default_rng(n)
    return {
        "post": noise.integers(0, 1000, n, np.int32),
        "slot": noise.integers(0, 3, n, np.uint8),
        "seen": noise.random(n) < 0.5,
        "amount": noise.random(n),
    }


@contextmanager
def largest_file(n_bytes: int) -> Iterator[None]:
    """Files of this process may not grow beyond so many bytes, as if the disk were full there."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def open_files() -> list[str]:
    """What this process has open; the folder in which this is looked up is not."""
    names = (Path("/proc/self/fd") / number for number in os.listdir("/proc/self/fd"))
    return sorted(str(name.readlink()) for name in names if name.exists())


@pytest.mark.parametrize("n", [0, 1, MIB_OF_ROWS - 5000, MIB_OF_ROWS, MIB_OF_ROWS + 1, 9 * MIB_OF_ROWS])
def test_what_is_written_is_read(tmp_path: Path, n: int) -> None:
    expected, file = rows(n), tmp_path / "rows.parquet"
    half = {name: column[: n // 2] for name, column in expected.items()}
    rest = {name: column[n // 2 :] for name, column in expected.items()}
    write_file(file, COLUMNS, [half, rest])
    by_polars, by_arrow = pl.read_parquet(file), pq.read_table(file)
    for column in COLUMNS:
        np.testing.assert_array_equal(by_polars[column.name].to_numpy(), expected[column.name])
        np.testing.assert_array_equal(by_arrow[column.name].to_numpy(), expected[column.name])
        assert by_arrow[column.name].to_numpy().dtype == np.dtype(column.dtype)


def test_a_file_is_written_over(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    write_file(file, COLUMNS, [rows(MIB_OF_ROWS)])
    write_file(file, COLUMNS, [rows(3)])
    alone = tmp_path / "alone.parquet"
    write_file(alone, COLUMNS, [rows(3)])
    assert file.read_bytes() == alone.read_bytes()


@on_linux
@pytest.mark.parametrize(
    ("n", "limit"), [(MIB_OF_ROWS // 2, 1 << 18), (MIB_OF_ROWS, 5 << 18), (9 * MIB_OF_ROWS, 1 << 22)]
)
def test_a_file_that_cannot_grow(tmp_path: Path, n: int, limit: int) -> None:
    """Be it that a first piece is refused, a later one, or what is left at the end."""
    before, values = open_files(), rows(n)
    with largest_file(limit), pytest.raises(OSError, match="File too large"):
        write_file(tmp_path / "rows.parquet", COLUMNS, [values])
    assert open_files() == before


@on_linux
@pytest.mark.parametrize("n", [1, 9 * MIB_OF_ROWS])
def test_a_full_disk(n: int) -> None:
    before = open_files()
    with pytest.raises(OSError, match="No space left on device"):
        write_file(Path("/dev/full"), COLUMNS, [rows(n)])
    assert open_files() == before


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_file(tmp_path / "none" / "rows.parquet", COLUMNS, [rows(1)])


@on_linux
def test_rows_that_fail(tmp_path: Path) -> None:
    def blocks() -> Iterator[dict[str, np.ndarray]]:
        yield rows(9 * MIB_OF_ROWS)
        raise ArithmeticError("no more rows")

    before = open_files()
    with pytest.raises(ArithmeticError, match="no more rows"):
        write_file(tmp_path / "rows.parquet", COLUMNS, blocks())
    assert open_files() == before
