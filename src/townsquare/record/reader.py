"""What :class:`townsquare.record.run.Run` needs of a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import polars as pl
from polars.io.plugins import register_io_source

from townsquare.core import schema
from townsquare.core.errors import RecordError, WrongVersion
from townsquare.record import database
from townsquare.record.content_hash import ColumnsOf
from townsquare.record.contract import RunHeader
from townsquare.record.frames import chosen_columns, frame_schema, from_frame

Steps = tuple[int, int]
"""First and last step, both included."""
ALL_STEPS: Steps = (-1, 2**62)
_SCAN_ROWS = 500_000  # rows of a database that stand in memory at a time while a table is scanned


class RunReader(Protocol):
    """The rows of a recorded run. Only committed steps are seen, each whole."""

    @property
    def where(self) -> str:
        """What errors call the run."""

    @property
    def header(self) -> RunHeader:
        """Version, settings and layout."""

    def state(self) -> str:
        """``"running"``, ``"finished"`` or ``"stopped"``."""

    def health(self) -> str:
        """Why the run is unhealthy; "" if it is not."""

    def run_hash(self) -> str:
        """The run hash that was recorded when the run was closed; "" if there is none."""

    def marks(self) -> pl.DataFrame:
        """The committed rows of ``steps``, by step."""

    def frame(self, table: schema.Table, columns: Sequence[schema.Column], steps: Steps | None) -> pl.DataFrame:
        """Rows that these steps added to a table, or all steps, in order; with values that stand for null as such."""

    def lazy(self, table: schema.Table, last: int | None = None) -> pl.LazyFrame:
        """All rows of a table as a lazy frame, or those that steps up to ``last`` added."""

    def counts(self) -> dict[str, int]:
        """Number of rows by name of table; tables without rows may be missing."""

    def check(self) -> None:
        """Raise ``RecordError`` if the files that hold it are damaged, wherever that is."""

    def query(self, query: str) -> pl.DataFrame:
        """Answer one SELECT."""

    def stored(self, table: schema.Table) -> str:
        """Where the rows of a table are: ``"memory"``, ``"SQLite"``, ``"Parquet"`` or ``"PostgreSQL"``."""


def rows_of_step(reader: RunReader, step: int) -> ColumnsOf:
    """The rows that one committed step added, by table, as :meth:`Batches.get` gave them."""

    def columns_of(name: str) -> schema.Columns:
        table = schema.TABLES[name]
        return from_frame(name, reader.frame(table, table.recorded, (step, step)))

    return columns_of


def check_table(reader: RunReader, fingerprints: Mapping[str, str], table: schema.Table) -> bool:
    """Whether a database has the table; one that a later version added has no rows. Refuses one that has changed."""
    recorded = fingerprints.get(table.name)
    if recorded is not None and recorded != database.fingerprint(table, reader.header.record_version):
        raise WrongVersion(
            f"{reader.where}: table {table.name}",
            got="recorded with other columns",
            do=f"read it with Townsquare {reader.header.version}, which recorded it",
        )
    return recorded is not None


def spans_of(rows: Mapping[int, int]) -> list[Steps]:
    """Consecutive steps with about :data:`_SCAN_ROWS` rows each, at least one span; from rows by step."""
    spans, first, n = [], 0, 0
    for step, count in rows.items():
        n += count
        if n >= _SCAN_ROWS:
            spans.append((first, step))
            first, n = step + 1, 0
    return [*spans, (first, max(rows, default=-1))] if n or not spans else spans


def scan_of(reader: RunReader, table: schema.Table, spans: Sequence[Steps]) -> pl.LazyFrame:
    """Rows of a database as a lazy frame that asks for one span at a time, and only for the columns it needs."""

    def scan(
        names: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        left = n_rows
        for span in spans:
            frame = reader.frame(table, chosen_columns(table, names), span)
            frame = frame if predicate is None else frame.filter(predicate)
            frame = frame if left is None else frame.head(left)
            left = None if left is None else left - frame.height
            yield frame
            if left == 0:
                return

    return register_io_source(scan, schema=frame_schema(table.recorded), is_pure=True)


def check_count(where: str, got: int, recorded: int) -> None:
    """Refuse a table that has lost or gained rows since they were recorded."""
    if got != recorded:
        raise RecordError(
            where, got=f"{got} rows", allowed=f"{recorded}, as were recorded", do="the file was changed or damaged"
        )
