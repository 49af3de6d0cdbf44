"""Where trials of debates are kept next to their folder: in a schema of a PostgreSQL server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from townsquare.core.documents import parse_json
from townsquare.core.errors import RecordError
from townsquare.debate.record import read_trial, write_json
from townsquare.debate.results import DebateArm, DebateResults
from townsquare.record.postgresql import server
from townsquare.record.postgresql.address import Address

TABLE = "ts_trials"
_CREATE = f"""
    CREATE TABLE IF NOT EXISTS {TABLE} (
      arm text COLLATE "C" NOT NULL, trial int4 NOT NULL, digest text NOT NULL, hash text NOT NULL,
      record json NOT NULL, PRIMARY KEY (arm, trial))
"""  # `json`, not `jsonb`: it keeps the text as it was written, so that numbers come back bit for bit


@dataclass(frozen=True, slots=True)
class TrialStore:
    """The table of trials on a server; nothing if none exists."""

    address: Address | None = None
    connection: server.Connection | None = None

    def bring(self, results: DebateResults) -> None:
        """Have the folder hold all trials of the server, and the server all of the folder."""
        there = {(str(arm), int(trial)) for arm, trial in self._ask(f"SELECT arm, trial FROM {TABLE}")}
        for arm in results.arms if self.connection is not None else ():
            for trial in range(1, results.trials + 1):
                file = results.trial_file(arm, trial)
                if (arm.slug, trial) not in there:
                    self.put(results, arm, trial)
                elif not file.is_file():
                    query = f"SELECT record::text FROM {TABLE} WHERE arm = %s AND trial = %s"
                    ((text,),) = self._ask(query, arm.slug, trial)
                    write_json(file, parse_json(str(text), file.name, RecordError))

    def put(self, results: DebateResults, arm: DebateArm, trial: int) -> None:
        """Have the server hold a trial that the folder holds."""
        file = results.trial_file(arm, trial)
        if self.connection is None or not file.is_file():
            return
        record = read_trial(file)
        values = (arm.slug, trial, record["digest"], record["hash"], json.dumps(record))
        self._ask(f"INSERT INTO {TABLE} VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING", *values)

    def _ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        if self.address is None or self.connection is None:
            return []
        with server.explained(self.address, "check that the server runs, then repeat the command"):
            cursor = self.connection.execute(query.encode(), values)
            return list(cursor.fetchall()) if cursor.description else []


@contextmanager
def trial_store(address: Address | None) -> Iterator[TrialStore]:
    """Give the trials of a server; nobody else can write the schema while the context lasts.

    Raises
    ------
    RecordError
        The server cannot be used, or the schema holds something else.
    """
    if address is None:
        yield TrialStore()
        return
    with server.explained(address, server.UNREADABLE):
        connection = server.connect(address, writing=True)
    with closing(connection):
        with server.explained(address, server.UNREADABLE):
            server.check_server(connection, address)
            server.take_lock(connection, address)
            query = "SELECT tablename::text FROM pg_tables WHERE schemaname = %s"
            names = [name for (name,) in connection.execute(query, (address.schema,)).fetchall()]
            if names and TABLE not in names:
                do = "choose another one with --record-schema"
                raise RecordError(str(address), got="a schema that holds something other than debates", do=do)
            connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{address.schema}"'.encode())
            connection.execute(_CREATE.encode())
        yield TrialStore(address, connection)
