"""What the schema of a run holds: the tables of ``schema``, the recorder's own two, and the views of appendix D.

Column types are the narrowest that PostgreSQL has: it knows no unsigned numbers and none of one byte. Booleans are 0
and 1, NaN is NULL and an unsigned 64-bit number is its two's complement, as in SQLite, so that one query means the same
over both. ``rowid``, the place of a row in its table from 1, stands last in each: nothing else keeps rows in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from townsquare.core import schema
from townsquare.core.errors import RecordError
from townsquare.record.database import add_later, create_indexes
from townsquare.record.mosaic.views import POSTGRESQL_VIEWS
from townsquare.record.postgresql.address import Address

if TYPE_CHECKING:
    from townsquare.record.postgresql.server import Connection

TYPES = {
    **dict.fromkeys(("i1", "u1", "?", "i2"), "int2"),
    **dict.fromkeys(("u2", "i4"), "int4"),
    **dict.fromkeys(("u4", "i8", "u8"), "int8"),
    "f4": "float4",
    "f8": "float8",
    "str": "text",
}
# Queries written for appendix D compare its booleans with TRUE or with 1.
_COMPARISON = """
CREATE FUNCTION ts_equals(boolean, integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 = ($2 <> 0)';
CREATE OPERATOR = (LEFTARG = boolean, RIGHTARG = integer, FUNCTION = ts_equals);
"""


def create(connection: Connection, address: Address, info: Mapping[str, str]) -> bool:
    """Make everything, and the row of each key of ``info``, in one transaction; whether it made the schema too."""
    with connection.transaction():
        is_new = not _schema_is_there(connection, address)
        if is_new:
            connection.execute(f'CREATE SCHEMA "{address.schema}"')
        for table in schema.TABLES.values():
            _create_table(connection, table)
        connection.execute(
            "CREATE TABLE ts_batches (step int4 NOT NULL, name text NOT NULL, rows int8 NOT NULL,"
            " PRIMARY KEY (name, step))"
        )
        connection.execute('CREATE TABLE ts_run (key text COLLATE "C" PRIMARY KEY, value text NOT NULL)')
        connection.execute(_COMPARISON)
        _set_views(connection)
        set_info(connection, info)
    return is_new


def bring_up(connection: Connection, info: Mapping[str, str], where: str) -> None:
    """Add what an older run lacks, as :func:`townsquare.record.database.bring_up` does."""
    with connection.transaction():
        set_info(connection, add_later(connection, info, where, _create_table, _declared))
        _set_views(connection)


def _set_views(connection: Connection) -> None:
    for view, query in POSTGRESQL_VIEWS.items():
        connection.execute(f"CREATE OR REPLACE VIEW {view} AS {query}")


def drop(connection: Connection, address: Address, *, whole: bool) -> None:
    """Take everything of a run away; with ``whole`` the schema too, which :func:`create` made."""
    with connection.transaction():
        if whole:
            connection.execute(f'DROP SCHEMA "{address.schema}" CASCADE')
            return
        for name in (*schema.TABLES, "batches", "run"):
            connection.execute(f'DROP TABLE IF EXISTS "ts_{name}" CASCADE')
        connection.execute("DROP FUNCTION IF EXISTS ts_equals(boolean, integer) CASCADE")


def set_info(connection: Connection, info: Mapping[str, str]) -> None:
    """Write keys and values into ``ts_run``."""
    query = "INSERT INTO ts_run VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    with connection.cursor() as cursor:
        cursor.executemany(query, list(info.items()))


def read_info(connection: Connection, address: Address) -> dict[str, str]:
    """Return the keys and values of ``ts_run``; empty if the schema is missing or holds no table at all.

    Raises
    ------
    RecordError
        If it holds something else.
    """
    query = """
        SELECT relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE nspname = %s AND relkind IN ('r', 'v', 'm', 'p', 'f')
    """
    names = {name for (name,) in connection.execute(query, (address.schema,)).fetchall()}
    if names and "ts_run" not in names:
        do = "choose another one with --record-schema"
        raise RecordError(str(address), got="a schema that holds something other than a run", do=do)
    return dict(connection.execute("SELECT key, value FROM ts_run").fetchall()) if names else {}


def complete(connection: Connection) -> None:
    """Make the indexes that queries by agent or post want, and tell the planner what the tables hold."""
    create_indexes(connection)
    for table in schema.TABLES:
        connection.execute(f'ANALYZE "ts_{table}"')


def summarize(connection: Connection, table: str) -> None:
    """Let the index by ``rowid`` know of new rows, so that those of a step are found without reading all."""
    connection.execute("SELECT brin_summarize_new_values(%s::regclass)", (f"ts_{table}_by_rowid",))


def _schema_is_there(connection: Connection, address: Address) -> bool:
    return connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (address.schema,)).fetchone() is not None


def _create_table(connection: Connection, table: schema.Table) -> None:
    columns = ", ".join(f'"{column.name}" {_declared(column)}' for column in table.recorded)
    key = ", UNIQUE (step)" if table.name == "steps" else ""
    connection.execute(f'CREATE TABLE "ts_{table.name}" ({columns}, rowid int8 NOT NULL{key})')
    connection.execute(
        f'CREATE INDEX "ts_{table.name}_by_rowid" ON "ts_{table.name}" USING brin (rowid) WITH (pages_per_range = 32)'
    )


def _declared(column: schema.Column) -> str:
    # Texts are compared byte by byte, as SQLite does, regardless of the language of the database.
    dtype = 'text COLLATE "C"' if column.dtype == "str" else TYPES[column.dtype]
    # NaN is stored as NULL, and so is what is missing from a column that was added later.
    return dtype if column.dtype.startswith("f") or column.since > 1 else f"{dtype} NOT NULL"
