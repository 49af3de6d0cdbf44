"""SQL over a run: one SELECT, answered by its database or, for runs with Parquet parts, by Polars."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence

import polars as pl

from townsquare.core import schema
from townsquare.core.errors import SettingError, UnknownName
from townsquare.core.frames import collected
from townsquare.core.registry import did_you_mean
from townsquare.record.frames import as_sql_values
from townsquare.record.mosaic.views import VIEWS, tables_of
from townsquare.record.query_words import Token, check_functions, tokens_of

PREFIX = "ts_"
_MISSING = re.compile(r"(?:no such table: (?:main\.)?|relation ['\"])(\w+)")
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
# A mistake in a query has the code SQLITE_SCHEMA where SQLite read its schema anew while it parsed the query.
_FAULTS_OF_QUERIES = (
    sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_RANGE, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_SCHEMA,
)  # fmt: skip
_ONE_SELECT = "one SELECT (or WITH … SELECT) over tables named ts_… and the views of appendix D"


def checked_query(query: str) -> str:
    """The query without comments and without what ends it, if it is one SELECT.

    Raises
    ------
    SettingError
        For any other statement, or several of them.
    """
    tokens = tokens_of(query)
    while tokens and tokens[-1].text in (" ", ";"):
        tokens.pop()
    first = next((token.text.casefold() for token in tokens if token.text != " "), "")
    if first not in ("select", "with") or Token("sign", ";") in tokens:
        raise SettingError("query", got=_short(query), allowed=_ONE_SELECT)
    return "".join(token.text for token in tokens).strip()


def with_later_columns(query: str, version: int, schema_name: str) -> str:
    """The checked query, over tables that have the columns which a run of an older record lacks, as NULL.

    ``schema_name`` is what the database calls the place of its tables.
    """
    tables = []
    for name in named_tables(query):
        later = [column for column in schema.TABLES[name].recorded if column.since > version]
        if later:
            rowid = "rowid, " if schema_name == "main" and re.search(r"\browid\b", query, re.IGNORECASE) else ""
            nulls = ", ".join(f'CAST(NULL AS {_null_type(column)}) AS "{column.name}"' for column in later)
            tables.append(f'"ts_{name}" AS (SELECT {rowid}*, {nulls} FROM "{schema_name}"."ts_{name}")')
    if not tables:
        return query
    begin = re.match(r"with\s+(recursive\s+)?", query, re.IGNORECASE)
    if begin is None:
        return f"WITH {', '.join(tables)} {query}"
    return f"WITH {begin[1] or ''}{', '.join(tables)}, {query[begin.end() :]}"


def _null_type(column: schema.Column) -> str:
    return "TEXT" if column.dtype == "str" else "REAL" if column.dtype.startswith("f") else "INTEGER"


def named_views(query: str) -> list[str]:
    """The views of appendix D that a query may be about: those whose names are words of it.

    >>> named_views("SELECT content FROM posts WHERE author_id IN (SELECT user_id FROM Users)")
    ['users', 'posts']
    """
    words = set(re.findall(r"\w+", query.lower()))
    return [name for name in VIEWS if name in words]


def named_tables(query: str) -> list[str]:
    """The tables of ``schema`` that a query may need, whether it names them or views over them.

    >>> named_tables("SELECT * FROM ts_steps JOIN note_ratings")
    ['note_ratings', 'steps']
    """
    words = {word.removeprefix(PREFIX) for word in re.findall(r"\bts_\w+", query.lower())}
    needed = words.union(*(tables_of(view) for view in named_views(query)))
    return [name for name in schema.TABLES if name in needed]


def query_database(connection: sqlite3.Connection, query: str) -> pl.DataFrame:
    """Answer a checked query by SQLite. Numbers as SQLite has them: booleans 0 and 1, NULL for NaN.

    Raises
    ------
    UnknownName
        For a table that is not there.
    SettingError
        For any other fault of the query. Faults of the file pass as ``sqlite3.Error``.
    """
    connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY)
    try:
        cursor = connection.execute(query)
        names = [name for name, *_ in cursor.description]
        rows = cursor.fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        # Faults of the sqlite3 module itself, such as a missing parameter, have no code.
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) not in _FAULTS_OF_QUERIES:
            raise
        raise fault_of(query, str(error)) from error
    return answered(names, rows)


def query_frames(
    query: str,
    lazy: Callable[[schema.Table], pl.LazyFrame],
    view: Callable[[str], pl.LazyFrame] | None = None,
) -> pl.DataFrame:
    """Answer a checked query by Polars, over those tables that it names; values as in :func:`query_database`.

    It may call no function that reads files. ``view`` gives a view of appendix D by its name, for queries that name
    one.

    Raises
    ------
    UnknownName
        For a table that is not there.
    SettingError
        For any other fault of the query.
    """
    check_functions(query)
    frames = {PREFIX + name: sql_frame(schema.TABLES[name], lazy) for name in named_tables(query)}
    if view is not None:
        frames |= {name: view(name) for name in named_views(query)}
    try:
        return collected(pl.SQLContext(frames=frames).execute(query))
    except pl.exceptions.PolarsError as error:
        raise fault_of(query, str(error)) from error


def answered(names: Iterable[str], rows: Sequence[Sequence[object]]) -> pl.DataFrame:
    """Rows of plain values as a frame; columns of one name are told apart by numbers."""
    return pl.DataFrame([_series(name, [row[at] for row in rows]) for at, name in enumerate(_distinct(names))])


def sql_frame(table: schema.Table, lazy: Callable[[schema.Table], pl.LazyFrame]) -> pl.LazyFrame:
    """A table with values as SQLite holds them."""
    return lazy(table).select(as_sql_values(table.recorded))


_KINDS: dict[frozenset[type], type[pl.DataType]] = {
    frozenset(): pl.Null,
    frozenset({int}): pl.Int64,
    frozenset({float}): pl.Float64,
    frozenset({int, float}): pl.Float64,
    frozenset({str}): pl.String,
    frozenset({bytes}): pl.Binary,
}


def _series(name: str, values: list[object]) -> pl.Series:
    kinds = frozenset(type(value) for value in values if value is not None)
    if kinds in _KINDS:
        return pl.Series(name, values, dtype=_KINDS[kinds], strict=False)
    # SQLite may mix types in a column: text must not vanish from a column of numbers, so all become text.
    return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)


def _distinct(names: Iterable[str]) -> list[str]:
    out: list[str] = []
    for name in names:
        free, number = name, 2
        while free in out:
            free, number = f"{name}_{number}", number + 1
        out.append(free)
    return out


def fault_of(query: str, said: str) -> SettingError:
    """The error for what a database said of a query."""
    missing = _MISSING.search(said)
    if missing:
        tables = [*(PREFIX + name for name in schema.TABLES), *VIEWS]
        do = did_you_mean(missing[1], tables)
        return UnknownName("table in query", got=repr(missing[1]), allowed=", ".join(tables), do=do)
    return SettingError("query", got=_short(query), do=said.splitlines()[0])


def _short(query: str) -> str:
    line = " ".join(query.split())
    return repr(line if len(line) <= 80 else f"{line[:77]}...")
