"""A run as files for other programs: CSV, Parquet, JSON lines, or one SQLite database.

Everything is written into a folder next to the one that was asked for, ``<name>.part``; that gets its name when all of
it is there. What was stopped goes on with the same call: files that are done are kept.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from townsquare.core import schema
from townsquare.core.errors import RecordError, SettingError
from townsquare.core.frames import AS_WRITTEN
from townsquare.core.private_files import make_folder
from townsquare.core.spreadsheets import as_cells, safe_texts
from townsquare.record import code_book, database
from townsquare.record.frames import known_table
from townsquare.record.lock import FILE as LOCK
from townsquare.record.lock import RunLock
from townsquare.record.reader import info_of
from townsquare.record.run import Run

_SINKS: dict[str, Callable[..., object]] = {
    "csv": pl.LazyFrame.sink_csv, "parquet": pl.LazyFrame.sink_parquet, "jsonl": pl.LazyFrame.sink_ndjson,
}  # fmt: skip
FORMATS = (*_SINKS, "sqlite")
MANIFEST = "export.json"
_GO_ON = "free some space if the disk is full, then repeat the command: finished files are kept"

OnTable = Callable[[int, str], object]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is exported, and how.

    Attributes
    ----------
    to : str
        One of :data:`FORMATS`.
    tables : tuple of str
        Names of :data:`townsquare.core.schema.TABLES`, in its order.
    codes : bool
        Keep code words as the numbers that they are recorded as.
    safe_cells : bool
        Put an apostrophe before texts that a spreadsheet would take for a formula. Of CSV only.
    """

    to: str
    tables: tuple[str, ...]
    codes: bool = False
    safe_cells: bool = False

    @classmethod
    def of(cls, to: str, tables: Sequence[str] = (), *, codes: bool = False, safe_cells: bool = False) -> Plan:
        """Return a checked plan; no tables means all tables.

        Raises
        ------
        SettingError
            The format is unknown, or safe cells are asked of a format other than CSV.
        UnknownName
            A table does not exist.
        """
        if to not in FORMATS:
            raise SettingError("--to", got=repr(to), allowed=", ".join(FORMATS))
        if safe_cells and to != "csv":
            raise SettingError("--safe-cells", got=f"with --to {to}", allowed="with --to csv", do="leave it out")
        if codes and to == "sqlite":
            raise SettingError("--codes", got="with --to sqlite", do="leave it out: a database always holds numbers")
        chosen = {known_table(name).name for name in tables} or set(schema.TABLES)
        return cls(to, tuple(name for name in schema.TABLES if name in chosen), codes, safe_cells)


def export(run: Run, folder: Path, plan: Plan, on_table: OnTable | None = None) -> list[Path]:
    """Write the committed steps of a run into a new folder, and return the files there.

    Parameters
    ----------
    run : Run
        Finished or not: what it is at the moment of the call.
    folder : Path
        Is made; must not be there, or be empty.
    plan : Plan
        What to write.
    on_table : callable, optional
        Called before each table is written, with how many are done and its name; and when all are, with no name.

    Raises
    ------
    RecordError
        The folder is there, cannot be written, or the run cannot be read.
    RunBusy
        Another process writes the same export.
    """
    _check_unused(folder)
    draft = folder.with_name(f"{folder.name}.part")
    facts = _facts(run, plan)
    with database.explained(folder, _GO_ON):
        _begin(draft, facts)
        with closing(RunLock(draft)):
            (_write_database if plan.to == "sqlite" else _write_files)(run, draft, plan, facts, on_table or _nobody)
            words = code_book.code_book(plan.tables)
            as_cells(words, safe=plan.safe_cells).write_csv(draft / code_book.FILE)
            (draft / LOCK).unlink()
            draft.replace(folder)
    if on_table is not None:
        on_table(len(plan.tables), "")
    return sorted(folder.iterdir())


