"""A run in a schema of a PostgreSQL server, read: while it is written, after it was killed, or finished."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from decimal import Decimal
from typing import Any
from weakref import finalize

import polars as pl

from townsquare.core import schema
from townsquare.core.errors import RecordError
from townsquare.record.contract import RunHeader
from townsquare.record.folder import header_from
from townsquare.record.frames import frame_schema, missing_values, stored_columns
from townsquare.record.postgresql import server
from townsquare.record.postgresql.address import Address
from townsquare.record.postgresql.tables import read_info
from townsquare.record.postgresql.wire import copy_out, plain_text
from townsquare.record.query import answered, checked_query, fault_of, with_later_columns
from townsquare.record.query_words import check_functions
from townsquare.record.reader import ALL_STEPS, Steps, check_count, check_table, scan_of, spans_of


def is_recorded_at(address: Address) -> bool:
    """Whether a schema holds a run; raises ``RecordError`` if it cannot be asked, or holds something else."""
    with server.explained(address, server.UNREADABLE), closing(server.connect(address)) as connection:
        return bool(read_info(connection, address))


class PostgresReader:
    """Reads one schema, and sees one state of the database in each question. A connection is kept for the next one.

    Raises
    ------
    RecordError
        If the server cannot be reached, or the schema holds no run.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: list[tuple[int, server.Connection]] = []  # at most one, with the process that made it
        finalize(self, _close_all, self._idle)
        info = self._info()
        if not info:
            do = "name the schema of a recorded run, or run it again: it may have ended before its first step"
            raise RecordError(str(address), got="no recorded run", do=do)
        self._header = header_from(info, str(address))
        self._fingerprints: dict[str, str] = json.loads(info["schema"])

    @property
    def where(self) -> str:
        """The address."""
        return str(self.address)

    @property
    def header(self) -> RunHeader:
        """As recorded."""
        return self._header

    def state(self) -> str:
        """As recorded; a run that nobody writes any more is ``"stopped"``, whatever it was when it was killed."""
        with self._connection() as connection:
            is_written = server.lock_holder(connection, self.address) is not None
            state = read_info(connection, self.address)["state"]
        return "stopped" if state == "running" and not is_written else state

    def health(self) -> str:
        """Why the run is unhealthy, as it was marked when it ended; "" if it is not."""
        return plain_text(self._info().get("health", ""))

    def run_hash(self) -> str:
        """As recorded when it was closed; "" while it is written, and of version 1 of the record."""
        return self._info().get("run_hash", "")

    def marks(self) -> pl.DataFrame:
        """The rows of ``steps``."""
        table = schema.TABLES["steps"]
        return self.frame(table, table.recorded, None)

    def stored(self, _table: schema.Table) -> str:
        """Where the rows of a table are."""
        return "PostgreSQL"

    def frame(self, table: schema.Table, columns: Sequence[schema.Column], steps: Steps | None) -> pl.DataFrame:
        """Rows that these steps added, or all steps."""
        if not check_table(self, self._fingerprints, table):
            return pl.DataFrame(schema=frame_schema(columns))
        where = f"{self.where}, ts_{table.name}"
        with self._connection() as connection:
            before, n = _extent(connection, table.name, steps)
            stored = stored_columns(table, columns, self._header.record_version)
            frame = copy_out(connection, table.name, stored, before, n, where)
        check_count(where, frame.height, n)
        return frame.with_columns(missing_values(columns, frame.columns)).select(list(frame_schema(columns)))

    def lazy(self, table: schema.Table, last: int | None = None) -> pl.LazyFrame:
        """All rows that are committed now, as a scan that reads only those columns that a query needs."""
        first, end = (0, last) if last is not None else ALL_STEPS
        query = "SELECT step, rows FROM ts_batches WHERE name = %s AND step BETWEEN %s AND %s ORDER BY step"
        with self._connection() as connection:
            rows = dict(connection.execute(query, (table.name, first, end)).fetchall())
        return scan_of(self, table, spans_of(rows))

    def counts(self) -> dict[str, int]:
        """Rows by table that has some."""
        with self._connection() as connection:
            rows = connection.execute("SELECT name, sum(rows)::int8 FROM ts_batches GROUP BY name").fetchall()
        return {str(name): int(n) for name, n in rows}

    def check(self) -> None:
        """Files are the server's affair: what reads rows checks their number, and :meth:`Run.verify` their hashes."""

    def query(self, query: str) -> pl.DataFrame:
        """Answer one SELECT by PostgreSQL, in a transaction that cannot write; values as SQLite holds them."""
        checked = checked_query(query)
        check_functions(checked)
        full = with_later_columns(checked, self._header.record_version, self.address.schema)
        faults = server.driver()
        with self._connection() as connection:
            try:
                # The binary form goes through the protocol that takes one statement only.
                with connection.cursor(binary=True) as cursor:
                    cursor.execute(full.encode())
                    names = [column.name for column in cursor.description or ()]
                    rows = cursor.fetchall()
            except (
                faults.ProgrammingError,
                faults.DataError,
                faults.NotSupportedError,
                faults.errors.ReadOnlySqlTransaction,
            ) as error:
                raise fault_of(query, str(error)) from error
        return answered(names, [[_value(value) for value in row] for row in rows])

    def _info(self) -> dict[str, str]:
        with self._connection() as connection:
            return read_info(connection, self.address)

    @contextmanager
    def _connection(self) -> Iterator[server.Connection]:
        with server.explained(self.address, server.UNREADABLE):
            connection = self._take()
            with ExitStack() as undo:
                undo.callback(connection.close)
                yield connection
                connection.rollback()
                if not self._idle:
                    undo.pop_all()
                    self._idle.append((os.getpid(), connection))

    def _take(self) -> server.Connection:
        """The connection that is left from the last question, or a new one: threads may ask at once."""
        with suppress(IndexError):
            process, connection = self._idle.pop()
            if process == os.getpid() and not connection.closed:
                return connection
        return server.connect(self.address)

    def __reduce__(self) -> tuple[type[PostgresReader], tuple[Address]]:
        return PostgresReader, (self.address,)


def _close_all(idle: list[tuple[int, server.Connection]]) -> None:
    for process, connection in idle:
        if process == os.getpid():
            connection.close()


def _extent(connection: server.Connection, table: str, steps: Steps | None) -> tuple[int, int]:
    """How many rows a table had before these steps, and how many they added."""
    first, last = steps or ALL_STEPS
    query = """
        SELECT coalesce(sum(rows) FILTER (WHERE step < %s), 0)::int8,
          coalesce(sum(rows) FILTER (WHERE step >= %s), 0)::int8
        FROM ts_batches WHERE name = %s AND step <= %s
    """
    row = connection.execute(query, (first, first, table, last)).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def _value(value: Any) -> Any:
    """A value as SQLite would give it: whole numbers for booleans, real ones for decimals, else texts."""
    if value is None or isinstance(value, int | float | str | bytes):
        return plain_text(value) if isinstance(value, str) else (int(value) if isinstance(value, bool) else value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and value.as_tuple().exponent == 0 else float(value)
    return json.dumps(value) if isinstance(value, list | Mapping) else str(value)
