"""A run recorded into a folder: ``run.db``, and Parquet parts for the bulky tables of large runs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import astuple
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import yaml

from townsquare import schema
from townsquare.errors import RecordError, WrongVersion
from townsquare.record import database
from townsquare.record.batches import Batches
from townsquare.record.contract import STATES, RunHeader, StepMark, canonical_json, check_same_run
from townsquare.record.folder import FolderReader, header_from, info_of
from townsquare.record.lock import RunLock
from townsquare.record.parquet import remove_uncommitted, write_part
from townsquare.record.resume import check_next, check_same_step

SETTINGS_FILE = "run.yaml"
"""The resolved configuration, for people and for `townsquare run`; the database holds the one that counts."""
_NO_ROOM = "free some space if the disk is full, or choose another folder"
_UNREADABLE = "choose another folder, or remove this file to record anew"


class FolderRecorder:
    """Records into ``folder``, which is made if it is not there.

    A step is one transaction whose last row is that of ``ts_steps``: others see all of it or nothing, and so does the
    next recorder after this process was killed. Parts are on disk before the transaction that commits their step. A
    recording that is stopped before its first step leaves nothing behind.

    Parameters
    ----------
    folder : path
        Of one run. Files of the caller's own may stand there too.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._path = self.folder / database.FILE
        self._lock: RunLock | None = None
        self._connection: sqlite3.Connection | None = None
        self._bulky = False
        self._is_new = False
        self._last = -1

    def open(self, header: RunHeader) -> int:
        """Start a run, or go on with one: takes the lock, compares the header, removes what was never committed."""
        if self._lock is not None:
            raise ValueError(f"{self.folder} is open already")
        with database.explained(self.folder, _UNREADABLE):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = RunLock(self.folder)
        with ExitStack() as undo:
            undo.callback(self._give_up)
            self._is_new = not self._path.exists()
            with database.explained(self._path, _NO_ROOM if self._is_new else _UNREADABLE):
                self._connection = database.connect(self._path, writing=True)
                self._last = _start(self._connection, header, str(self.folder))
                remove_uncommitted(self.folder, self._last)
            undo.pop_all()
        self._bulky = header.bulky
        return self._last

    def save_step(self, out: Batches, mark: StepMark) -> None:
        """Commit the rows of a step, or compare those of a committed one."""
        connection = self._opened()
        if check_next(mark, out.step, self._last):
            (recorded,) = connection.execute("SELECT hash FROM ts_steps WHERE step = ?", (mark.step,)).fetchone()
            check_same_step(FolderReader(self.folder), out, mark, recorded)
            return
        parts = [name for name in out.tables() if self._bulky and schema.TABLES[name].bulky]
        with self._writing():
            for name in parts:
                write_part(self.folder, name, out.step, out.get(name))
            with database.transaction(connection):
                for name in out.tables():
                    if name not in parts:
                        database.insert(connection, name, out.get(name))
                counts = [(out.step, name, out.count(name)) for name in out.tables()] + [(out.step, "steps", 1)]
                connection.executemany("INSERT INTO ts_batches VALUES (?, ?, ?)", counts)
                marks = ", ".join("?" * len(schema.TABLES["steps"].recorded))
                connection.execute(f"INSERT INTO ts_steps VALUES ({marks})", astuple(mark))
        self._last = out.step

    def close(self, state: str, health: str = "") -> None:
        """End as ``"finished"`` or ``"stopped"``: makes the indexes and leaves one plain database file."""
        if state not in STATES[1:]:
            raise ValueError(f"state {state!r} is none of {STATES[1:]}")
        if self._connection is None:
            return
        if state == "stopped" and self._is_new and self._last < 0:
            self._discard()
            return
        try:
            with self._writing():
                _set(self._connection, {"state": state, "health": health})
                database.create_indexes(self._connection)
                database.fold_log(self._connection)
        finally:
            self._release()

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise ValueError(f"{self.folder} is not open")
        return self._connection

    @contextmanager
    def _writing(self) -> Iterator[None]:
        then = f"run `townsquare resume {self.folder}`: steps up to {self._last} are safe"
        if self._last < 0:
            then = "run it again: no step is recorded yet"
        do = f"free some space if the disk is full, then {then}"
        try:
            with database.explained(self._path, do):
                yield
        except pl.exceptions.PolarsError as error:
            raise RecordError(str(self.folder), got=str(error), do=do) from error

    def _give_up(self) -> None:
        """Leave things as they were before :meth:`open`."""
        if self._is_new:
            self._discard()
        self._release()

    def _discard(self) -> None:
        """Take away a database without a step, while nobody else can write there."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        for name in (SETTINGS_FILE, *(self._path.name + ending for ending in ("", "-wal", "-shm"))):
            with suppress(OSError):
                self._path.with_name(name).unlink()
        if self._lock is not None:
            self._lock.release(remove=True)
            self._lock = None

    def _release(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def write_settings(path: Path, header: RunHeader) -> None:
    """Write the resolved configuration as YAML."""
    path.write_text(
        yaml.safe_dump(json.loads(canonical_json(dict(header.settings))), allow_unicode=True), encoding="utf-8"
    )


def _start(connection: sqlite3.Connection, header: RunHeader, where: str) -> int:
    info = database.read_info(connection)
    tables = database.fingerprints()
    if not info:
        write_settings(Path(where) / SETTINGS_FILE, header)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        more = {"schema": tables, "created_at": created, "state": "running"}
        database.create(connection, info_of(header) | more)
        return -1
    check_same_run(where, header_from(info, where), header)
    if info["schema"] != tables:
        raise WrongVersion(f"{where}: tables", got="other tables or columns than were recorded", do="run it anew")
    _set(connection, {"state": "running"})
    (last,) = connection.execute("SELECT coalesce(max(step), -1) FROM ts_steps").fetchone()
    return int(last)


def _set(connection: sqlite3.Connection, info: Mapping[str, str]) -> None:
    connection.executemany("INSERT OR REPLACE INTO ts_run VALUES (?, ?)", info.items())
