"""Ends of runs: the state is stated last, a folder that is gone is noticed, one process alone writes a run."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import townsquare as ts
from repository import HELPERS
from townsquare.cli import main
from townsquare.core.errors import RecordError, RunBusy
from townsquare.record.contract import StepSummary

SCRIPT = HELPERS / "ended_runs.py"
QUICK = ["--quiet", "--agents", "12", "--steps", "4"]


def ended(what: str, folder: Path) -> list[dict[str, Any]]:
    """What came of the runs of ``ended_runs.py``, after checks that hold for each."""
    command = [sys.executable, str(SCRIPT), what, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for end in found["ends"]:
        before, after = end["before"], end["after"]
        if before.get("state") == "finished":
            assert before["check"] == "ok", end
            assert before["hash"] == found["hash"], end
        assert (end["resumed"], after["state"], after["check"]) == (0, "finished", "ok"), end
        assert after["hash"] == found["hash"], end
        assert not any(name.startswith("run.db-") for name in end["files"]), end
    ends: list[dict[str, Any]] = found["ends"]
    return ends


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of eight megabytes; None where none can be mounted."""
    where = tmp_path / "disk"
    where.mkdir()
    command = [shutil.which("mount") or "mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(where)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here: test_row_03_files_that_may_not_grow stands for it")
    try:
        yield where
    finally:
        subprocess.run(["umount", str(where)], check=True)


@pytest.mark.slow
def test_row_03_a_full_disk_at_the_end(small_disk: Path) -> None:
    ends = ended("full", small_disk / "runs")
    states = [(end["before"]["state"], end["before"]["steps"]) for end in ends]
    assert ("running", 13) in states, "no disk was full after the last step"
    assert ("finished", 13) in states, "no run could be closed"
    for end in ends:
        assert end["code"] in (0, 2)
        assert "Traceback" not in end["said"]


@pytest.mark.slow
def test_row_03_files_that_may_not_grow(tmp_path: Path) -> None:
    ends = ended("limited", tmp_path / "a" / "runs")
    assert any(end["code"] for end in ends), "no file was full"


@pytest.mark.slow
def test_row_03_kills_between_the_last_step_and_the_end(tmp_path: Path) -> None:
    ends = ended("kill", tmp_path / "a" / "runs")
    states = [end["before"].get("state") for end in ends]
    assert states.count("running") > 2
    assert "finished" in states


def whole(folder: Path, alone: Path) -> str:
    """What SQLite says of a copy of ``run.db`` alone."""
    alone.mkdir()
    shutil.copyfile(folder / "run.db", alone / "run.db")
    with closing(sqlite3.connect(alone / "run.db")) as connection:
        return str(connection.execute("PRAGMA quick_check").fetchone()[0])


