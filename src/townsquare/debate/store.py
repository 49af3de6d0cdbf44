"""Where debates are kept beside their folder: at an address of an object store, in a schema of a PostgreSQL server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from townsquare.core.documents import parse_json
from townsquare.core.errors import RecordError
from townsquare.debate.record import read_trial, write_json
from townsquare.debate.results import HeldDebates
from townsquare.experiments.cluster.stores import ObjectStore
from townsquare.record.postgresql import server
from townsquare.record.postgresql.address import Address

TABLE = "ts_trials"
_CREATE = f"""
    CREATE TABLE IF NOT EXISTS {TABLE} (
      arm text COLLATE "C" NOT NULL, trial int4 NOT NULL, digest text NOT NULL, hash text NOT NULL,
      record json NOT NULL, PRIMARY KEY (arm, trial))
"""  # `json`, not `jsonb`: it keeps the text as it was written, so that numbers come back bit for bit


@dataclass(frozen=True, slots=True)
class Keeper:
    """Copies what comes into the folder of debates to where else it is kept."""

    held: HeldDebates
    store: ObjectStore | None = None
    address: Address | None = None
    _connection: server.Connection | None = None

    def keep(self, file: Path) -> None:
        """A file was written into the folder."""
        if self.store is not None:
            self.store.put_file(file, file.relative_to(self.held.folder).as_posix())
        if self._connection is not None and file.name.startswith("trial-"):
            self._put(file)

    def bring(self) -> None:
        """Have the folder hold all trials of the server, and the server all of the folder."""
        if self._connection is None:
            return
        files = {
            (arm.slug, trial): self.held.trial_file(arm, trial)
            for arm in self.held.arms
            for trial in range(1, self.held.trials + 1)
        }
        with self._explained():
            there = {(str(arm), int(trial)) for arm, trial in self._ask(f"SELECT arm, trial FROM {TABLE}")}
            missing = {key: file for key, file in files.items() if key in there and not file.is_file()}
            for (arm, trial), file in missing.items():
                rows = self._ask(f"SELECT record::text FROM {TABLE} WHERE arm = %s AND trial = %s", arm, trial)
                write_json(file, parse_json(str(rows[0][0]), file.name, RecordError))
        for key, file in files.items():
            if key not in there and file.is_file():
                self._put(file)

    def _put(self, file: Path) -> None:
        record = read_trial(file)
        values = (file.parent.name, record["trial"], record["digest"], record["hash"], json.dumps(record))
        with self._explained():
            self._ask(f"INSERT INTO {TABLE} VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING", *values)

    def _ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        assert self._connection is not None
        cursor = self._connection.execute(query.encode(), values)
        return list(cursor.fetchall()) if cursor.description else []

    @contextmanager
    def _explained(self) -> Iterator[None]:
        assert self.address is not None
        with server.explained(self.address, "see that the server runs, then give the same command again"):
            yield


@contextmanager
def keeper_of(held: HeldDebates, store: ObjectStore | None, address: Address | None) -> Iterator[Keeper]:
    """What keeps these debates elsewhere too; on a server, nobody else can write the schema while the context lasts.

    Raises
    ------
    RecordError
        The server cannot be used, or the schema holds something else.
    """
    if address is None:
        yield Keeper(held, store)
        return
    with ExitStack() as undo:
        with server.explained(address, server.UNREADABLE):
            connection = server.connect(address, writing=True)
            undo.callback(connection.close)
            server.check_server(connection, address)
            server.take_lock(connection, address)
            names = _tables_of(connection, address)
            if names and TABLE not in names:
                do = "choose another one with --record-schema"
                raise RecordError(str(address), got="a schema that holds something else than debates", do=do)
            connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{address.schema}"'.encode())
            connection.execute(_CREATE.encode())
        yield Keeper(held, store, address, connection)


def _tables_of(connection: server.Connection, address: Address) -> set[str]:
    query = "SELECT tablename::text FROM pg_tables WHERE schemaname = %s"
    return {str(name) for (name,) in connection.execute(query, (address.schema,)).fetchall()}
