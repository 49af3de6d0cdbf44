"""A run on a real PostgreSQL server: the command line, the lock, failures of the server, and what is refused.

What every recorder must do stands in ``test_record_parity.py`` and ``test_record_resume.py``, the views of appendix D
in ``test_appendix_d.py``; all of them run over PostgreSQL too.
"""

from __future__ import annotations

import os
import pickle
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from polars.testing import assert_frame_equal

import postgres_server
import townsquare as ts
from forked_commands import ForkedCommand
from postgres_server import ask, new_address
from raised_errors import raises_error
from random_records import header, random_batches, record, summary_of, wait_while_running
from record_writer import Writer
from townsquare.cli import main
from townsquare.core import schema
from townsquare.core.errors import HashMismatch, RecordError, RunBusy, SettingError
from townsquare.pages.view.library import Library
from townsquare.record.batches import Batches
from townsquare.record.content_hash import HashChain
from townsquare.record.postgresql.address import Address, address_in
from townsquare.record.postgresql.recorder import PostgresRecorder
from townsquare.record.run import Run

STEPS = [random_batches(step) for step in range(3)]
WORDS = ["synthetic:60", "--agents", "40", "--steps", "4", "--seed", "5", "--quiet"]


@pytest.fixture
def address() -> Address:
    return new_address()


# --- from the command line ---------------------------------------------------------------------------------


