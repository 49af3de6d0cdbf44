"""A run recorded in a schema of a PostgreSQL server; its folder holds the settings, the report and the calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from townsquare.core import schema
from townsquare.core.errors import RecordError
from townsquare.core.private_files import make_folder
from townsquare.record import database
from townsquare.record.batches import Batches
from townsquare.record.contract import RunHeader, StepSummary, check_same_run, summary_rows
from townsquare.record.postgresql import server, tables
from townsquare.record.postgresql.address import FILE, Address, address_in, write_address
from townsquare.record.postgresql.reader import PostgresReader
from townsquare.record.postgresql.wire import copy_in, stored_text
from townsquare.record.reader import begun_now, header_from
from townsquare.record.recorder import DatabaseRecorder
from townsquare.record.sqlite import SETTINGS_FILE, write_settings


class PostgresRecorder(DatabaseRecorder):
    """Records into a separate schema, which is made if it is not there.

    A step, or some consecutive steps, are one transaction whose last rows are those of ``ts_steps``. While a run is
    open, an advisory lock keeps others from writing it; it ends with the connection. All rows go to the server, those
    of bulky tables too. A recording that is stopped before its first step leaves nothing behind.

    Parameters
    ----------
    folder : path
        Of the run: ``run.yaml`` and ``record.yaml`` are written there; the latter says where the rows are.
    address : Address
        Of the schema.
    """

    def __init__(self, folder: Path | str, address: Address) -> None:
        super().__init__(folder, str(address))
        self.address = address
        self._rows: dict[str, int] = {}
        self._made_schema = False

    def open(self, header: RunHeader) -> int:
        """Start a run, or go on with one: takes the lock, compares the header."""
        if self._connection is not None:
            raise ValueError(f"{self.address} is open already")
        self._check_folder()
        with ExitStack() as undo:
            undo.callback(self._release)
            with server.explained(self.address, server.UNREADABLE):
                self._connection = server.connect(self.address, writing=True)
                server.check_server(self._connection, self.address)
                server.take_lock(self._connection, self.address)
                self._start(self._connection, header)
            undo.pop_all()
        return self._last

    def _write(self, steps: Sequence[tuple[Batches, StepSummary]]) -> None:
        outs = [out for out, _ in steps]
        rows = Batches.joined(outs)
        with self._connection.transaction():
            for name in rows.tables():
                copy_in(self._connection, name, rows.get(name), self._rows.get(name, 0))
            with self._connection.cursor().copy("COPY ts_batches FROM STDIN") as copy:
                for out in outs:
                    for name, n in (*((name, out.count(name)) for name in out.tables()), ("steps", 1)):
                        copy.write_row((out.step, name, n))
            copy_in(self._connection, "steps", summary_rows([summary for _, summary in steps]), rows.step)
        for name in rows.tables():
            if schema.TABLES[name].bulky:
                tables.summarize(self._connection, name)
            self._rows[name] = self._rows.get(name, 0) + rows.count(name)

    def _reader(self) -> PostgresReader:
        return PostgresReader(self.address)

    def _end(self, info: dict[str, str]) -> None:
        tables.complete(self._connection)
        tables.set_info(self._connection, info | {"health": stored_text(info["health"])})

    def _check_folder(self) -> None:
        with database.explained(self.folder, "choose another folder"):
            make_folder(self.folder)
        there = address_in(self.folder)
        if there is not None and there != self.address:
            do = "choose another folder"
            raise RecordError(str(self.folder), got=f"a run that is recorded at {there}", do=do)
        if (self.folder / database.FILE).exists():
            raise RecordError(str(self.folder), got="a run that is recorded in the folder", do="choose another one")

    def _start(self, connection: server.Connection, header: RunHeader) -> None:
        where = str(self.address)
        info = tables.read_info(connection, self.address)
        self._is_new = not info
        if info:
            check_same_run(where, header_from(info, where), header)
            database.added_since(info, where)
        with database.explained(self.folder, "choose another folder"):
            if address_in(self.folder) is None:
                write_settings(self.folder / SETTINGS_FILE, header)
                write_address(self.folder, self.address)
        if info:
            tables.bring_up(connection, info, where)
        else:
            try:
                self._made_schema = tables.create(connection, self.address, begun_now(header))
            except server.driver().Error:
                self._forget()
                raise
        counts = connection.execute("SELECT name, sum(rows)::int8 FROM ts_batches GROUP BY name").fetchall()
        self._rows = {str(name): int(n) for name, n in counts}
        self._last = self._rows.get("steps", 0) - 1

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with server.explained(self.address, f"check that the server runs and has disk space, then {self._next}"):
            yield

    def _discard(self) -> None:
        """Remove a record without a step, while nobody else can write there."""
        tables.drop(self._connection, self.address, whole=self._made_schema)
        self._forget()

    def _forget(self) -> None:
        for name in (SETTINGS_FILE, FILE):
            with suppress(OSError):
                (self.folder / name).unlink()

    def _release(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
