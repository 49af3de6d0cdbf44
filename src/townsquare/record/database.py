"""The SQLite file of a run: its tables, how columns become rows and rows columns, and what its errors mean.

``ts_<name>`` are the tables of ``schema``. Three more are the recorder's own: ``ts_run`` (key, value) says what run
this is, ``ts_batches`` (step, name, rows) how many rows each committed step added to each table, wherever they are, and
``ts_packed`` holds the rows of the largest tables, unless these are in Parquet or of an earlier version. Rows are only
ever appended, so those of a step are a range of ``rowid``: that finds them without an index on the step, for
tables without a column ``step`` too.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from townsquare.core import schema
from townsquare.core.errors import RecordError, WrongVersion
from townsquare.core.identity import canonical_json, run_hash
from townsquare.core.private_files import make_file
from townsquare.record import packed
from townsquare.record.content_hash import HashChain
from townsquare.record.frames import dtype_of, sql_values
from townsquare.record.mosaic.views import VIEWS, tables_of

FILE = "run.db"
INDEXES: dict[str, tuple[tuple[str, ...], ...]] = {
    "exposures": (("agent", "step"), ("root",)),
    "actions": (("agent", "step"),),
    "beliefs": (("agent", "step"),),
    "trail": (("agent", "step"),),
    "posts": (("root",),),
    "traits": (("agent",),),
}
DAMAGED = "the file is damaged, or was copied during a write: copy the whole folder again, or repeat the run"
SQLITE, PACKED, PARQUET = "SQLite", "packed", "Parquet"
_ELSEWHERE = 'SELECT * FROM "this view needs packed or Parquet tables: use Run.sql, or townsquare export --to sqlite"'
_BUSY_SECONDS = 30.0
_WRITE_ROWS = 100_000  # rows that stand as Python objects at a time
_VALUES = 8_000
"""In one statement: after each, Python gives other threads a turn, and waits for its own while they are busy."""


def connect(path: Path, *, writing: bool = False) -> sqlite3.Connection:
    """Open a connection in autocommit mode; unless ``writing``, it cannot change the file.

    WAL lets others read while a run is written. ``synchronous=NORMAL`` writes the log without waiting for the disk: a
    killed process loses nothing, since the log is with the operating system by then, and a power cut can take the last
    steps but never half a step. Lost steps are executed again when the run is resumed.
    """
    if writing:
        make_file(path)  # the log and the journal get the mode of the database
    # What a process was killed over is rolled back by the next connection that may write, and cannot be read before.
    killed = not writing and journal_path(path).exists()
    uri = path.resolve().as_uri() + ("" if writing else "?mode=rw" if killed else "?mode=ro")
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
            raise RecordError(str(path), got="not an SQLite database", do=do) from error
        raise RecordError(str(path), got=str(error), do=do) from error
    except UnicodeDecodeError as error:
        raise RecordError(str(path), got="text that is not UTF-8", do=do) from error
    except OSError as error:
        raise RecordError(error.filename or str(path), got=error.strerror or str(error), do=do) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Execute all statements inside, or none of them."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield


@lru_cache
def fingerprint(table: schema.Table, version: int = schema.RECORD_VERSION) -> str:
    """Return 16 hexadecimal digits for all that decides how a version stores, reads and hashes a table.

    A table can be read while this agrees, whatever the version of Townsquare. Meanings, units and further code words
    may come; a code word that changed its number would be a fault that this cannot see.
    """
    columns = [[column.name, column.dtype, column.hashed] for column in table.recorded_in(version)]
    return hashlib.sha256(canonical_json([table.name, table.bulky, columns]).encode()).hexdigest()[:16]


def fingerprints() -> str:
    """Return the fingerprint of every table by name, as JSON."""
    return canonical_json({name: fingerprint(table) for name, table in schema.TABLES.items()})


def added_since(info: Mapping[str, str], where: str) -> tuple[list[schema.Table], dict[str, list[schema.Column]]]:
    """Return the tables, and the columns by table, that were added to the schema after a run began.

    Raises
    ------
    WrongVersion
        A table has changed otherwise: its rows cannot be compared with what is executed now.
    """
    recorded, version = json.loads(info["schema"]), version_of(info)
    same = {name: fingerprint(table, version) for name, table in schema.TABLES.items() if name in recorded}
    if same != recorded:
        raise WrongVersion(f"{where}: tables", got="other tables or columns than recorded", do="repeat the run")
    later = {name: [c for c in schema.TABLES[name].recorded if c.since > version] for name in recorded}
    tables = [table for name, table in schema.TABLES.items() if name not in recorded]
    return tables, {name: columns for name, columns in later.items() if columns}


def version_of(info: Mapping[str, str]) -> int:
    """Return the version of the record that a run has all columns of; version 1 did not state it."""
    return int(info.get("record_version", "1"))


def elsewhere(info: Mapping[str, str]) -> dict[str, str]:
    """Return the tables whose rows are not in a table of their own, and where these are.

    A run names its packed tables itself, so that it stays readable when later versions pack others.

    >>> elsewhere({"packed": "beliefs,trail"})
    {'beliefs': 'packed', 'trail': 'packed'}
    """
    if info.get("bulky") == "true":
        return {name: PARQUET for name, table in schema.TABLES.items() if table.bulky}
    return dict.fromkeys((name for name in info.get("packed", "").split(",") if name in schema.TABLES), PACKED)


def bring_up(connection: sqlite3.Connection, info: Mapping[str, str], where: str) -> None:
    """Give a run that goes on today's views, and the tables and columns added since; raises as :func:`added_since`."""
    with transaction(connection):
        set_info(connection, add_later(connection, info, where, _create_table, _declared, elsewhere(info)))
        for view in VIEWS:
            connection.execute(f"DROP VIEW IF EXISTS {view}")
        _create_views(connection, schema.TABLES, elsewhere(info))


