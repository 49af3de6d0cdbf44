"""SQL over a run: one SELECT in DuckDB's dialect, whatever the rows are stored in.

DuckDB sees the tables that a query names as lazy frames, and reads of them only the columns that it needs. It has no
access to files, extensions or variables of Python, and its settings are locked before a query is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import polars as pl

from townsquare.core import schema
from townsquare.core.errors import SettingError, UnknownName
from townsquare.core.registry import did_you_mean
from townsquare.record.frames import as_sql_values
from townsquare.record.mosaic.views import POSTGRESQL_VIEWS, VIEWS, tables_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, Statement

PREFIX = "ts_"
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "python_enable_replacements": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "temp_directory": "",
    "threads": 1,  # sums of reals have one order
    "memory_limit": "8GB",
    "integer_division": True,  # as SQLite and PostgreSQL divide
    "default_null_order": "sqlite",
}
_MACROS = """
CREATE MACRO to_char(moment, _form) AS strftime(moment, '%Y-%m-%d %H:%M:%S');
CREATE MACRO json_extract(document, path) AS json_extract_string(document, path);
"""
"""What the views use of PostgreSQL, and queries that were written for SQLite."""
_MISSING = re.compile(r"Table with name (\w+) does not exist")
_ONE_SELECT = "one SELECT (or WITH … SELECT) over tables named ts_… and the views of appendix D"

LazyTable = Callable[[str], pl.LazyFrame]
"""Gives the rows of a table by its name in the schema."""


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


def answer(query: str, lazy: LazyTable, check: Callable[[str], object] = lambda _name: None) -> pl.DataFrame:
    """Answer one SELECT over the tables that ``lazy`` gives.

    Values are as SQLite holds them: whole numbers of 64 bits, booleans 0 and 1, NULL for NaN, times as text.

    Parameters
    ----------
    query : str
        Over tables ``ts_<name>`` and the views of appendix D.
    lazy : callable
        Gives a table.
    check : callable
        Is called with the name of each table of a query that failed while it ran; raises where one cannot be read.

    Raises
    ------
    UnknownName
        For a table that is not there.
    SettingError
        For anything but one SELECT, and for its mistakes.
    """
    import duckdb  # a tenth of a second: only queries wait for it

    with closing(duckdb.connect(config=_CLOSED)) as connection:
        try:
            _lay_out(connection, query, lazy)
            return _plain(connection.sql(_only_select(connection, query)).pl())
        except (duckdb.Error, pl.exceptions.PolarsError) as error:
            if not isinstance(error, (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)):
                for name in named_tables(query):
                    check(name)
            raise _fault(query, str(error)) from error


def _lay_out(connection: DuckDBPyConnection, query: str, lazy: LazyTable) -> None:
    """Give a connection the tables and views that a query names. ``rows_<name>`` has the place of each row too."""
    numbered = re.search(r"\browid\b", query, re.IGNORECASE)
    for name in named_tables(query):
        frame = lazy(name)
        there = set(frame.collect_schema().names())
        rows = frame.select(as_sql_values([c for c in schema.TABLES[name].recorded if c.name in there]))
        connection.register(f"rows_{name}", rows.with_row_index("rowid", offset=1))
        connection.register(PREFIX + name, rows.with_row_index("rowid", offset=1) if numbered else rows)
    connection.execute(_MACROS)
    for view in named_views(query):
        select = re.sub(rf"\b{PREFIX}", "rows_", POSTGRESQL_VIEWS[view])
        connection.execute(f"CREATE VIEW {view} AS {select}")
    connection.execute("SET lock_configuration = true")


def _only_select(connection: DuckDBPyConnection, query: str) -> Statement:
    statements = connection.extract_statements(query)
    begin = re.match(r"\s*(\w+)", statements[0].query) if len(statements) == 1 else None
    if begin is None or statements[0].type.name != "SELECT" or begin[1].casefold() not in ("select", "with"):
        raise SettingError("query", got=_short(query), allowed=_ONE_SELECT)
    return statements[0]


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """The answer of a query with the values that SQLite would give."""
    values = []
    for name, dtype in frame.schema.items():
        value = pl.col(name)
        if dtype == pl.Boolean or dtype.is_integer() or (isinstance(dtype, pl.Decimal) and not dtype.scale):
            value = value.cast(pl.Int64)
        elif dtype.is_numeric():
            value = value.cast(pl.Float64).fill_nan(None)
        elif dtype.is_temporal():
            value = value.cast(pl.String)
        values.append(value)
    return frame.select(values)


def _fault(query: str, said: str) -> SettingError:
    """The error for what the database said of a query."""
    missing = _MISSING.search(said)
    if missing:
        tables = [*(PREFIX + name for name in schema.TABLES), *VIEWS]
        do = did_you_mean(missing[1], tables)
        return UnknownName("table in query", got=repr(missing[1]), allowed=", ".join(tables), do=do)
    return SettingError("query", got=_short(query), do=said.splitlines()[0])


def _short(query: str) -> str:
    line = " ".join(query.split())
    return repr(line if len(line) <= 80 else f"{line[:77]}...")