def left_open(folder: Path, statement: str, *, mode: str) -> None:
    """Leave the folder as a process leaves it that is killed after ``statement``."""
    draft = folder.with_name("draft")
    shutil.copytree(folder, draft)
    with closing(sqlite3.connect(draft / "run.db", isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.execute("PRAGMA cache_size=1")
        if mode == "DELETE":
            connection.execute("BEGIN IMMEDIATE")
        connection.execute(statement)
        for file in draft.iterdir():
            shutil.copyfile(file, folder / file.name)
    shutil.rmtree(draft)


def test_row_03_resume_completes_a_finished_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert main(["run", "synthetic:20", *QUICK, "--out", str(folder)]) == 0
    left_open(folder, "DROP TABLE ts_prompts", mode="WAL")
    assert (folder / "run.db-wal").stat().st_size
    assert main(["resume", str(folder), "--quiet"]) == 0
    assert "single file now" in capsys.readouterr().err
    assert not (folder / "run.db-wal").exists()
    assert whole(folder, tmp_path / "alone") == "ok"
    assert main(["resume", str(folder), "--quiet"]) == 0
    assert "one whole file" not in capsys.readouterr().err
    assert ts.Run.open(tmp_path / "alone").verify() == ts.Run.open(folder).content_hash


def test_row_03_a_transaction_that_was_killed_outside_the_log(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert main(["run", "synthetic:20", *QUICK, "--out", str(folder)]) == 0
    content = ts.Run.open(folder).content_hash
    left_open(folder, "UPDATE ts_packed SET data = ''", mode="DELETE")
    assert (folder / "run.db-journal").stat().st_size
    assert main(["inspect", str(folder)]) == 0
    assert main(["resume", str(folder), "--quiet"]) == 0
    assert whole(folder, tmp_path / "alone") == "ok"
    assert ts.Run.open(tmp_path / "alone").verify() == content


# --- folders that go, and other processes ----------------------------------------------------------------------


def settings(*sets: str) -> ts.Settings:
    return ts.resolve_for("synthetic:20", None, list(sets), agents=12, steps=4)


@pytest.mark.parametrize("layout", [[], ["record.parquet_above=0"]])
def test_row_08_a_folder_that_is_moved(tmp_path: Path, layout: list[str]) -> None:
    old, new = tmp_path / "run", tmp_path / "moved"

    def move(mark: StepSummary) -> None:
        if mark.step == 2:
            old.rename(new)

    with pytest.raises(RecordError) as caught:
        ts.simulate(settings(*layout), old, on_step=move)
    assert caught.value.where == str(old)
    assert "moved, removed or replaced" in caught.value.got
    assert "steps up to 2 are safe" in caught.value.do
    assert not old.exists()
    assert ts.Run.open(new).last_step == 2
    ts.Run.open(new).verify()
    assert main(["resume", str(new), "--quiet"]) == 0
    assert ts.Run.open(new).content_hash == ts.simulate(settings(*layout)).content_hash


@pytest.mark.parametrize("layout", [[], ["record.parquet_above=0"]])
def test_row_08_a_folder_that_is_removed_or_replaced(tmp_path: Path, layout: list[str]) -> None:
    folder = tmp_path / "run"

    def replace(mark: StepSummary) -> None:
        if mark.step == 1:
            shutil.rmtree(folder)
        if mark.step == 1 and layout:
            folder.mkdir()

    steps = []
    with pytest.raises(RecordError) as caught:
        ts.simulate(settings(*layout), folder, on_step=lambda mark: steps.append(mark.step) or replace(mark))  # type: ignore[func-returns-value]
    assert "moved, removed or replaced" in caught.value.got
    assert steps == [0, 1], "the next commit was made into nothing"
    assert not folder.exists() or not list(folder.iterdir())


def test_row_08_a_database_that_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def replace(mark: StepSummary) -> None:
        if mark.step == 1:
            (folder / "run.db").rename(tmp_path / "old.db")
            (folder / "run.db").write_bytes(b"")

    with pytest.raises(RecordError) as caught:
        ts.simulate(settings(), folder, on_step=replace)
    assert caught.value.where == str(folder / "run.db")
    assert "moved, removed or replaced" in caught.value.got


def test_row_21_two_processes_after_the_lock_was_removed(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def other(mark: StepSummary) -> None:
        if mark.step == 1:
            (folder / "run.lock").unlink()
            ts.simulate(settings(), folder)

    with pytest.raises(RunBusy) as caught:
        ts.simulate(settings(), folder, on_step=other)
    assert "another process" in caught.value.got
    assert "disk" not in caught.value.do
    assert ts.Run.open(folder).state == "finished"
    assert ts.Run.open(folder).verify() == ts.simulate(settings()).content_hash


def test_row_21_another_process_that_is_writing(tmp_path: Path) -> None:
    """The second process has the lock while the first one comes to its next commit."""
    folder = tmp_path / "run"

    def first(mark: StepSummary) -> None:
        if mark.step == 1:
            (folder / "run.lock").unlink()
            ts.simulate(settings(), folder, on_step=second)

    def second(mark: StepSummary) -> None:
        if mark.step == 3:
            command = [sys.executable, "-m", "townsquare", "resume", str(folder)]
            assert subprocess.run(command, check=False, capture_output=True).returncode == 2

    with pytest.raises(RunBusy):
        ts.simulate(settings(), folder, on_step=first)
    assert ts.Run.open(folder).verify() == ts.simulate(settings()).content_hash


def test_row_21_a_lock_that_was_only_removed_is_taken_anew(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def remove(mark: StepSummary) -> None:
        if mark.step == 1:
            (folder / "run.lock").unlink()

    assert ts.simulate(settings(), folder, on_step=remove).state == "finished"
    assert (folder / "run.lock").read_text() == str(os.getpid())
