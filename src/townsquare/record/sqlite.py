"""A run recorded into a folder: ``run.db``, with the largest tables packed, and Parquet parts in large runs."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import polars as pl
import yaml

from townsquare.core import schema
from townsquare.core.errors import RecordError, RunBusy
from townsquare.core.extras import library
from townsquare.core.identity import canonical_json
from townsquare.core.private_files import make_file, make_folder
from townsquare.record import database, packed
from townsquare.record.batches import Batches
from townsquare.record.contract import RunHeader, StepSummary, check_same_run, summary_rows
from townsquare.record.folder import FolderReader
from townsquare.record.lock import RunLock
from townsquare.record.parquet import remove_uncommitted, write_part
from townsquare.record.reader import begun_now, header_from
from townsquare.record.recorder import DatabaseRecorder

SETTINGS_FILE = "run.yaml"
"""The resolved configuration, for people and for `townsquare run`; the database holds the one that counts."""
SCENARIO_COPY = "scenario-copy"
"""What the folder with the copy of the run's scenario is called."""
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # what is in C takes a sixth of the time
_NO_ROOM = "free some space if the disk is full, or choose another folder"
_LOST = "the folder or file was moved, removed or replaced during the run"
_OTHER_WRITER = ("SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_BUSY", "SQLITE_BUSY_SNAPSHOT")
_UNREADABLE = "choose another folder, or remove this file to start over"


