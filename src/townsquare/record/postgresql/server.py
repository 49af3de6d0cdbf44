"""Connections to the server: how they are made, what their errors mean, and the lock of the one that writes a run."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from townsquare.core.errors import RecordError, RunBusy
from townsquare.core.extras import library
from townsquare.record.postgresql.address import Address

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

LEAST_VERSION = 12
UNREADABLE = "check that the server runs and that user, database and ~/.pgpass are correct"
METHODS = "scram-sha-256,none"
"""How a server may make sure of a user: by a proof that does not hold the password, or without asking this side.

The second is what ``trust``, ``peer`` and certificates are to a client: nothing secret is sent. Left out are the
password as plain text, MD5 (a hash of it with a salt of the server's choice), GSSAPI and SSPI.
"""
_SECONDS = 10
_OTHER_METHOD = "configure scram-sha-256 on the server, or set PGREQUIREAUTH=md5 if you trust it"
_TRIES, _PAUSE = 100, 0.05  # a busy server takes a moment to see that a process is gone that was killed


def driver() -> Any:
    """Return the module ``psycopg``.

    Raises
    ------
    MissingExtra
        It is not installed.
    RecordError
        It is installed without libpq.
    """
    try:
        return library("psycopg", "a record in PostgreSQL")
    except ImportError as error:
        do = "pip install 'townsquare[postgresql]', which brings libpq"
        raise RecordError("a record in PostgreSQL", got=str(error).splitlines()[0], do=do) from None


@contextmanager
def explained(address: Address, do: str) -> Iterator[None]:
    """Turn errors of the server and of the driver into ``RecordError``, naming the address."""
    failed = driver().Error
    try:
        yield
    except failed as error:
        message = (str(error).strip() or type(error).__name__).splitlines()[0]
        if "authentication method requirement" in message:
            do = _OTHER_METHOD
        raise RecordError(str(address), got=message, do=do) from error


def connect(address: Address, *, writing: bool = False) -> Connection:
    """Open a connection that sees the tables of the run under their plain names; the caller closes it.

    Unless ``writing``, all it asks sees one state of the database, and it can change nothing; if ``writing``, each
    statement outside a transaction is one of its own. A server that wants another proof than those of :data:`METHODS`
    gets none, unless the environment asks for that by ``PGREQUIREAUTH``: a folder of somebody else's may name any
    server.
    """
    psycopg = driver()
    more = {"client_encoding": "UTF8", "application_name": "townsquare"}
    if "connect_timeout" not in address.url and "PGCONNECT_TIMEOUT" not in os.environ:
        more["connect_timeout"] = str(_SECONDS)
    if "PGREQUIREAUTH" not in os.environ:
        more["require_auth"] = METHODS
    connection: Connection = psycopg.connect(address.url, autocommit=True, **more)
    try:
        connection.execute(f'SET search_path TO "{address.schema}"')  # pg_catalog comes before it, unsaid
        if writing:
            # A machine that is gone without a word holds its lock for a minute.
            for name, value in (("idle", 30), ("interval", 10), ("count", 3)):
                connection.execute(f"SET tcp_keepalives_{name} = {value}")
        else:
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.autocommit = False
    except psycopg.Error:
        connection.close()
        raise
    return connection


def check_server(connection: Connection, address: Address) -> None:
    """Refuse a server that cannot hold a run: too old, or with texts that are not UTF-8.

    Raises ``RecordError``.
    """
    version = connection.info.server_version // 10_000
    if version < LEAST_VERSION:
        raise RecordError(str(address), got=f"PostgreSQL {version}", allowed=f"{LEAST_VERSION} or later")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        do = "create the database with `createdb --encoding=UTF8 --template=template0`"
        raise RecordError(str(address), got=f"a database in {encoding}", allowed="UTF8", do=do)


def take_lock(connection: Connection, address: Address) -> None:
    """Let nobody else write this run until the connection ends, however that ends.

    Raises
    ------
    RunBusy
        Another recorder holds the lock; says which process of the server, and from where.
    """
    for _ in range(_TRIES):
        row = connection.execute("SELECT pg_try_advisory_lock(%s)", (_key(address),)).fetchone()
        if row and row[0]:
            return
        time.sleep(_PAUSE)
    holder = lock_holder(connection, address)
    got = f"server process {holder[0]} is writing it for {holder[1]}" if holder else "another process writes it"
    raise RunBusy(str(address), got=got, do="wait until it ends, or choose another schema with --record-schema")


def lock_holder(connection: Connection, address: Address) -> tuple[int, str] | None:
    """Return the server process that writes the run, and its client; None if nobody writes it."""
    key = _key(address) & (1 << 64) - 1
    query = """
        SELECT l.pid, coalesce(host(a.client_addr), 'a client on its own machine')
        FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND l.classid::bigint = %s AND l.objid::bigint = %s
    """
    row = connection.execute(query, (key >> 32, key & 0xFFFFFFFF)).fetchone()
    return (int(row[0]), str(row[1])) if row else None


def _key(address: Address) -> int:
    """Return the 64-bit number of the advisory lock, made from the name of the schema."""
    digest = hashlib.sha256(f"townsquare run {address.schema}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