def shown(table: schema.Table, plan: Plan) -> list[pl.Expr]:
    """Return the columns of a table as the files of a plan hold them."""
    out = []
    for column in table.recorded:
        value = pl.col(column.name)
        if column.words is not None and not plan.codes:
            names = {int(word): word.name.lower() for word in column.words}
            codes = value.cast(pl.Int64)
            value = codes.replace_strict(names, default=codes.cast(pl.String), return_dtype=pl.String)
        elif column.dtype.startswith("f") and plan.to != "parquet":
            value = value.fill_nan(None)
        elif column.dtype == "str" and plan.safe_cells:
            value = safe_texts(value)
        out.append(value.alias(column.name))
    return out


def _nobody(_done: int, _name: str) -> None:
    """Ignore the progress."""


def _check_unused(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        what = "a non-empty folder" if folder.is_dir() else "a file"
        raise RecordError(str(folder), got=what, do="choose another folder with --out: export never overwrites files")


def _facts(run: Run, plan: Plan) -> dict[str, Any]:
    """Return the content of ``export.json``, which tells whether a draft is of the same export."""
    facts = {
        "townsquare": run.version,
        "content_hash": run.content_hash,
        "last_step": run.last_step,
        "state": run.state,
    }
    return facts | asdict(plan) | {"tables": list(plan.tables), "settings": dict(run.settings)}


def _begin(draft: Path, facts: Mapping[str, Any]) -> None:
    """Make the draft, or keep that of the same export; remove that of another one."""
    manifest = draft / MANIFEST
    if draft.exists() and not manifest.is_file() and any(draft.iterdir()):
        raise RecordError(str(draft), got="a folder that is not an export", do="remove it, or choose another --out")
    text = json.dumps(facts, indent=1, sort_keys=True) + "\n"
    if manifest.is_file() and manifest.read_text(encoding="utf-8") != text:
        shutil.rmtree(draft)
    make_folder(draft)
    manifest.write_text(text, encoding="utf-8")


def _write_files(run: Run, draft: Path, plan: Plan, facts: Mapping[str, Any], on_table: OnTable) -> None:
    for number, name in enumerate(plan.tables):
        on_table(number, name)
        final = draft / f"{name}.{plan.to}"
        if final.is_file():
            continue
        temporary = final.with_suffix(".tmp")
        rows = run.lazy(name, facts["last_step"]).select(shown(schema.TABLES[name], plan))
        try:
            _SINKS[plan.to](rows, temporary, optimizations=AS_WRITTEN)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            run.verify()  # names the place, if it was the run that could not be read
            raise RecordError(str(final), got=str(error).splitlines()[0], do=_GO_ON) from error
        temporary.replace(final)


def _write_database(run: Run, draft: Path, plan: Plan, facts: Mapping[str, Any], on_table: OnTable) -> None:
    """Write one SQLite database regardless of the layout of the run; with all tables, it is a recorded run itself.

    The rows that a step added to a table go in at once, and ``ts_batches`` says of which they are there.
    """
    with closing(database.connect(draft / database.FILE, writing=True)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            _create(connection, run, plan)
        done = set(connection.execute("SELECT name, step FROM ts_batches").fetchall())
        for number, name in enumerate(plan.tables):
            on_table(number, name)
            for step in range(facts["last_step"] + 1):
                if (name, step) not in done:
                    _copy(run.added(step)(name), connection, name, step)
        database.create_indexes(connection, plan.tables)
        database.fold_log(connection)


def _create(connection: sqlite3.Connection, run: Run, plan: Plan) -> None:
    if len(plan.tables) < len(schema.TABLES):
        with database.transaction(connection):
            database.create_tables(connection, plan.tables)
        return
    more = {"bulky": "false", "schema": database.fingerprints(), "state": run.state, "run_hash": run.run_hash}
    database.create(connection, info_of(replace(run.header, record_version=schema.RECORD_VERSION)) | more)


def _copy(columns: schema.Columns, connection: sqlite3.Connection, name: str, step: int) -> None:
    n = len(next(iter(columns.values())))
    if n:
        with database.transaction(connection):
            database.insert(connection, name, columns)
            connection.execute("INSERT INTO ts_batches VALUES (?, ?, ?)", (step, name, n))
