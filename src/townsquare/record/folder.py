"""A recorded folder, read: while it is written, after it was killed, or finished."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import polars as pl

from townsquare import schema
from townsquare.errors import RecordError, WrongVersion
from townsquare.record import database
from townsquare.record.contract import RunHeader, canonical_json
from townsquare.record.frames import frame_schema
from townsquare.record.lock import is_locked
from townsquare.record.parquet import LOST_PART, read_parts
from townsquare.record.query import checked_query, query_database, query_frames
from townsquare.record.reader import Steps, check_count


class FolderReader:
    """Reads one folder. Opens the database anew for each question, so that it sees what was committed meanwhile.

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
            raise RecordError(str(folder), got=missing, do="name the folder of a recorded run")
        with self._connection() as connection:
            info = database.read_info(connection)
        if not info:
            raise RecordError(
                str(self._path), got="a run that ended before its first step", do="run it again, into the same folder"
            )
        try:
            self._header = header_from(info)
            self._fingerprints: dict[str, str] = json.loads(info["schema"])
        except (KeyError, ValueError) as error:
            raise RecordError(f"{self._path}, ts_run", got=str(error), do=database.DAMAGED) from error

    @property
    def where(self) -> str:
        """The folder."""
        return str(self.folder)

    @property
    def header(self) -> RunHeader:
        """As recorded."""
        return self._header

    def state(self) -> str:
        """As recorded; a run that nobody writes any more is ``"stopped"``, whatever it was when it was killed."""
        with self._connection() as connection:
            state = database.read_info(connection)["state"]
        return "stopped" if state == "running" and not is_locked(self.folder) else state

    def marks(self) -> pl.DataFrame:
        """The rows of ``steps``."""
        table = schema.TABLES["steps"]
        return self.frame(table, table.recorded, None)

    def frame(self, table: schema.Table, columns: Sequence[schema.Column], steps: Steps | None) -> pl.DataFrame:
        """Rows that these steps added, or all steps."""
        if not self._knows(table):
            return pl.DataFrame(schema=frame_schema(columns))
        with self._connection() as connection, _snapshot(connection):
            counts = self._counts(connection, table)
            wanted = _within(counts, steps)
            n = sum(wanted.values())
            if not self._in_parquet(table):
                before = sum(rows for step, rows in counts.items() if wanted and step < min(wanted))
                frame = database.select(connection, table.name, columns, before, n)
                check_count(f"{self._path}, ts_{table.name}", frame.height, n)
                return frame
        try:
            frame = read_parts(self.folder, table.name, list(wanted), columns).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            place = f"{self.folder}, parts of {table.name}"
            raise RecordError(place, got=str(error).splitlines()[0], do=LOST_PART) from error
        check_count(f"{self.folder}, parts of {table.name}", frame.height, n)
        return frame

    def lazy(self, table: schema.Table) -> pl.LazyFrame:
        """All rows: a scan of the parts, so that a query reads only what it needs; else a frame in memory."""
        if not self._knows(table) or not self._in_parquet(table):
            return self.frame(table, table.recorded, None).lazy()
        with self._connection() as connection:
            counts = self._counts(connection, table)
        return read_parts(self.folder, table.name, list(counts), table.recorded)

    def query(self, query: str) -> pl.DataFrame:
        """Answer one SELECT: by SQLite, or by Polars if some tables are in Parquet."""
        checked = checked_query(query)
        if self._header.bulky:
            return query_frames(checked, self.lazy)
        with self._connection() as connection:
            return query_database(connection, checked)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with (
            database.explained(self._path, database.DAMAGED),
            closing(database.connect(self._path)) as connection,
        ):
            yield connection

    def _in_parquet(self, table: schema.Table) -> bool:
        return self._header.bulky and table.bulky

    def _counts(self, connection: sqlite3.Connection, table: schema.Table) -> dict[int, int]:
        if table.name == "steps":
            return {step: 1 for (step,) in connection.execute("SELECT step FROM ts_steps ORDER BY step")}
        query = "SELECT step, rows FROM ts_batches WHERE name = ? ORDER BY step"
        return dict(connection.execute(query, (table.name,)).fetchall())

    def _knows(self, table: schema.Table) -> bool:
        """Whether the run has the table; one that a later version added has no rows. Refuses one that has changed."""
        recorded = self._fingerprints.get(table.name)
        if recorded is not None and recorded != database.fingerprint(table):
            raise WrongVersion(
                f"{self.folder}: table {table.name}",
                got="recorded with other columns",
                do=f"read it with Townsquare {self._header.version}, which recorded it",
            )
        return recorded is not None


def header_from(info: Mapping[str, str]) -> RunHeader:
    """The header that :func:`info_of` wrote."""
    return RunHeader(
        version=info["version"],
        settings=json.loads(info["settings"]),
        settings_hash=info["settings_hash"],
        bulky=info["bulky"] == "true",
        environment=json.loads(info["environment"]),
    )


def info_of(header: RunHeader) -> dict[str, str]:
    """A header as rows of ``ts_run``."""
    return {
        "version": header.version,
        "settings": canonical_json(dict(header.settings)),
        "settings_hash": header.settings_hash,
        "bulky": "true" if header.bulky else "false",
        "environment": canonical_json(dict(header.environment)),
    }


@contextmanager
def _snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """All reads inside see the same commits."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _within(counts: Mapping[int, int], steps: Steps | None) -> dict[int, int]:
    return {step: rows for step, rows in counts.items() if steps is None or steps[0] <= step <= steps[1]}
