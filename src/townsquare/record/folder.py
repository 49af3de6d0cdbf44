"""A recorded folder, read: while it is written, after it was killed, or finished."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import polars as pl

from townsquare.core import schema
from townsquare.core.errors import RecordError
from townsquare.core.frames import collected
from townsquare.record import database, packed
from townsquare.record.frames import frame_schema
from townsquare.record.lock import is_locked
from townsquare.record.parquet import LOST_PART, read_parts
from townsquare.record.query import (
    checked_query,
    named_tables,
    query_copy,
    query_database,
    query_frames,
    with_later_columns,
)
from townsquare.record.reader import EVERY_ROW, DatabaseReader, Steps, Wanted, check_count


class FolderReader(DatabaseReader):
    """Reads one folder. Opens the database again for each question, so that it sees what was committed meanwhile.

    Raises
    ------
    RecordError
        If the folder holds no run, or a run that cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / database.FILE
        if not self._path.is_file():
            missing = "no such folder" if not folder.is_dir() else f"a folder without {database.FILE}"
            raise RecordError(str(folder), got=missing, do=f"name the folder of a recorded run{_such_as(folder)}")
        with self._connection() as connection:
            info = self._info(connection)
        if not info:
            got = f"a run that stopped before its first step, or a copy without {database.FILE}-wal"
            do = f"repeat the run into the same folder; if the folder is a copy, also {database.FILE}-wal"
            raise RecordError(str(self._path), got=got, do=do)
        super().__init__(str(folder), str(self._path), info)
        self._elsewhere = database.elsewhere(info)

    def frame(
        self,
        table: schema.Table,
        columns: Sequence[schema.Column],
        steps: Steps | None = None,
        wanted: Wanted = EVERY_ROW,
    ) -> pl.DataFrame:
        """Return the rows that these steps added, or all steps."""
        stored = self.stored(table)
        if stored == database.SQLITE or not self._knows(table):
            return super().frame(table, columns, steps, wanted)
        where = f"{self.folder}, {'packed rows' if stored == database.PACKED else 'parts'} of {table.name}"
        tests = [pl.col(column).is_in(list(some)) for column, some in wanted.items()]
        try:
            with self._connection() as connection:
                parts = self._rows_by_step(connection, table, steps)
                rows = self._scan(connection, table, table.recorded if wanted else columns, list(parts))
            frame = rows.filter(*tests).select(list(frame_schema(columns))).pipe(collected)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise RecordError(where, got=str(error).splitlines()[0], do=LOST_PART) from error
        if dict(frame.schema) != frame_schema(columns) or any(frame.null_count().row(0)):
            raise RecordError(where, got="a value whose type does not match its column", do=LOST_PART)
        if not wanted:
            check_count(where, frame.height, sum(parts.values()))
        return frame

    def lazy(self, table: schema.Table, last: int | None = None) -> pl.LazyFrame:
        """Scan all rows committed so far; a query reads only the columns that it needs."""
        if self.stored(table) != database.PARQUET or not self._knows(table):
            return super().lazy(table, last)
        with self._connection() as connection:
            parts = self._rows_by_step(connection, table, None if last is None else (0, last))
            return self._scan(connection, table, table.recorded, list(parts))

    def check(self) -> None:
        """Refuse a database file that is not whole, so far as that does not show in the rows of the tables."""
        with self._connection() as connection:
            (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if answer != "ok":
            raise RecordError(str(self._path), got=answer.splitlines()[-1], do=database.DAMAGED)

    def query(self, query: str) -> pl.DataFrame:
        """Answer one SELECT: by SQLite, which gets a copy of packed tables, or by Polars if one is in Parquet."""
        checked = checked_query(query)
        stored = {self.stored(schema.TABLES[name]) for name in named_tables(checked)}
        if database.PARQUET in stored:
            return query_frames(checked, self.lazy)
        with self._connection() as connection:
            if database.PACKED in stored:
                (last,) = connection.execute("SELECT coalesce(max(step), -1) FROM ts_steps").fetchone()
                return query_copy(checked, partial(self.lazy, last=int(last)), self._path)
            full = with_later_columns(checked, self.header.record_version, self._fingerprints, "main")
            return query_database(connection, full)

    def stored(self, table: schema.Table) -> str:
        """Return where the rows of a table are."""
        return self._elsewhere.get(table.name, database.SQLITE)

    def _scan(
        self, connection: sqlite3.Connection, table: schema.Table, columns: Sequence[schema.Column], steps: list[int]
    ) -> pl.LazyFrame:
        if self.stored(table) == database.PACKED:
            return packed.read(connection, table.name, columns, steps).lazy()
        return read_parts(self.folder, table.name, steps, columns)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with database.explained(self._path, database.DAMAGED), closing(database.connect(self._path)) as connection:
            yield connection

    def _info(self, connection: sqlite3.Connection) -> dict[str, str]:
        return database.read_info(connection)

    def _is_written(self, _connection: sqlite3.Connection) -> bool:
        return is_locked(self.folder)

    def _select(
        self, connection: sqlite3.Connection, table: str, columns: Sequence[schema.Column], condition: str
    ) -> pl.DataFrame:
        return database.select(connection, table, columns, condition)


def _such_as(folder: Path) -> str:
    """Name a run below a folder: comparisons hold runs two folders down, ``runs`` one folder down."""
    below = min((*folder.glob(f"*/{database.FILE}"), *folder.glob(f"*/*/{database.FILE}")), default=None)
    return f", such as {below.parent}" if below is not None else ""