class FolderRecorder(DatabaseRecorder):
    """Record a run into ``folder``, which is created if it does not exist.

    Readers see a step completely or not at all, even if this process is killed. A recording that stops before its
    first step leaves no files.

    Parameters
    ----------
    folder : path
        Folder of one run. It may also hold your own files.
    """

    def __init__(self, folder: Path | str) -> None:
        super().__init__(folder, str(folder))
        self._path = self.folder / database.FILE
        self._lock: RunLock | None = None
        self._opened_as: tuple[os.stat_result, os.stat_result] | None = None
        self._had_copy = False
        self._elsewhere: dict[str, str] = {}

    def open(self, header: RunHeader) -> int:
        """Start a run or continue the same run; return the last committed step, -1 for none.

        Only one process can record in a folder. What an interrupted step left is removed.
        """
        if self._lock is not None:
            raise ValueError(f"{self.folder} is open already")
        if header.bulky:
            library("pyarrow", "a run with more exposures than record.parquet_above, recorded in Parquet")
        with database.explained(self.folder, _UNREADABLE):
            make_folder(self.folder)
            self._lock = RunLock(self.folder)
        with ExitStack() as undo:
            undo.callback(self._give_up)
            self._is_new = not self._path.exists()
            self._had_copy = (self.folder / SCENARIO_COPY).exists()
            with database.explained(self._path, _NO_ROOM if self._is_new else _UNREADABLE):
                self._connection = database.connect(self._path, writing=True)
                self._last = _start(self._connection, header, str(self.folder))
                self._dense: dict[str, schema.Columns | None] = {}
                remove_uncommitted(self.folder, self._last)
                self._opened_as = self.folder.stat(), self._path.stat()
                self._elsewhere = database.elsewhere(database.read_info(self._connection))
            undo.pop_all()
        self._is_lost = False
        return self._last

    def _write(self, steps: Sequence[tuple[Batches, StepSummary]]) -> None:
        outs = [out for out, _ in steps]
        rows = Batches.joined(outs)
        stored = {name: self._elsewhere.get(name, database.SQLITE) for name in rows.tables()}
        counts = [(out.step, name, out.count(name)) for out in outs for name in out.tables()]
        for out in outs:
            for name in out.tables():
                if stored[name] == database.PARQUET:
                    write_part(self.folder, name, out.step, out.get(name))
        with database.transaction(self._connection):
            self._check_ours()  # who opens the run now waits for this transaction, and reads what it commits
            for name, where in stored.items():
                if where == database.SQLITE:
                    database.insert(self._connection, name, rows.get(name))
                elif where == database.PACKED:
                    before = self._dense.get(name)
                    self._dense[name] = packed.write(self._connection, rows.step, name, rows.get(name), before)
            counts += [(out.step, "steps", 1) for out in outs]
            self._connection.executemany("INSERT INTO ts_batches VALUES (?, ?, ?)", counts)
            database.insert(self._connection, "steps", summary_rows([summary for _, summary in steps]))

    def _reader(self) -> FolderReader:
        return FolderReader(self.folder)

    def _end(self, info: dict[str, str]) -> None:
        database.complete(self._connection, info)

    def _check_ours(self) -> None:
        """Refuse to write where the folder or the database is another one by now, or another process writes too."""
        assert self._opened_as is not None
        assert self._lock is not None
        safe = f"steps up to {self._last} are safe" if self._last >= 0 else "no step is recorded yet"
        for path, before in zip((self.folder, self._path), self._opened_as, strict=True):
            if not _is_same(path, before):
                self._is_lost = True
                do = f"{safe} in the moved folder: run `townsquare resume` with its new name"
                raise RecordError(str(path), got=_LOST, do=f"{do}; if it was removed, repeat the run")
        try:
            self._lock.renew()
        except RunBusy as error:
            self._is_lost = True
            raise _busy(self.folder, error.got, safe) from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        do = f"free some space if the disk is full, then {self._next}"
        try:
            with database.explained(self._path, do), self._alone():
                self._check_ours()
                yield
        except pl.exceptions.PolarsError as error:
            raise RecordError(str(self.folder), got=str(error), do=do) from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Raise ``RunBusy`` where the database shows another writer, regardless of what the lock says."""
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") not in _OTHER_WRITER:
                raise
            self._is_lost = True
            safe = f"steps up to {self._last} are safe" if self._last >= 0 else "its steps are safe"
            raise _busy(self.folder, f"rows written by another process ({error})", safe) from error

    def _give_up(self) -> None:
        """Restore the state before :meth:`open`."""
        if self._is_new:
            self._discard()
        self._release()

    def _discard(self) -> None:
        """Remove a database without a step, while nobody else can write there."""
        if self._connection is not None:
            self._connection.close()
        for name in (SETTINGS_FILE, *(self._path.name + ending for ending in ("", "-wal", "-shm"))):
            with suppress(OSError):
                self._path.with_name(name).unlink()
        if not self._had_copy:
            shutil.rmtree(self.folder / SCENARIO_COPY, ignore_errors=True)
        assert self._lock is not None
        self._lock.close(remove=True)

    def _release(self) -> None:
        for resource in (self._connection, self._lock):
            if resource is not None:
                resource.close()
        self._connection = self._lock = None


def write_settings(path: Path, header: RunHeader) -> None:
    """Write the resolved configuration as YAML."""
    make_file(path)
    plain = json.loads(canonical_json(dict(header.settings)))
    path.write_text(yaml.dump(plain, Dumper=_DUMPER, allow_unicode=True), encoding="utf-8")


def _start(connection: sqlite3.Connection, header: RunHeader, where: str) -> int:
    info = database.read_info(connection)
    if not info:
        write_settings(Path(where) / SETTINGS_FILE, header)
        packed_tables = ",".join(name for name, table in schema.TABLES.items() if table.packed)
        database.create(connection, begun_now(header) | ({} if header.bulky else {"packed": packed_tables}))
        return -1
    check_same_run(where, header_from(info, where), header)
    database.bring_up(connection, info, where)
    (last,) = connection.execute("SELECT coalesce(max(step), -1) FROM ts_steps").fetchone()
    return int(last)


def _busy(folder: Path, got: str, safe: str) -> RunBusy:
    do = f"{safe}; let only one process write the run, then use `townsquare resume {folder}`"
    return RunBusy(str(folder), got=got, do=do)


def _is_same(path: Path, before: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), before)
    except (FileNotFoundError, NotADirectoryError):
        return False


def complete(folder: Path) -> bool:
    """Make the finished run of a folder one whole file, if closing it was interrupted; whether it was.

    Raises
    ------
    RunBusy
        Another process writes it.
    RecordError
        It cannot be written.
    """
    path = folder / database.FILE
    do = f"free some space if the disk is full, then run `townsquare resume {folder}`: all steps are safe"
    with database.explained(path, do):
        if not path.is_file() or database.is_whole(path):
            return False
        with closing(RunLock(folder)), closing(database.connect(path, writing=True)) as connection:
            database.complete(connection, {})
    return True