def add_later(
    connection: Any,
    info: Mapping[str, str],
    where: str,
    create_table: Callable[[Any, schema.Table], None],
    declared: Callable[[schema.Column], str],
    skipped: Collection[str] = (),
) -> dict[str, str]:
    """Make the tables and columns that were added since a run began; returns what ``ts_run`` holds from now on."""
    tables, columns = added_since(info, where)
    for table in tables:
        if table.name not in skipped:
            create_table(connection, table)
    for name, later in columns.items():
        for column in later if name not in skipped else ():
            connection.execute(f'ALTER TABLE "ts_{name}" ADD COLUMN "{column.name}" {declared(column)}')
    return {"schema": fingerprints(), "record_version": str(schema.RECORD_VERSION), "state": "running", "run_hash": ""}


def set_info(connection: sqlite3.Connection, info: Mapping[str, str]) -> None:
    """Write keys and values into ``ts_run``."""
    connection.executemany("INSERT OR REPLACE INTO ts_run VALUES (?, ?)", info.items())


def hash_of_run(connection: Any) -> str:
    """Return the run hash of the settings and of the steps recorded so far."""
    row = connection.execute("SELECT hash FROM ts_steps ORDER BY step DESC LIMIT 1").fetchone()
    (settings_hash,) = connection.execute("SELECT value FROM ts_run WHERE key = 'settings_hash'").fetchone()
    return run_hash(settings_hash, str(row[0]) if row else HashChain().value)


