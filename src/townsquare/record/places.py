"""Where the run of a folder is recorded: in the folder, or on a server that a file of it names."""

from __future__ import annotations

from pathlib import Path

from townsquare.record import database
from townsquare.record.folder import FolderReader
from townsquare.record.postgresql.address import FILE, address_in
from townsquare.record.postgresql.reader import PostgresReader
from townsquare.record.postgresql.recorder import PostgresRecorder
from townsquare.record.reader import RunReader
from townsquare.record.sqlite import FolderRecorder


def record_file(folder: Path) -> Path:
    """Return the file that marks a folder as a run: the database, or the address of the server."""
    path = folder / FILE
    return path if path.is_file() else folder / database.FILE


def reader_of(folder: Path) -> RunReader:
    """Return a reader of the run of a folder; raises ``RecordError`` if it cannot be read."""
    address = address_in(folder)
    return FolderReader(folder) if address is None else PostgresReader(address)


def recorder_of(folder: Path) -> FolderRecorder | PostgresRecorder:
    """Return a recorder that continues the run of a folder, or begins one in it."""
    address = address_in(folder)
    return FolderRecorder(folder) if address is None else PostgresRecorder(folder, address)
