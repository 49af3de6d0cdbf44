"""SQL over a run: one SELECT, answered by its database, or by Polars over runs in memory and with Parquet parts.

The views of appendix D are SQL alone. Where no database has the tables under them, SQLite gets what they read.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from pathlib import Path

import polars as pl

from townsquare.core import schema
from townsquare.core.errors import SettingError, UnknownName
from townsquare.core.frames import collected
from townsquare.core.registry import did_you_mean
from townsquare.record import database
from townsquare.record.frames import as_sql_values
from townsquare.record.mosaic.views import VIEWS, tables_of
from townsquare.record.query_words import Token, check_functions, tokens_of

PREFIX = "ts_"
_MISSING = re.compile(r"(?:no such table: (?:main\.)?|relation ['\"])(\w+)")
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
# A mistake in a query has the code SQLITE_SCHEMA where SQLite read its schema again while it parsed the query.
_FAULTS_OF_QUERIES = (
    sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_RANGE, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_SCHEMA,
)  # fmt: skip
_PLACE_OF_TABLE = re.compile(r"""(?:\b(?:from|join)\b|[,.(\[])\s*["'`\[]?(\w+)""")
_END_OF_FROM = re.compile(r"[()]|\b(?:where|group|order|having|limit|window|union|intersect|except|on|using)\b")
_ONE_SELECT = "one SELECT (or WITH … SELECT) over tables of the run and the views of appendix D"


def checked_query(query: str) -> str:
    """Return the query without comments and without its terminator, if it is one SELECT; tables may lack ``ts_``.

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
    plain = "".join(token.text for token in tokens).strip()
    bare = _bare_tables(plain)
    return _beginning_with(plain, [f'"{name}" AS (SELECT * FROM "{PREFIX}{name}")' for name in bare])


def _bare_tables(query: str) -> list[str]:
    """Return tables named without prefix after FROM or JOIN; a view, or a name that the query defines, comes first.

    >>> _bare_tables("SELECT * FROM beliefs, steps JOIN posts ON 1 WHERE trail IN (SELECT claim FROM claims)")
    ['claims', 'beliefs', 'steps']
    """
    clauses = [_END_OF_FROM.split(clause)[0] for clause in re.split(r"\b(?:from|join)\b", query.lower())[1:]]
    named = {words[0] for clause in clauses for part in clause.split(",") if (words := re.findall(r"\w+", part))}
    defined = set(re.findall(r"(\w+)[\"`\]]?\s*(?:\([^()]*\)\s*)?\bas\b[\w\s]*\(", query.lower()))
    return [name for name in schema.TABLES if name in named - defined and name not in VIEWS]


def _beginning_with(query: str, tables: Sequence[str]) -> str:
    """Return the query with named subqueries before its own."""
    if not tables:
        return query
    begin = re.match(r"with\s+(recursive\s+)?", query, re.IGNORECASE)
    if begin is None:
        return f"WITH {', '.join(tables)} {query}"
    return f"WITH {begin[1] or ''}{', '.join(tables)}, {query[begin.end() :]}"


def with_later_columns(query: str, version: int, recorded: Collection[str], schema_name: str) -> str:
    """Return the query over tables in which the columns that an older run lacks are NULL.

    ``recorded`` are the tables that the run has; others that Townsquare knows are empty. ``schema_name`` is what the
    database calls the place of its tables.
    """
    tables = []
    for name in named_tables(query):
        known = schema.TABLES[name].recorded
        later = known if name not in recorded else [column for column in known if column.since > version]
        if later:
            rowid = "rowid, " if schema_name == "main" and re.search(r"\browid\b", query, re.IGNORECASE) else ""
            nulls = ", ".join(f'CAST(NULL AS {_sql_type(column)}) AS "{column.name}"' for column in later)
            rows = f'{rowid}*, {nulls} FROM "{schema_name}"."ts_{name}"' if name in recorded else f"{nulls} LIMIT 0"
            tables.append(f'"ts_{name}" AS (SELECT {rows})')
    return _beginning_with(query, tables)


def _sql_type(column: schema.Column) -> str:
    return "TEXT" if column.dtype == "str" else "REAL" if column.dtype.startswith("f") else "INTEGER"


def named_views(query: str) -> list[str]:
    """Return the views of appendix D that a query may read: views named where tables can be.

    >>> named_views("SELECT likes AS follows FROM posts WHERE author_id IN (SELECT user_id FROM Users)")
    ['users', 'posts']
    """
    words = set(_PLACE_OF_TABLE.findall(query.lower()))
    return [name for name in VIEWS if name in words]


def named_tables(query: str) -> list[str]:
    """Return the tables of ``schema`` that a query may read, by name or through views.

    >>> named_tables("SELECT * FROM ts_steps JOIN note_ratings")
    ['note_ratings', 'steps']
    """
    words = {word.removeprefix(PREFIX) for word in re.findall(r"\bts_\w+", query.lower())}
    needed = words.union(*(tables_of(view) for view in named_views(query)))
    return [name for name in schema.TABLES if name in needed]


def query_database(
    connection: sqlite3.Connection, query: str, read: set[tuple[str, str]] | None = None
) -> pl.DataFrame:
    """Answer a checked query by SQLite. Numbers as SQLite has them: booleans 0 and 1, NULL for NaN.

    With ``read``, it is explained instead, and ``read`` gets the names of the tables and columns that it reads.

    Raises
    ------
    UnknownName
        For a table that is not there.
    SettingError
        For any other fault of the query. Faults of the file pass as ``sqlite3.Error``.
    """

    def judge(action: int, table: str | None, column: str | None, *_: object) -> int:
        if action == sqlite3.SQLITE_READ and read is not None:
            read.add((str(table), str(column)))
        return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY

    connection.set_authorizer(judge)
    try:
        cursor = connection.execute(query if read is None else f"EXPLAIN {query}")
        names = [name for name, *_ in cursor.description]
        rows = cursor.fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        # Faults of the sqlite3 module itself, such as a missing parameter, have no code.
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) not in _FAULTS_OF_QUERIES:
            raise
        raise fault_of(query, str(error)) from error
    return answered(names, rows)


def query_frames(query: str, lazy: Callable[[schema.Table], pl.LazyFrame]) -> pl.DataFrame:
    """Answer a checked query over the tables that it names; values as in :func:`query_database`.

    Polars answers, and calls no function that reads files. A query that names a view of appendix D is answered by
    SQLite, over a copy of the columns that it reads.

    Raises
    ------
    UnknownName
        For a table that is not there.
    SettingError
        For any other fault of the query.
    """
    if named_views(query):
        return query_copy(query, lazy)
    check_functions(query)
    tables = {name: schema.TABLES[name] for name in named_tables(query)}
    frames = {PREFIX + name: lazy(table).select(as_sql_values(table.recorded)) for name, table in tables.items()}
    try:
        return collected(pl.SQLContext(frames=frames).execute(query))
    except pl.exceptions.PolarsError as error:
        raise fault_of(query, str(error)) from error


def query_copy(query: str, lazy: Callable[[schema.Table], pl.LazyFrame], file: Path | None = None) -> pl.DataFrame:
    """Answer a checked query by SQLite over a copy of what it reads: empty tables say which columns that is.

    ``file`` is the database of the run, for tables of the recorder itself.
    """
    tables = [schema.TABLES[name] for name in named_tables(query)]
    with closing(sqlite3.connect(":memory:", isolation_level=None, uri=True)) as connection:
        if file is not None:
            connection.execute("ATTACH ? AS run", (f"{file.resolve().as_uri()}?mode=ro",))
        for table in tables:
            declared = ", ".join(f'"{column.name}" {_sql_type(column)}' for column in table.recorded)
            connection.execute(f'CREATE TABLE "{PREFIX}{table.name}" ({declared})')
        for view in named_views(query):
            connection.execute(f"CREATE VIEW {view} AS {VIEWS[view]}")
        read: set[tuple[str, str]] = set()
        query_database(connection, query, read)
        connection.set_authorizer(None)
        with database.transaction(connection):
            for table in tables:
                columns = [column for column in table.recorded if (PREFIX + table.name, column.name) in read]
                rows = lazy(table).select(as_sql_values(columns or table.recorded[:1])).pipe(collected)
                database.insert_frame(connection, table.name, rows)
        return query_database(connection, query)


def answered(names: Iterable[str], rows: Sequence[Sequence[object]]) -> pl.DataFrame:
    """Return rows of plain values as a frame; repeated column names get numbers."""
    return pl.DataFrame([_series(name, [row[at] for row in rows]) for at, name in enumerate(_distinct(names))])


_KINDS: dict[frozenset[type], type[pl.DataType]] = {
    frozenset(): pl.Null, frozenset({int}): pl.Int64, frozenset({float}): pl.Float64,
    frozenset({int, float}): pl.Float64, frozenset({str}): pl.String, frozenset({bytes}): pl.Binary,
}  # fmt: skip


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


def fault_of(query: str, message: str) -> SettingError:
    """Return the error for a message of a database about a query."""
    missing = _MISSING.search(message)
    if missing:
        tables = [*(PREFIX + name if name in VIEWS else name for name in schema.TABLES), *VIEWS]
        do = did_you_mean(missing[1], tables)
        return UnknownName("table in query", got=repr(missing[1]), allowed=", ".join(tables), do=do)
    return SettingError("query", got=_short(query), do=message.splitlines()[0])


def _short(query: str) -> str:
    line = " ".join(query.split())
    return repr(line if len(line) <= 80 else f"{line[:77]}...")
