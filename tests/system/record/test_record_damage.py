"""Folders that are no runs, files that were changed, cut or lost, full disks: an error that names the place."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from changed_rows import change_rows
from forked_commands import Forked
from raised_errors import raises_error
from random_records import header, random_batches, record, recorded
from record_writer import write_until_the_disk_is_full
from townsquare.core import schema
from townsquare.core.errors import HashMismatch, RecordError, TownsquareError, WrongVersion
from townsquare.record.batches import Batches
from townsquare.record.content_hash import hashed_tables
from townsquare.record.run import Run
from townsquare.record.sqlite import FolderRecorder

STEPS = [random_batches(step, most=20, least=1) for step in range(3)]


def change(folder: Path, *statements: str) -> None:
    connection = sqlite3.connect(folder / "run.db")
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with raises_error(RecordError, got="no such folder"):
        Run.open(tmp_path / "nothing")
    with raises_error(RecordError, got=r"a folder without run\.db", do="name the folder of a recorded run"):
        Run.open(tmp_path)
    (tmp_path / "run.db").mkdir()
    for use in (lambda: Run.open(tmp_path), lambda: FolderRecorder(tmp_path).open(header())):
        with raises_error(RecordError, where=re.escape(str(tmp_path))):
            use()
    (tmp_path / "file").touch()
    with raises_error(RecordError, got="File exists"):
        FolderRecorder(tmp_path / "file").open(header())


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be looked at" * 50, b"short"])
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.db").write_bytes(content)
    with raises_error(RecordError, where=r"run\.db", got="not an SQLite database"):
        Run.open(tmp_path)
    with raises_error(RecordError, where=r"run\.db"):
        FolderRecorder(tmp_path).open(header())
    assert (tmp_path / "run.db").read_bytes() == content


def test_the_database_of_something_else(tmp_path: Path) -> None:
    change(tmp_path, "CREATE TABLE posts (id INTEGER)")
    for use in (lambda: Run.open(tmp_path), lambda: FolderRecorder(tmp_path).open(header())):
        with raises_error(RecordError, got="database without a run"):
            use()


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9])
def test_a_database_that_was_cut(tmp_path: Path, kept: float) -> None:
    recorded("sqlite", tmp_path, STEPS)
    path = tmp_path / "run.db"
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    with raises_error(RecordError, where=r"run\.db"):
        Run.open(tmp_path).verify()


def fault_of(folder: Path) -> str:
    """What reading all of a run says is wrong with it; empty if nothing."""
    try:
        run = Run.open(folder)
        for name in schema.TABLES:
            run.table(name)
        run.verify()
        run.sql("SELECT count(*) FROM ts_posts")
    except TownsquareError as error:
        return str(error)
    return ""


def test_bytes_that_were_overwritten(tmp_path: Path) -> None:
    recorded("sqlite", tmp_path, STEPS)
    content = (tmp_path / "run.db").read_bytes()
    assert fault_of(tmp_path) == ""
    rng = np.random.default_rng(4)
    faults = []
    for _ in range(40):
        at = int(rng.integers(0, len(content) - 64))
        (tmp_path / "run.db").write_bytes(content[:at] + rng.bytes(64) + content[at + 64 :])
        faults.append(fault_of(tmp_path))
    found = [fault for fault in faults if fault]
    assert found
    assert all(str(tmp_path) in fault for fault in found)


@pytest.mark.parametrize("table", hashed_tables())
def test_a_changed_value_is_found_in_its_step(tmp_path: Path, table: str) -> None:
    recorded("sqlite", tmp_path, STEPS)
    column = [column for column in schema.TABLES[table].recorded if column.hashed][-1]
    if schema.TABLES[table].packed:
        change_rows(tmp_path, table, 1, lambda rows: rows.with_columns(pl.col(column.name).shift(1, fill_value=1)))
    else:
        new = "'changed'" if column.dtype == "str" else f"CASE WHEN {column.name} = 1 THEN 0 ELSE 1 END"
        first = STEPS[0].count(table) + 1  # the first row of step 1
        change(tmp_path, f"UPDATE ts_{table} SET {column.name} = {new} WHERE rowid = {first}")
    with raises_error(HashMismatch, where="step 1"):
        Run.open(tmp_path).verify()


def test_lost_rows_and_steps(tmp_path: Path) -> None:
    recorded("sqlite", tmp_path, STEPS)
    change(tmp_path, "DELETE FROM ts_texts WHERE rowid = 2")
    change_rows(tmp_path, "beliefs", 1, lambda rows: rows[1:])
    run = Run.open(tmp_path)
    for table in ("texts", "beliefs"):
        with raises_error(RecordError, where=table, got=r"\d+ rows", allowed=r"\d+, as recorded"):
            run.table(table)
    change(tmp_path, "UPDATE ts_packed SET data = substr(data, 1, 200) WHERE name = 'trail' AND step = 1")
    with raises_error(RecordError, where="packed rows of trail", do="copy the whole folder"):
        run.table("trail")
    change(tmp_path, "DELETE FROM ts_steps WHERE step = 1")
    with pytest.raises(RecordError):
        run.verify()


def test_lost_and_torn_parts(tmp_path: Path) -> None:
    recorded("parquet", tmp_path, STEPS)
    run = Run.open(tmp_path)
    part = tmp_path / "parts" / "trail" / "step-000001.parquet"
    content = part.read_bytes()
    part.write_bytes(content[: len(content) // 2])
    for read in (lambda: run.table("trail"), run.verify):
        with raises_error(RecordError, where="trail"):
            read()
    part.unlink()
    for ask in (lambda: run.table("trail"), lambda: run.lazy("trail"), lambda: run.sql("SELECT * FROM ts_trail")):
        with raises_error(RecordError, where=r"step-000001\.parquet", got="a missing file of a committed step"):
            ask()
    assert run.table("trail", steps=(0, 0)).height == STEPS[0].count("trail")
    pl.read_parquet(part.with_name("step-000000.parquet")).write_parquet(part)
    with raises_error(RecordError, got="rows"):
        run.verify()


def test_a_changed_part_is_found_in_its_step(tmp_path: Path) -> None:
    recorded("parquet", tmp_path, STEPS)
    part = tmp_path / "parts" / "beliefs" / "step-000002.parquet"
    pl.read_parquet(part).with_columns(pl.col("proposition") ^ 1).write_parquet(part)
    with raises_error(HashMismatch, where="step 2"):
        Run.open(tmp_path).verify()


@pytest.mark.parametrize("kind", ["sqlite", "parquet"])
def test_a_full_disk_loses_no_committed_step(tmp_path: Path, kind: str) -> None:
    process = Forked(write_until_the_disk_is_full, (tmp_path, kind), tmp_path.with_name(f"{tmp_path.name}-said.txt"))
    assert process.wait() == 0, process.said
    assert str(tmp_path) in process.said
    assert f"run `townsquare resume {tmp_path}`: steps up to 2 are safe" in process.said
    run = Run.open(tmp_path)
    assert (run.state, run.last_step) == ("stopped", 2)
    run.verify()
    steps = [random_batches(step, most=200) for step in range(6)]
    assert record(FolderRecorder(tmp_path), steps, bulky=kind == "parquet") == 2
    assert run.last_step == 5
    run.verify()


@pytest.mark.parametrize("text", ["https://example.invalid/rows", "/etc/hostname", 7, None])
def test_packed_rows_that_are_no_bytes_are_never_opened(tmp_path: Path, text: object) -> None:
    recorded("sqlite", tmp_path, STEPS)
    with closing(sqlite3.connect(tmp_path / "run.db")) as connection, connection:
        connection.execute("CREATE TEMP TABLE old AS SELECT * FROM ts_packed")
        connection.execute("DROP TABLE ts_packed")
        connection.execute("CREATE TABLE ts_packed (step, name, data, beside)")
        connection.execute("INSERT INTO ts_packed SELECT step, name, ?, beside FROM old", (text,))
    with raises_error(RecordError, where="packed rows of trail", got="not bytes"):
        Run.open(tmp_path).table("trail")


OTHER_VALUES = {
    "whole numbers as real ones": pl.col("agent").cast(pl.Float64) + 0.5,
    "wider": pl.col("agent").cast(pl.Int64),
    "text": pl.col("agent").cast(pl.String),
    "nothing": pl.lit(None, pl.Int32).alias("agent"),
}


@pytest.mark.parametrize("kind", OTHER_VALUES)
def test_packed_values_of_another_type_are_refused(tmp_path: Path, kind: str) -> None:
    recorded("sqlite", tmp_path, STEPS)
    out = BytesIO()
    with closing(sqlite3.connect(tmp_path / "run.db")) as connection, connection:
        (data,) = connection.execute("SELECT data FROM ts_packed WHERE name = 'trail' AND step = 1").fetchone()
        pl.read_ipc_stream(data).with_columns(OTHER_VALUES[kind]).write_ipc_stream(out)
        connection.execute("UPDATE ts_packed SET data = ? WHERE name = 'trail' AND step = 1", (out.getvalue(),))
    run = Run.open(tmp_path)
    with raises_error(RecordError, where="packed rows of trail", got="type does not match"):
        run.verify()
    with pytest.raises(RecordError):
        run.table("trail")


def test_packed_rows_of_steps_that_are_not_committed_are_not_read(tmp_path: Path) -> None:
    recorded("sqlite", tmp_path, [STEPS[0], Batches(1), STEPS[2]])
    run = Run.open(tmp_path)
    before = run.rows_where("trail", step=[0, 1, 2])
    change(tmp_path, "INSERT INTO ts_packed SELECT 1, name, data, beside FROM ts_packed WHERE step = 0")
    assert run.verify() == run.content_hash
    assert run.rows_where("trail", step=[0, 1, 2]).equals(before, null_equal=True)


def test_a_table_with_other_columns_is_left_to_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded("sqlite", tmp_path, STEPS)
    notes = schema.TABLES["notes"]
    more = schema.Table("notes", notes.meaning, (*notes.columns, schema.Column("length", "i4", "how long")))
    monkeypatch.setitem(schema.TABLES, "notes", more)
    monkeypatch.setitem(schema.TABLES, "gossip", schema.Table("gossip", "new", (schema.Column("gossip", "i4", "row"),)))
    run = Run.open(tmp_path)
    with raises_error(WrongVersion, where="table notes", do=r"read it with Townsquare 0\.1\.0"):
        run.table("notes")
    assert run.table("gossip").height == 0
    assert run.table("posts").height == sum(out.count("posts") for out in STEPS)
    with raises_error(WrongVersion, got="other tables or columns"):
        FolderRecorder(tmp_path).open(header())


def test_odd_names_of_folders(tmp_path: Path) -> None:
    folder = tmp_path / "a b%20c#d?e'f" / "run ü"
    run = recorded("parquet", folder, STEPS)
    assert run.verify() == Run.open(str(folder)).content_hash
    glob = recorded("parquet", tmp_path / "run[1]*", STEPS)
    assert glob.verify() == run.content_hash