def test_the_commands_of_a_run(address: Address, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, beside = tmp_path / "On a Server", tmp_path / "beside"
    url = ["--record", address.url, "--record-schema", address.schema]
    assert main(["run", *WORDS, "--out", str(folder), *url]) == 0
    assert main(["run", *WORDS, "--out", str(beside)]) == 0
    assert {path.name for path in folder.iterdir()} == {"run.yaml", "record.yaml", "report.html"}
    run, other = Run.open(folder), Run.open(beside)
    assert run.verify() == other.content_hash
    assert Run.open(str(address)).content_hash == other.content_hash
    for words in (["inspect", str(folder), "--verify"], ["why", str(folder), "--agent", "3"]):
        assert main(words) == 0, words
    assert "PostgreSQL" in capsys.readouterr().out
    assert main(["export", str(folder), "--to", "sqlite", "--out", str(tmp_path / "export")]) == 0
    assert Run.open(tmp_path / "export").verify() == run.content_hash
    assert main(["replay", str(folder), "--quiet"]) == 0
    assert main(["resume", str(folder), "--quiet"]) == 0  # finished already
    assert main(["run", *WORDS, "--out", str(tmp_path / "again"), *url]) == 2
    assert "choose another schema with --record-schema" in capsys.readouterr().err


def test_the_schema_is_named_for_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / f"1 Rumor-{os.getpid()}"
    assert main(["run", *WORDS, "--out", str(folder), "--record", new_address().url]) == 0
    found = address_in(folder)
    assert found is not None
    assert found.schema == f"run_1_rumor_{os.getpid()}"


def test_a_killed_run_is_resumed_from_its_folder(address: Address, tmp_path: Path) -> None:
    """Killed in the middle of a step; the folder knows where the rest is."""
    folder = tmp_path / "run"
    words = ["synthetic:60", "--agents", "40", "--steps", "24", "--quiet"]
    url = ["--record", address.url, "--record-schema", address.schema]
    process = ForkedCommand(["run", *words, "--out", str(folder), *url], tmp_path / "said.txt")
    while _last_step(address) < 2:
        assert process.poll() is None, process.said
        time.sleep(0.01)
    process.send(signal.SIGKILL)
    process.wait()
    stopped = Run.open(folder)
    assert 2 <= stopped.last_step < 24
    wait_while_running(stopped)
    assert stopped.state == "stopped"
    assert main(["resume", str(folder), "--quiet"]) == 0
    whole = ts.simulate(ts.resolve_for("synthetic:60", agents=40, steps=24))
    assert Run.open(folder).verify() == whole.content_hash


def _last_step(address: Address) -> int:
    try:
        return Run.open(str(address)).last_step
    except RecordError:
        return -1


def test_the_viewer_reads_it(address: Address, tmp_path: Path) -> None:
    run = _recorded(address, tmp_path / "run")
    library = Library(tmp_path)
    (row,) = library.rows()
    assert row["error"] is None or "settings" in str(row["error"])
    posts = run.table("posts")
    picked = run.rows_where("posts", step=1)
    assert_frame_equal(picked, posts.filter(posts["step"] == 1))


# --- one writer --------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused(address: Address, tmp_path: Path) -> None:
    first = PostgresRecorder(tmp_path / "a", address)
    first.open(header())
    with raises_error(RunBusy, got=r"server process \d+ is writing it for 127\.0\.0\.1"):
        PostgresRecorder(tmp_path / "b", address).open(header())
    assert Run.open(str(address)).state == "running"
    first.close("stopped")
    assert PostgresRecorder(tmp_path / "b", address).open(header()) == -1


def test_the_lock_ends_with_a_killed_process(address: Address, tmp_path: Path) -> None:
    writer = Writer(tmp_path, "postgresql", 10_000)
    try:
        writer.until("open -1")
        there = address_in(tmp_path)
        assert there is not None
        with pytest.raises(RunBusy):
            PostgresRecorder(tmp_path, there).open(header())
    finally:
        writer.kill()
    recorder = PostgresRecorder(tmp_path, there)
    recorder.open(header())
    recorder.close("stopped")


def test_locks_of_other_schemas_are_others(tmp_path: Path) -> None:
    recorders = [PostgresRecorder(tmp_path / str(i), new_address()) for i in range(2)]
    assert [recorder.open(header()) for recorder in recorders] == [-1, -1]
    for recorder in recorders:
        recorder.close("stopped")


# --- failures ----------------------------------------------------------------------------------------------


def test_a_lost_connection_loses_no_committed_step(address: Address, tmp_path: Path) -> None:
    recorder, chain = PostgresRecorder(tmp_path, address), HashChain()
    recorder.open(header())
    recorder.save_step(STEPS[0], summary_of(STEPS[0], chain))
    ask(f"SELECT pg_terminate_backend({_writer(address)})")
    with raises_error(RecordError, do="steps up to 0 are safe"):
        recorder.save_step(STEPS[1], summary_of(STEPS[1], chain))
    with pytest.raises(RecordError):
        recorder.close("stopped")
    recorder.close("stopped")
    run = Run.open(tmp_path)
    assert (run.state, run.last_step) == ("stopped", 0)
    assert record(PostgresRecorder(tmp_path, address), STEPS) == 0
    assert run.verify() == run.content_hash


def _writer(address: Address) -> int:
    (row,) = ask("SELECT pid FROM pg_locks WHERE locktype = 'advisory' ORDER BY pid DESC LIMIT 1")
    return int(str(row[0]))


def test_a_reader_connects_again(address: Address, tmp_path: Path) -> None:
    run = _recorded(address, tmp_path)
    ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL")
    with raises_error(RecordError, do="check that the server runs"):
        _ = run.last_step
    assert run.last_step == 2
    assert pickle.loads(pickle.dumps(run)).content_hash == run.content_hash  # noqa: S301 - our own


def test_stopped_before_the_first_step_leaves_nothing(address: Address, tmp_path: Path) -> None:
    recorder = PostgresRecorder(tmp_path / "run", address)
    recorder.open(header())
    recorder.close("stopped")
    assert ask(f"SELECT 1 FROM pg_namespace WHERE nspname = '{address.schema}'") == []
    assert list((tmp_path / "run").iterdir()) == []
    ask(f"CREATE SCHEMA {address.schema}")  # an administrator made it: it stays
    recorder.open(header())
    recorder.close("stopped")
    assert len(ask(f"SELECT 1 FROM pg_namespace WHERE nspname = '{address.schema}'")) == 1
    assert ask(f"SELECT relname FROM pg_class WHERE relnamespace = '{address.schema}'::regnamespace") == []
    assert ask(f"SELECT proname FROM pg_proc WHERE pronamespace = '{address.schema}'::regnamespace") == []


def test_rows_that_were_changed_are_found(address: Address, tmp_path: Path) -> None:
    run = _recorded(address, tmp_path)
    table = f"{address.schema}.ts_beliefs"
    ask(f"UPDATE {table} SET proposition = proposition # 1 WHERE rowid = 1")
    with raises_error(HashMismatch, do="rows were changed"):
        run.verify()
    ask(f"UPDATE {address.schema}.ts_posts SET kind = kind + 256 WHERE rowid = 1")
    with raises_error(RecordError, where=r"ts_posts\.kind", got="a value out of range for its column"):
        run.table("posts")
    ask(f"DELETE FROM {table} WHERE rowid = 1")
    with raises_error(RecordError, allowed="as recorded"):
        run.table("beliefs")


# --- refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me:hunter2@host/db",
        "postgresql://me@host/db?password=hunter2",
        "postgresql://me@host/db?sslpassword=hunter2",
        "postgresql://me:hunter2@host:port/db",
        "postgresql://me:hunter2/db",
        "mysql://me:hunter2@host/db",
        "postgresql://host/?x=hunter2",
        "postgresql://me@host/db?options=hunter2",
        "postgresql://me@[hunter2/db",
    ],
)
def test_what_was_given_is_never_repeated(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingError) as caught:
        Address.parse(text, "run")
    assert "hunter2" not in str(caught.value)
    assert main(["run", *WORDS, "--out", str(tmp_path / "run"), "--record", text]) == 2
    said = capsys.readouterr()
    assert "hunter2" not in said.out + said.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["", "Runs", "1st", "pg_runs", 'a"b', "a b", "x" * 64, "ä"])
