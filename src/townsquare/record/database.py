"""The SQLite file of a run: its tables, how columns become rows and rows columns, and what its errors mean.

``ts_<name>`` are the tables of ``schema``. Two more are the recorder's own: ``ts_run`` (key, value) says what run this
is, and ``ts_batches`` (step, name, rows) how many rows each committed step added to each table, in SQLite or in
Parquet. Rows are only ever appended, so in SQLite those of a step are a range of ``rowid``: that finds them without an
index on the step, for tables without a column ``step`` too.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from townsquare import schema
from townsquare.errors import RecordError
from townsquare.record.appendix_d import VIEWS, tables_of
from townsquare.record.contract import canonical_json
from townsquare.record.frames import dtype_of, frame_schema

FILE = "run.db"
INDEXES: dict[str, tuple[tuple[str, ...], ...]] = {
    "exposures": (("agent", "step"), ("root",)),
    "actions": (("agent", "step"),),
    "beliefs": (("agent", "step"),),
    "trail": (("agent", "step"),),
    "posts": (("root",),),
    "traits": (("agent",),),
}
DAMAGED = "the file is damaged or was copied while it was written: copy the whole folder again, or run it anew"
_IN_PARQUET = 'SELECT * FROM "this view needs tables that are in Parquet: ask through Run.sql"'
_BUSY_SECONDS = 30.0
_WRITE_ROWS = 100_000  # rows that stand as Python objects at a time
_VALUES = 8_000
"""In one statement: after each, Python gives other threads a turn, and waits for its own while they are busy."""
_READ_ROWS = 50_000


def connect(path: Path, *, writing: bool = False) -> sqlite3.Connection:
    """A connection in autocommit mode; unless ``writing``, one that cannot change the file.

    WAL lets others read while a run is written. ``synchronous=NORMAL`` writes the log without waiting for the disk: a
    killed process loses nothing, since the log is with the operating system by then, and a power cut can take the last
    steps but never half a step. Lost steps are executed anew when the run is resumed.
    """
    uri = path.resolve().as_uri() + ("" if writing else "?mode=ro")
    # Large runs are written by another thread than the one that opens them: one at a time.
    connection = sqlite3.connect(
        uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=not writing
    )
    try:
        if writing:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
        else:
            connection.execute("PRAGMA query_only=ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextmanager
def explained(path: Path, do: str) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into ``RecordError``, naming the file."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith("SQLITE_NOTADB"):
            raise RecordError(str(path), got="a file that is no SQLite database", do=do) from error
        raise RecordError(str(path), got=str(error), do=do) from error
    except UnicodeDecodeError as error:
        raise RecordError(str(path), got="text that is not UTF-8", do=do) from error
    except OSError as error:
        raise RecordError(error.filename or str(path), got=error.strerror or str(error), do=do) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All statements inside, or none of them."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield


@lru_cache
def fingerprint(table: schema.Table) -> str:
    """What of a table decides how it is stored, read and hashed, as 16 hexadecimal digits.

    A table can be read while this agrees, whatever the version of Townsquare. Meanings, units and further code words
    may come; a code word that changed its number would be a fault that this cannot see.
    """
    columns = [[column.name, column.dtype, column.hashed] for column in table.recorded]
    return hashlib.sha256(canonical_json([table.name, table.bulky, columns]).encode()).hexdigest()[:16]


def fingerprints() -> str:
    """The fingerprint of every table by name, as JSON."""
    return canonical_json({name: fingerprint(table) for name, table in schema.TABLES.items()})


def create(connection: sqlite3.Connection, info: Mapping[str, str]) -> None:
    """Make all tables, the views of appendix D and the row of each key of ``info``, in one transaction."""
    with transaction(connection):
        create_tables(connection, schema.TABLES, in_parquet=info.get("bulky") == "true")
        connection.execute("CREATE TABLE ts_run (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        connection.executemany("INSERT INTO ts_run VALUES (?, ?)", info.items())


def create_tables(connection: sqlite3.Connection, names: Iterable[str], *, in_parquet: bool = False) -> None:
    """Make these tables, ``ts_batches``, and the views of appendix D that they answer; the caller holds a transaction.

    ``in_parquet`` says that rows of bulky tables will be elsewhere. Views that need them then end in an error that says
    so, since over tables that are empty here they would answer, and wrongly: SQLite checks a view when it is read.
    """
    known = [schema.TABLES[name] for name in names]
    for table in known:
        key = ", UNIQUE (step)" if table.name == "steps" else ""
        columns = ", ".join(f'"{column.name}" {_declared(column)}' for column in table.recorded)
        connection.execute(f'CREATE TABLE "ts_{table.name}" ({columns}{key})')
    connection.execute(
        "CREATE TABLE ts_batches (step INTEGER NOT NULL, name TEXT NOT NULL, rows INTEGER NOT NULL,"
        " PRIMARY KEY (name, step)) WITHOUT ROWID"
    )
    there = {table.name for table in known}
    elsewhere = {table.name for table in known if table.bulky and in_parquet}
    for view, query in VIEWS.items():
        if tables_of(view) <= there:
            connection.execute(f"CREATE VIEW {view} AS {_IN_PARQUET if tables_of(view) & elsewhere else query}")


def create_indexes(connection: sqlite3.Connection, names: Iterable[str] = INDEXES) -> None:
    """Make the indexes that queries by agent or post want; after the run, since they would slow each step."""
    for table in names:
        for columns in INDEXES.get(table, ()):
            name = f"ts_{table}_by_{'_'.join(columns)}"
            connection.execute(f'CREATE INDEX IF NOT EXISTS "{name}" ON "ts_{table}" ({", ".join(columns)})')


def fold_log(connection: sqlite3.Connection) -> None:
    """Bring the write-ahead log into the file, so that a copy of the file alone is whole."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("PRAGMA busy_timeout=1000")
    with suppress(sqlite3.OperationalError):  # someone is reading: the log stays, empty, until the last one leaves
        connection.execute("PRAGMA journal_mode=DELETE")


