"""Records changed from outside: rows of a folder's run, wherever they are in its database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl

from townsquare.core import schema
from townsquare.record import packed
from townsquare.record.export import Plan, export
from townsquare.record.frames import from_frame
from townsquare.record.run import Run

Change = Callable[[pl.DataFrame], pl.DataFrame]


def change_rows(folder: Path, table: str, step: int, change: Change) -> None:
    """Replace the packed rows that a step added to a table."""
    with closing(sqlite3.connect(folder / "run.db")) as connection, connection:
        rows = packed.read(connection, table, schema.TABLES[table].recorded, [step])
        connection.execute("DELETE FROM ts_packed WHERE name = ? AND step = ?", (table, step))
        packed.write(connection, step, table, from_frame(table, change(rows)))


def as_rows(folder: Path) -> None:
    """Make the run of a folder one of an earlier version, which recorded all tables as rows of SQLite."""
    export(Run.open(folder), folder / "rows", Plan.of("sqlite"))
    (folder / "rows" / "run.db").replace(folder / "run.db")
