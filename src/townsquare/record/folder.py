"""A recorded folder, read: while it is written, after it was killed, or finished."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import polars as pl

from townsquare.core import schema
from townsquare.core.columns import RECORD_VERSION
from townsquare.core.documents import parse_json
from townsquare.core.errors import RecordError, WrongVersion
from townsquare.core.frames import collected
from townsquare.core.identity import canonical_json
from townsquare.record import database
from townsquare.record.contract import STATES, RunHeader
from townsquare.record.frames import frame_schema, missing_values, stored_columns
from townsquare.record.lock import is_locked
from townsquare.record.mosaic.views_frames import FRAMES, typed
from townsquare.record.parquet import LOST_PART, read_parts
from townsquare.record.query import (
    checked_query,
    named_tables,
    query_database,
    query_frames,
    sql_frame,
    with_later_columns,
)
from townsquare.record.reader import ALL_STEPS, Steps, check_count, check_table, scan_of, spans_of


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
            raise RecordError(str(folder), got=missing, do=f"name the folder of a recorded run{_such_as(folder)}")
        with self._connection() as connection:
            info = database.read_info(connection)
        if not info:
            raise RecordError(
                str(self._path),
                got=f"a run that ended before its first step, or a copy without {database.FILE}-wal",
                do=f"run it again, into the same folder; if it was killed and copied, copy {database.FILE}-wal with it",
            )
        self._header = header_from(info, str(self._path))
        self._fingerprints: dict[str, str] = json.loads(info["schema"])

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

    def health(self) -> str:
        """Why the run is unhealthy, as it was marked when it ended; "" if it is not."""
        with self._connection() as connection:
            return database.read_info(connection).get("health", "")

    def run_hash(self) -> str:
        """As recorded when it was closed; "" while it is written, and of version 1 of the record."""
        with self._connection() as connection:
            return database.read_info(connection).get("run_hash", "")

    def marks(self) -> pl.DataFrame:
        """The rows of ``steps``."""
        table = schema.TABLES["steps"]
        return self.frame(table, table.recorded, None)

    def frame(self, table: schema.Table, columns: Sequence[schema.Column], steps: Steps | None) -> pl.DataFrame:
        """Rows that these steps added, or all steps."""
        if not self._knows(table):
            return pl.DataFrame(schema=frame_schema(columns))
        with self._connection() as connection, _snapshot(connection):
            before, n = _extent(connection, table.name, steps)
            if not self._in_parquet(table):
                stored = stored_columns(table, columns, self._header.record_version)
                frame = database.select(connection, table.name, stored, before, n)
                check_count(f"{self._path}, ts_{table.name}", frame.height, n)
                return frame.with_columns(missing_values(columns, frame.columns)).select(list(frame_schema(columns)))
            parts = list(_rows_by_step(connection, table.name, steps))
        try:
            frame = read_parts(self.folder, table.name, parts, columns).pipe(collected)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            place = f"{self.folder}, parts of {table.name}"
            raise RecordError(place, got=str(error).splitlines()[0], do=LOST_PART) from error
        check_count(f"{self.folder}, parts of {table.name}", frame.height, n)
        return frame

    def lazy(self, table: schema.Table, last: int | None = None) -> pl.LazyFrame:
        """All rows that are committed now, as a scan that reads only those columns that a query needs."""
        steps = None if last is None else (0, last)
        with self._connection() as connection:
            parts = _rows_by_step(connection, table.name, steps)
        if self._knows(table) and self._in_parquet(table):
            return read_parts(self.folder, table.name, list(parts), table.recorded)
        return scan_of(self, table, spans_of(parts))

    def counts(self) -> dict[str, int]:
        """Rows by table that has some."""
        with self._connection() as connection:
            return dict(connection.execute("SELECT name, sum(rows) FROM ts_batches GROUP BY name").fetchall())

    def check(self) -> None:
        """Refuse a database file that is not whole, so far as that does not show in the rows of the tables."""
        with self._connection() as connection:
            (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if said != "ok":
            raise RecordError(str(self._path), got=said.splitlines()[-1], do=database.DAMAGED)

    def query(self, query: str) -> pl.DataFrame:
        """Answer one SELECT: by SQLite, or by Polars if it needs a table that is in Parquet."""
        checked = checked_query(query)
        if any(self._in_parquet(schema.TABLES[name]) for name in named_tables(checked)):
            return query_frames(checked, self.lazy, self._view)
        with self._connection() as connection:
            return query_database(connection, with_later_columns(checked, self._header.record_version, "main"))

    def stored(self, table: schema.Table) -> str:
        """Where the rows of a table are."""
        return "Parquet" if self._in_parquet(table) else "SQLite"

    def _view(self, name: str) -> pl.LazyFrame:
        """A view of appendix D of a run with Parquet parts."""
        if name in FRAMES:
            return FRAMES[name](lambda table: sql_frame(schema.TABLES[table], self.lazy))
        with self._connection() as connection:
            return typed(name, query_database(connection, f"SELECT * FROM {name}")).lazy()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with (
            database.explained(self._path, database.DAMAGED),
            closing(database.connect(self._path)) as connection,
        ):
            yield connection

    def _in_parquet(self, table: schema.Table) -> bool:
        return self._header.bulky and table.bulky

    def _knows(self, table: schema.Table) -> bool:
        return check_table(self, self._fingerprints, table)


def header_from(info: Mapping[str, str], where: str) -> RunHeader:
    """The header that :func:`info_of` wrote. ``RecordError`` if a key is not there, or not as it was written."""
    try:
        texts = [info[key] for key in ("settings", "environment", "schema")]
        settings, environment, tables = (parse_json(text, f"{where}, ts_run", RecordError) for text in texts)
        if not all(isinstance(value, dict) for value in (settings, environment, tables)):
            raise ValueError("a value that is no object")
        if info["state"] not in STATES:
            raise ValueError(f"state {info['state']!r}")
        canonical_json(settings)  # NaN is no JSON
        bulky, version = info["bulky"] == "true", database.version_of(info)
    except (KeyError, ValueError, RecordError) as error:
        got = f"no {error.args[0]}" if isinstance(error, KeyError) else getattr(error, "got", str(error))
        raise RecordError(f"{where}, ts_run", got=got, do=database.DAMAGED) from error
    if not 1 <= version <= RECORD_VERSION:
        got, do = f"version {version} of the record", f"read it with Townsquare {info['version']} or later"
        raise WrongVersion(where, got=got, allowed=f"versions 1 to {RECORD_VERSION}", do=do)
    return RunHeader(info["version"], settings, info["settings_hash"], bulky, environment, version)


def info_of(header: RunHeader) -> dict[str, str]:
    """A header as rows of ``ts_run``."""
    return {
        "version": header.version,
        "settings": canonical_json(dict(header.settings)),
        "settings_hash": header.settings_hash,
        "bulky": "true" if header.bulky else "false",
        "environment": canonical_json(dict(header.environment)),
        "record_version": str(header.record_version),
    }


@contextmanager
def _snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """All reads inside see the same commits."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _extent(connection: sqlite3.Connection, table: str, steps: Steps | None) -> tuple[int, int]:
    """How many rows a table had before these steps, and how many they added."""
    first, last = steps or ALL_STEPS
    query = (
        "SELECT coalesce(sum(CASE WHEN step < ? THEN rows END), 0), coalesce(sum(CASE WHEN step >= ? THEN rows END), 0)"
        " FROM ts_batches WHERE name = ? AND step <= ?"
    )
    before, n = connection.execute(query, (first, first, table, last)).fetchone()
    return int(before), int(n)


def _rows_by_step(connection: sqlite3.Connection, table: str, steps: Steps | None) -> dict[int, int]:
    """How many rows each step added to a table, for steps that added some."""
    query = "SELECT step, rows FROM ts_batches WHERE name = ? AND step BETWEEN ? AND ? ORDER BY step"
    return dict(connection.execute(query, (table, *(steps or ALL_STEPS))).fetchall())


def _such_as(folder: Path) -> str:
    """A run below a folder: comparisons have theirs two folders down, ``runs`` has them one down."""
    below = min((*folder.glob(f"*/{database.FILE}"), *folder.glob(f"*/*/{database.FILE}")), default=None)
    return f", such as {below.parent}" if below is not None else ""