def insert(connection: sqlite3.Connection, table: str, columns: schema.Columns) -> None:
    """Append rows to ``ts_<table>``; the caller holds a transaction."""
    recorded = schema.TABLES[table].recorded
    marks = f"({', '.join('?' * len(recorded))})"
    values = min(_VALUES, connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER))
    together = max(1, values // len(recorded))
    n = len(columns[recorded[0].name])
    for first in range(0, n, _WRITE_ROWS):
        lists = [_to_list(columns[column.name][first : first + _WRITE_ROWS]) for column in recorded]
        flat = chain.from_iterable(zip(*lists, strict=True))
        rows, left = together, len(lists[0])
        while left:  # few different statements: each is parsed once and kept
            times, left = divmod(left, rows)
            if times:
                statement = f'INSERT INTO "ts_{table}" VALUES {", ".join([marks] * rows)}'
                connection.executemany(statement, _in_pieces(flat, rows * len(recorded), times))
            rows = max(1, rows // 8)


def select(
    connection: sqlite3.Connection, table: str, columns: Sequence[schema.Column], first: int, n: int
) -> pl.DataFrame:
    """``n`` rows of ``ts_<table>`` after the first ``first`` ones, in order of addition, with the schema's dtypes."""
    names = ", ".join(f'"{column.name}"' for column in columns)
    cursor = connection.execute(
        f'SELECT {names} FROM "ts_{table}" WHERE rowid > ? AND rowid <= ? ORDER BY rowid', (first, first + n)
    )
    try:
        frames = [
            pl.DataFrame(list(map(_to_series, columns, zip(*rows, strict=True))))
            for rows in iter(lambda: cursor.fetchmany(_READ_ROWS), [])
        ]
    except (TypeError, ValueError, OverflowError) as error:
        where = f"{_file(connection)}, ts_{table}"
        raise RecordError(where, got="a value of another type than its column has", do=DAMAGED) from error
    return pl.concat(frames, rechunk=True) if frames else pl.DataFrame(schema=frame_schema(columns))


def read_info(connection: sqlite3.Connection) -> dict[str, str]:
    """The keys and values of ``ts_run``; empty if the file holds no table at all.

    Raises
    ------
    RecordError
        If it is the database of something else.
    """
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and "ts_run" not in tables:
        raise RecordError(_file(connection), got="a database that holds no run", do="choose another folder")
    return dict(connection.execute("SELECT key, value FROM ts_run")) if tables else {}


def _file(connection: sqlite3.Connection) -> str:
    return str(connection.execute("PRAGMA database_list").fetchone()[2])


def _declared(column: schema.Column) -> str:
    if column.dtype.startswith("f"):
        return "REAL"  # NaN is stored as NULL
    return "TEXT NOT NULL" if column.dtype == "str" else "INTEGER NOT NULL"


def _in_pieces(values: Iterator[object], size: int, times: int) -> Iterator[tuple[object, ...]]:
    """So many next values, as often as said."""
    return (tuple(islice(values, size)) for _ in range(times))


def _to_list(values: npt.NDArray[np.generic] | list[str]) -> list[object]:
    if isinstance(values, list):
        return list(values)
    if values.dtype == np.uint64:
        values = values.view(np.int64)  # SQLite has no unsigned 64-bit number
    out: list[object] = values.tolist()
    return out


def _to_series(column: schema.Column, values: Sequence[object]) -> pl.Series:
    if column.dtype.startswith("f"):
        return pl.Series(column.name, np.array(values, dtype=column.dtype))  # None becomes NaN
    if column.dtype == "u8":
        return pl.Series(column.name, np.array(values, dtype=np.int64).view(np.uint64))
    if column.dtype == "?":
        return pl.Series(column.name, values, dtype=pl.Int64).cast(pl.Boolean)
    return pl.Series(column.name, values, dtype=dtype_of(column))
