"""Storage of calls: in memory, in ``calls.db`` of a run, or layered.

``calls.db`` is SQLite in WAL mode: others may attach and read its one table ``ts_calls`` while it is written. A call
is on disk before :meth:`SqliteCalls.put_all` returns. Calls that end at the same moment share one commit.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any

from townsquare.core.errors import ModelError
from townsquare.core.private_files import make_file
from townsquare.models.contract import Call, CallStore, Outcome

FILE = "calls.db"
TABLE = "ts_calls"
COLUMNS = tuple(field.name for field in fields(Call))
_values = attrgetter(*COLUMNS)
_TYPES = {"str": "TEXT", "int": "INTEGER", "float": "REAL", "Outcome": "INTEGER"}
# Rows are in the order in which they came, and identities in an index of their own: in one tree by identity, rows of
# several kilobytes leave room for four branches a page, and each call would read and write pages all over the file.
_DECLARED = [f"{field.name} {_TYPES[str(field.type)]} NOT NULL" for field in fields(Call)]
_CREATE = f"CREATE TABLE IF NOT EXISTS {TABLE} ({', '.join(_DECLARED)}, PRIMARY KEY (identity))"
_INSERT = f"INSERT OR IGNORE INTO {TABLE} VALUES ({', '.join('?' * len(COLUMNS))})"
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM {TABLE}"
_BUSY_SECONDS = 30.0
_TOGETHER = 100  # calls that one query looks for


class MemoryCalls:
    """Calls in memory, for tests, forecasts and runs without a record.

    >>> MemoryCalls().get_all(["0" * 64])
    {}
    """

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}

    def get_all(self, identities: Sequence[str]) -> Mapping[str, Call]:
        """Return the recorded ones of these calls, by identity."""
        return {identity: self._calls[identity] for identity in identities if identity in self._calls}

    def put_all(self, calls: Sequence[Call]) -> None:
        """Record calls; one that is there already stays."""
        for call in calls:
            self._calls.setdefault(call.identity, call)

    def close(self) -> None:
        """Nothing to give back."""

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(list(self._calls.values()))


def recorded_calls(folder: Path) -> list[Call]:
    """Return the calls that are recorded in a folder; none where it holds no ``calls.db``."""
    if not (folder / FILE).is_file():
        return []
    with closing(SqliteCalls(folder, read_only=True)) as calls:
        return list(calls)


class SqliteCalls:
    """Calls in ``calls.db``. May be shared by threads and by clients; one process writes at a time.

    Parameters
    ----------
    path : path
        The file, or the folder of a run, whose ``calls.db`` is meant.
    read_only : bool
        For replays: the file must be there and is never changed.

    Raises
    ------
    ModelError
        The file cannot be opened, read or written.
    """

    def __init__(self, path: Path | str, *, read_only: bool = False) -> None:
        self.path = Path(path) / FILE if Path(path).is_dir() else Path(path)
        self._read_only = read_only
        self._lock = threading.Lock()
        if read_only and not self.path.is_file():
            do = "its calls were removed or never recorded: restore calls.db, or choose another run"
            raise ModelError(str(self.path), got="no such file", do=do)
        with self._explained():
            self._connection = self._connect()
            # Its own connection: who looks something up does not wait until what is being written is on disk.
            self._reader = self._connection if read_only else self._connect()
        self._reading = self._lock if read_only else threading.Lock()

    def _connect(self) -> sqlite3.Connection:
        if not self._read_only:
            make_file(self.path)
        uri = self.path.absolute().as_uri() + ("?mode=ro" if self._read_only else "")
        connection = sqlite3.connect(
            uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            if self._read_only:
                connection.execute("PRAGMA query_only=ON")
            else:
                # Calls cost money: none is lost in a power cut either.
                for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", _CREATE):
                    connection.execute(statement)
            connection.execute(f"{_SELECT} LIMIT 0")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def get_all(self, identities: Sequence[str]) -> Mapping[str, Call]:
        """Return the recorded ones of these calls, by identity."""
        calls = {}
        with self._reading, self._explained():
            for first in range(0, len(identities), _TOGETHER):
                some = identities[first : first + _TOGETHER]
                these = f"{_SELECT} WHERE identity IN ({', '.join('?' * len(some))})"
                calls.update({row[0]: _call(row) for row in self._reader.execute(these, some)})
        return calls

    def put_all(self, calls: Sequence[Call]) -> None:
        """Record calls in one commit; one that is there already stays."""
        if self._read_only:
            raise ModelError(str(self.path), got="a call to record", do="these calls were opened for reading only")
        rows = [_values(call) for call in calls]
        with self._lock, self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            with self._connection:
                self._connection.executemany(_INSERT, rows)

    def close(self) -> None:
        """Fold the log into the one file and close it."""
        with self._reading:
            if self._reader is not self._connection:
                self._reader.close()
        with self._lock:
            self._connection.close()

    def __len__(self) -> int:
        with self._lock, self._explained():
            (count,) = self._connection.execute(f"SELECT count(*) FROM {TABLE}").fetchone()
        return int(count)

    def __iter__(self) -> Iterator[Call]:
        with self._lock, self._explained():
            rows = self._connection.execute(f"{_SELECT} ORDER BY identity").fetchall()
        return map(_call, rows)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            do = "free disk space or choose another folder; recorded calls are safe"
            raise ModelError(str(self.path), got=str(error), do=do) from error


class Layered:
    """Reads through to another: what ``first`` does not hold, ``below`` may.

    For branches, which share the past of another run, and for ``serving.calls``. What is found below is put into
    ``first``, so that the run can be replayed by itself. ``below`` is not written to; closing closes both.

    >>> from townsquare.models.contract import Request
    >>> past = MemoryCalls()
    >>> Layered(MemoryCalls(), past).get_all(["0" * 64])
    {}
    """

    def __init__(self, first: CallStore, below: CallStore) -> None:
        self.first, self.below = first, below

    def get_all(self, identities: Sequence[str]) -> Mapping[str, Call]:
        """Return the recorded ones of these calls, by identity."""
        calls = self.first.get_all(identities)
        others = self.below.get_all([identity for identity in identities if identity not in calls])
        if others:
            self.first.put_all(list(others.values()))
        return {**calls, **others}

    def put_all(self, calls: Sequence[Call]) -> None:
        """Record calls in the first store."""
        self.first.put_all(calls)

    def close(self) -> None:
        """Close both."""
        self.first.close()
        self.below.close()


def _call(row: tuple[Any, ...]) -> Call:
    values = dict(zip(COLUMNS, row, strict=True))
    return Call(**{**values, "outcome": Outcome(values["outcome"])})
