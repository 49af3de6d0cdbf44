"""Parquet files as records, so that what reads a CSV reads them too."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

from townsquare import files
from townsquare.errors import DataError
from townsquare.files import MAX_BYTES, MAX_ROWS, Record, Records


def read_parquet(path: Path) -> Records:
    """All rows of a Parquet file; columns as in :func:`townsquare.files.read_csv`.

    Structs are spread out (``stance`` with the field ``tax`` is the column ``stance:tax``), times become texts in
    ISO 8601, decimals become floats. Nulls are empty cells.

    Raises
    ------
    DataError
        Not there, no Parquet, over 512 MiB or 2,000,000 rows, two columns of one name.
    """
    import polars as pl  # a tenth of a second: only who gives such a file waits for it

    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise DataError(str(path), got=f"{size:,} bytes", allowed=f"at most {MAX_BYTES:,} bytes")
        rows = pl.scan_parquet(path).select(pl.len()).collect().item()
        if rows > MAX_ROWS:
            raise DataError(str(path), got=f"{rows:,} rows", allowed=f"at most {MAX_ROWS:,} rows")
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        said = " ".join(str(error).split())[:200]
        raise DataError(str(path), got=f"no Parquet that can be read ({said})", allowed="a Parquet file") from None
    records = []
    for number, row in enumerate(frame.iter_rows(named=True), 1):
        place = f"{path}, row {number}"
        cells = files.spread(place, {name: _plain(cell) for name, cell in row.items()})
        records.append(Record(place, cells))
    columns = files.columns_of(records) if records else tuple(files.column_name(name) for name in frame.columns)
    return Records(str(path), columns, records)


def _plain(cell: object) -> object:
    """A cell as CSV and JSON would have it."""
    if isinstance(cell, dict):
        return {name: _plain(inner) for name, inner in cell.items()}
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    return float(cell) if isinstance(cell, Decimal) else cell
