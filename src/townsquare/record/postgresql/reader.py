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
from townsquare.record.postgresql import server
from townsquare.record.postgresql.address import Address
from townsquare.record.postgresql.tables import read_info
from townsquare.record.postgresql.wire import copy_out, plain_text
from townsquare.record.query import answered, checked_query, fault_of, with_later_columns
from townsquare.record.query_words import check_functions
from townsquare.record.reader import DatabaseReader


def is_recorded_at(address: Address) -> bool:
    """Return whether a schema holds a run; raises ``RecordError`` if it holds something else."""
    with server.explained(address, server.UNREADABLE), closing(server.connect(address)) as connection:
        return bool(read_info(connection, address))


class PostgresReader(DatabaseReader):
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
        with self._connection() as connection:
            info = self._info(connection)
        if not info:
            do = "name the schema of a recorded run; a run that stopped before its first step must be repeated"
            raise RecordError(str(address), got="no recorded run", do=do)
        super().__init__(str(address), str(address), info)

    def check(self) -> None:
        """Do nothing: the server looks after its files, and :meth:`Run.verify` compares the rows with their hashes."""

    def query(self, query: str) -> pl.DataFrame:
        """Answer one SELECT by PostgreSQL, in a transaction that cannot write; values as SQLite holds them."""
        checked = checked_query(query)
        check_functions(checked)
        full = with_later_columns(checked, self.header.record_version, self._fingerprints, self.address.schema)
        driver = server.driver()
        of_query = (driver.ProgrammingError, driver.DataError, driver.NotSupportedError)
        with self._connection() as connection:
            try:
                # The binary form goes through the protocol that takes one statement only.
                with connection.cursor(binary=True) as cursor:
                    cursor.execute(full.encode())
                    names = [column.name for column in cursor.description or ()]
                    rows = cursor.fetchall()
            except (*of_query, driver.errors.ReadOnlySqlTransaction) as error:
                raise fault_of(query, str(error)) from error
        return answered(names, [[_value(value) for value in row] for row in rows])

    def stored(self, _table: schema.Table) -> str:
        """Return where the rows of a table are."""
        return "PostgreSQL"

    def _info(self, connection: server.Connection) -> dict[str, str]:
        return {key: plain_text(value) for key, value in read_info(connection, self.address).items()}

    def _is_written(self, connection: server.Connection) -> bool:
        return server.lock_holder(connection, self.address) is not None

    def _select(
        self, connection: server.Connection, table: str, columns: Sequence[schema.Column], condition: str
    ) -> pl.DataFrame:
        return copy_out(connection, table, columns, condition, f"{self.where}, ts_{table}")

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
        """Return the idle connection, or a new one: several threads may ask at once."""
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


def _value(value: Any) -> Any:
    """Return a value as SQLite would: booleans as whole numbers, decimals as real numbers, all else as text."""
    if value is None or isinstance(value, int | float | str | bytes):
        return plain_text(value) if isinstance(value, str) else (int(value) if isinstance(value, bool) else value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and value.as_tuple().exponent == 0 else float(value)
    return json.dumps(value) if isinstance(value, list | Mapping) else str(value)