def create(connection: sqlite3.Connection, info: Mapping[str, str]) -> None:
    """Make all tables, the views of appendix D and the row of each key of ``info``, in one transaction."""
    with transaction(connection):
        create_tables(connection, schema.TABLES, elsewhere(info))
        if PACKED in elsewhere(info).values():
            connection.execute(packed.CREATE)
        connection.execute("CREATE TABLE ts_run (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        connection.executemany("INSERT INTO ts_run VALUES (?, ?)", info.items())


def create_tables(connection: sqlite3.Connection, names: Iterable[str], skipped: Collection[str] = ()) -> None:
    """Make these tables, ``ts_batches``, and the views of appendix D that they answer; the caller holds a transaction.

    Tables that are ``skipped``, since their rows are elsewhere, are not made. Views that need them end in an error that
    says what to do: SQLite checks a view when it is read.
    """
    names = list(names)
    for name in names:
        if name not in skipped:
            _create_table(connection, schema.TABLES[name])
    connection.execute(
        "CREATE TABLE ts_batches (step INTEGER NOT NULL, name TEXT NOT NULL, rows INTEGER NOT NULL,"
        " PRIMARY KEY (name, step)) WITHOUT ROWID"
    )
    _create_views(connection, names, skipped)


def _create_views(connection: sqlite3.Connection, names: Iterable[str], skipped: Collection[str]) -> None:
    """Make the views of appendix D that these tables answer."""
    there = set(names)
    for view, query in VIEWS.items():
        if tables_of(view) <= there:
            answers = tables_of(view).isdisjoint(skipped)
            connection.execute(f"CREATE VIEW {view} AS {query if answers else _ELSEWHERE}")


def _create_table(connection: sqlite3.Connection, table: schema.Table) -> None:
    key = ", UNIQUE (step)" if table.name == "steps" else ""
    columns = ", ".join(f'"{column.name}" {_declared(column)}' for column in table.recorded)
    connection.execute(f'CREATE TABLE "ts_{table.name}" ({columns}{key})')


def create_indexes(connection: Any, names: Iterable[str] = INDEXES) -> None:
    """Make the indexes that queries by agent or post want; after all rows, since they would slow each step."""
    for table in names:
        for columns in INDEXES.get(table, ()):
            listed, name = ", ".join(f'"{column}"' for column in columns), f"ts_{table}_by_{'_'.join(columns)}"
            connection.execute(f'CREATE INDEX IF NOT EXISTS "{name}" ON "ts_{table}" ({listed})')


def complete(connection: sqlite3.Connection, info: Mapping[str, str]) -> None:
    """Fold the log into the file, and only then set ``info``, so that a copy of the file is whole.

    A step that fails leaves the one before it: whoever reads the new ``info`` reads one whole file.

    Raises
    ------
    RecordError
        The run would be called finished, and another program's open transaction keeps the log from being folded.
    """
    connection.execute("PRAGMA synchronous=FULL")
    if not fold_log(connection) and info.get("state") == "finished":
        path = Path(connection.execute("PRAGMA database_list").fetchone()[2])
        do = f"end that program, then run `townsquare resume {path.parent}`: all steps are safe"
        raise RecordError(str(path), got="open in another program, so it cannot be closed", do=do)
    with transaction(connection):
        set_info(connection, info)
    fold_log(connection)


def fold_log(connection: sqlite3.Connection) -> bool:
    """Bring the write-ahead log into the file, so that a copy of the file alone is whole; return whether that was done.

    It waits half a minute for a program that reads the file in a transaction, and then gives up.
    """
    is_busy = bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
    connection.execute("PRAGMA busy_timeout=1000")
    try:
        connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        # Another program has the file open: a log stays until it ends, empty unless the checkpoint was busy.
    finally:
        connection.execute(f"PRAGMA busy_timeout={_BUSY_SECONDS * 1000:.0f}")
    return not is_busy


def is_whole(path: Path) -> bool:
    """Return whether a closed database is one complete file: no log and no journal."""
    log = path.with_name(f"{path.name}-wal")
    return not journal_path(path).exists() and not (log.exists() and log.stat().st_size)


def journal_path(path: Path) -> Path:
    """Return the path of the journal that SQLite writes for a transaction outside the log."""
    return path.with_name(f"{path.name}-journal")


def insert(connection: sqlite3.Connection, table: str, columns: schema.Columns) -> None:
    """Append rows to ``ts_<table>``; the caller holds a transaction."""
    recorded = schema.TABLES[table].recorded
    names = [column.name for column in recorded]
    for first in range(0, len(columns[names[0]]), _WRITE_ROWS):
        part = [sql_values(column, columns[column.name][first : first + _WRITE_ROWS]) for column in recorded]
        _insert_rows(connection, table, names, part)


def insert_frame(connection: sqlite3.Connection, table: str, frame: pl.DataFrame) -> None:
    """Append rows that have values as SQLite holds them."""
    for part in frame.iter_slices(_WRITE_ROWS):
        _insert_rows(connection, table, part.columns, [column.to_list() for column in part.iter_columns()])


def _insert_rows(connection: sqlite3.Connection, table: str, names: list[str], columns: list[list[Any]]) -> None:
    width, left, listed = len(names), len(columns[0]), ", ".join(f'"{name}"' for name in names)
    marks, flat = f"({', '.join('?' * width)})", chain.from_iterable(zip(*columns, strict=True))
    rows = max(1, min(_VALUES, connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)) // width)
    while left:  # few different statements: each is parsed once and kept
        times, left = divmod(left, rows)
        if times:
            statement = f'INSERT INTO "ts_{table}" ({listed}) VALUES {", ".join([marks] * rows)}'
            connection.executemany(statement, (tuple(islice(flat, rows * width)) for _ in range(times)))
        rows = max(1, rows // 8)


def select(
    connection: sqlite3.Connection, table: str, columns: Sequence[schema.Column], condition: str
) -> pl.DataFrame:
    """Return the rows of ``ts_<table>`` that meet a condition, in order of addition, with the schema's dtypes."""
    names = ", ".join(map(_selected, columns))
    rows = connection.execute(f'SELECT {names} FROM "ts_{table}" WHERE {condition} ORDER BY rowid').fetchall()
    try:
        return pl.DataFrame(list(map(_to_series, columns, zip(*rows, strict=True) if rows else repeat(()))))
    except (TypeError, ValueError, OverflowError) as error:
        where = f"{_file(connection)}, ts_{table}"
        raise RecordError(where, got="a value whose type does not match its column", do=DAMAGED) from error


def read_info(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the keys and values of ``ts_run``; empty if the file holds no table at all.

    Raises
    ------
    RecordError
        If it is the database of something else.
    """
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and "ts_run" not in tables:
        raise RecordError(_file(connection), got="a database without a run", do="choose another folder")
    return dict(connection.execute("SELECT key, value FROM ts_run")) if tables else {}


def _file(connection: sqlite3.Connection) -> str:
    return str(connection.execute("PRAGMA database_list").fetchone()[2])


def _declared(column: schema.Column) -> str:
    if column.dtype.startswith("f"):
        return "REAL"  # NaN is stored as NULL
    return ("TEXT" if column.dtype == "str" else "INTEGER") + (" NOT NULL" if column.since == 1 else "")


def _selected(column: schema.Column) -> str:
    name = f'"{column.name}"'
    return name if column.since == 1 or column.dtype.startswith("f") else f"coalesce({name}, {column.missing!r})"


def _to_series(column: schema.Column, values: Sequence[object]) -> pl.Series:
    if column.dtype.startswith("f"):
        return pl.Series(column.name, np.array(values, dtype=column.dtype))  # None becomes NaN
    if column.dtype == "u8":
        return pl.Series(column.name, np.array(values, dtype=np.int64).view(np.uint64))
    if column.dtype == "?":
        return pl.Series(column.name, values, dtype=pl.Int64).cast(pl.Boolean)
    return pl.Series(column.name, values, dtype=dtype_of(column))