def test_names_of_schemas(name: str) -> None:
    with pytest.raises(SettingError):
        Address.parse("postgresql://me@host/db", name)


def test_a_schema_that_holds_something_else(address: Address, tmp_path: Path) -> None:
    ask(f"CREATE SCHEMA {address.schema} CREATE TABLE mine (a int)")
    with raises_error(RecordError, got="holds something other than a run"):
        PostgresRecorder(tmp_path / "run", address).open(header())
    with raises_error(RecordError, got="holds something other than a run"):
        Run.open(str(address))


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    if not postgres_server.is_here():
        pytest.skip(postgres_server.MISSING)
    nowhere = Address.parse("postgresql://me@127.0.0.1:1/db", "run")
    with raises_error(RecordError, do="check that the server runs"):
        PostgresRecorder(tmp_path / "run", nowhere).open(header())
    with raises_error(RecordError, got="no recorded run"):
        Run.open(str(new_address()))


def test_a_database_without_unicode(address: Address, tmp_path: Path) -> None:
    name = f"ascii_{os.getpid()}"
    ask(f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    other = Address.parse(address.url.rpartition("/")[0] + f"/{name}", "run")
    with raises_error(RecordError, got="a database in SQL_ASCII", allowed="UTF8"):
        PostgresRecorder(tmp_path / "run", other).open(header())


def test_a_folder_that_holds_another_run(address: Address, tmp_path: Path) -> None:
    _recorded(address, tmp_path / "run")
    with raises_error(RecordError, got=f"recorded at .*{address.schema}"):
        PostgresRecorder(tmp_path / "run", new_address()).open(header())
    (tmp_path / "run" / "record.yaml").write_text("postgresql: 3\n")
    with raises_error(RecordError, where=r"record\.yaml"):
        Run.open(tmp_path / "run")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT $$'$$; DROP TABLE ts_posts; --'",
        "SELECT * INTO mine FROM ts_posts",
        "WITH a AS (DELETE FROM ts_posts RETURNING *) SELECT * FROM a",
        "SELECT set_config('transaction_read_only', 'off', false), nextval('nothing')",
    ],
)
def test_queries_cannot_write(query: str, address: Address, tmp_path: Path) -> None:
    run = _recorded(address, tmp_path)
    with pytest.raises(SettingError):
        run.sql(query)
    assert run.verify() == run.content_hash


def test_values_are_as_sqlite_has_them(address: Address, tmp_path: Path) -> None:
    run = _recorded(address, tmp_path)
    query = "SELECT true AS yes, sum(agent::int8) AS whole, avg(agent) AS real, NULL AS none, '2025-01-01'::date AS day"
    row = run.sql(f"{query} FROM ts_exposures").row(0, named=True)
    agents = run.table("exposures")["agent"]
    assert (row["yes"], row["none"], row["day"]) == (1, None, "2025-01-01")
    assert row["whole"] == int(agents.cast(int).sum())
    assert row["real"] == pytest.approx(agents.mean())
    assert run.sql("SELECT 100 % 7 AS rest")["rest"].to_list() == [2]


def test_every_character_stays(address: Address, tmp_path: Path) -> None:
    contents = ["\0", "\ufdd0", "\ufdd00", "\ufdd0\0\ufdd0", "\ufdd0\ufdd00", "plain", "\\N", "\\."]
    out = Batches(0)
    out.add({"texts": schema.rows("texts", len(contents), text=np.arange(len(contents)), content=contents)})
    record(PostgresRecorder(tmp_path, address), [out])
    run = Run.open(tmp_path)
    assert run.table("texts")["content"].to_list() == contents
    assert run.sql("SELECT content FROM ts_texts ORDER BY text")["content"].to_list() == contents


def _recorded(address: Address, folder: Path) -> Run:
    record(PostgresRecorder(folder, address), STEPS)
    return Run.open(folder)
