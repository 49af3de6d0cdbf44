"""`townsquare prune`: lists, asks, removes only what is ours and nobody writes, and follows no link."""

from __future__ import annotations

import json
import os
import pty
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import townsquare as ts
from raised_errors import raises_error
from townsquare.cli import main
from townsquare.core.errors import RecordError, RunBusy
from townsquare.experiments.pruning import plan, remove
from townsquare.pages.report import write_report
from townsquare.record.contract import StepSummary
from townsquare.record.lock import RunLock

LONG_AGO = time.time() - 60 * 86_400
STOPPED, FINISHED = "stopped", "finished"


def record(folder: Path, *sets: str, stop_after: int | None = None, report: bool = False, age: bool = True) -> Path:
    """A run of three steps, or one that was stopped; last written 60 days ago."""

    def on_step(mark: StepSummary) -> None:
        if mark.step == stop_after:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        run = ts.simulate(ts.resolve_for("synthetic:20", None, sets, agents=8, steps=3), folder, on_step=on_step)
        if report:
            write_report(run, folder / "report.html")
    if age:
        for file in folder.glob("*.db*"):
            os.utime(file, (LONG_AGO, LONG_AGO))
    return folder


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but for what readers of SQLite leave, with its content; links as what they point at."""
    return {
        path.relative_to(folder).as_posix(): os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if (path.is_file() or path.is_symlink()) and not path.name.endswith(("-shm", "-wal"))
    }


def pruned(folder: Path, *options: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What the command says it did, with --yes."""
    capsys.readouterr()
    code = main(["prune", str(folder), "--yes", "--json", *options])
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == any(run["error"] for run in said["runs"])
    return said


def test_row_18_without_a_terminal_and_without_yes_nothing_is_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path / "runs" / "one", stop_after=2)
    size = (tmp_path / "runs" / "one" / "run.db").stat().st_size
    before = files(tmp_path)
    with Path(os.devnull).open(encoding="ascii") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert main(["prune", str(tmp_path / "runs")]) == 2
        said = capsys.readouterr()
        assert main(["prune", str(tmp_path / "runs"), "--json"]) == 2
    listed = json.loads(capsys.readouterr().out)
    assert "unfinished, stopped after step 2" in said.out
    assert "--yes" in said.err
    assert [run["removed"] for run in listed["runs"]] == [False]
    assert listed["bytes"] == listed["runs"][0]["bytes"] >= size
    assert files(tmp_path) == before


def test_row_18_unfinished_runs_go_and_all_others_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = tmp_path / "runs"
    record(runs / "empty", stop_after=0)
    record(runs / "part", "record.parquet_above=0", stop_after=2)
    record(runs / "recent", stop_after=2, age=False)
    record(runs / "done", report=True)
    (runs / "part" / "my-notes.txt").write_text("mine", encoding="utf-8")
    (runs / "part" / "view-lines.json").write_text("{}", encoding="utf-8")  # as the viewer writes it
    (runs / "part" / "parts" / "beliefs" / "mine.parquet").write_text("mine", encoding="utf-8")
    kept = {name: files(runs / name) for name in ("recent", "done")}
    bytes_before = sum(len(content) for content in files(runs).values())
    said = pruned(runs, capsys=capsys)
    assert {Path(run["run"]).name: run["what"] for run in said["runs"]} == {
        "empty": "unfinished, without a step", "part": "unfinished, stopped after step 2",
    }  # fmt: skip
    assert not (runs / "empty").exists()
    assert files(runs / "part") == {"my-notes.txt": b"mine", "parts/beliefs/mine.parquet": b"mine"}
    assert {name: files(runs / name) for name in kept} == kept
    assert {Path(run["run"]).name: run["why"] for run in said["stays"]} == {
        "recent": "written too recently", "done": "finished",
    }  # fmt: skip
    assert said["bytes"] == pytest.approx(bytes_before - sum(map(len, files(runs).values())), rel=0.01)
    assert pruned(runs, "--older", "0h", capsys=capsys)["runs"][0]["what"] == "unfinished, stopped after step 2"
    assert sorted(path.name for path in runs.iterdir()) == ["done", "part"]


def test_row_18_records_go_and_reports_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path / "bulky", "record.parquet_above=0", "policy=llm", "model=fake", report=True)
    record(tmp_path / "unreported")
    unreported = files(tmp_path / "unreported")
    report = (tmp_path / "bulky" / "report.html").read_bytes()
    for name in ("beliefs", "lines", "activity", "influence"):
        (tmp_path / "bulky" / f"view-{name}.json").write_text("{}", encoding="utf-8")  # as the viewer writes them
    said = pruned(tmp_path, "--older", "30d", "--keep-reports", capsys=capsys)
    assert [run["what"] for run in said["runs"]] == ["finished, report stays"]
    assert set(files(tmp_path / "bulky")) == {"report.html", "run.yaml"}
    assert (tmp_path / "bulky" / "report.html").read_bytes() == report
    assert not (tmp_path / "bulky" / "parts").exists()
    assert files(tmp_path / "unreported") == unreported
    assert said["stays"][0]["why"] == "finished, without a report"


def test_row_18_call_stores_go_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path / "asked", "policy=llm", "model=fake", report=True)
    record(tmp_path / "silent")
    before = files(tmp_path)
    said = pruned(tmp_path, "--calls", capsys=capsys)
    assert [(Path(run["run"]).name, run["what"]) for run in said["runs"]] == [("asked", "calls of a finished run")]
    after = files(tmp_path)
    assert set(before) - set(after) == {"asked/calls.db"}
    assert all(after[name] == before[name] for name in after if not name.endswith("run.lock"))
    asked = ts.Run.open(tmp_path / "asked")
    assert asked.verify() == asked.content_hash


def test_row_18_runs_of_a_comparison_leave_its_report_and_outcomes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "synthetic:20", "--agents", "8", "--steps", "2", "--vary", "moderation.strategy=none,hybrid"]
    assert main([*words, "--seeds", "1", "--workers", "1", "--out", str(tmp_path / "c"), "--quiet"]) == 0
    for file in tmp_path.rglob("*.db"):
        os.utime(file, (LONG_AGO, LONG_AGO))
    lock = RunLock(tmp_path / "c")  # as a comparison that is going on has it
    assert {run["why"] for run in pruned(tmp_path, "--keep-reports", capsys=capsys)["stays"]} == {"being written"}
    one_arm = pruned(tmp_path / "c" / "strategy-none", "--keep-reports", capsys=capsys)
    assert {run["why"] for run in one_arm["stays"]} == {"being written"}
    lock.close()
    assert len(pruned(tmp_path, "--keep-reports", capsys=capsys)["runs"]) == 2
    left = set(files(tmp_path / "c"))
    assert {"experiment.json", "report.html"} <= left
    assert not [name for name in left if name.endswith(".db")]


def test_row_18_a_run_that_is_being_written_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = record(tmp_path / "one", stop_after=1)
    found = plan(tmp_path, time.time())
    lock = RunLock(folder)
    assert pruned(tmp_path, capsys=capsys)["stays"] == [{"run": str(folder), "why": "being written"}]
    with pytest.raises(RunBusy):
        remove(found, found.items[0])
    assert (folder / "run.db").is_file()
    lock.close()
    os.utime(folder / "run.db")
    with raises_error(RecordError, got="written after the list was made"):
        remove(found, found.items[0])
    assert (folder / "run.db").is_file()


@pytest.mark.parametrize("which", ["run.db", "run.lock", "report.html", "parts", "parts/beliefs"])
def test_row_18_no_link_is_followed(which: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside, runs = tmp_path / "outside", tmp_path / "runs"
    folder = record(runs / "one", "record.parquet_above=0", stop_after=2)
    record(outside / "run", stop_after=1)
    (runs / "linked").symlink_to(outside / "run")
    (outside / "report.html").write_text("a page", encoding="utf-8")
    target = outside / which.replace("/", "-")
    if (folder / which).exists():
        (folder / which).rename(target)
    (folder / which).symlink_to(target if target.exists() else outside / "report.html")
    before = files(tmp_path)
    said = pruned(runs, "--older", "0h", capsys=capsys)
    assert said["runs"] == []
    assert [run["why"] for run in said["stays"]] == ["holds a symbolic link"]
    assert files(tmp_path) == before
    (folder / which).unlink()
    pruned(runs, "--older", "0h", capsys=capsys)
    assert {name for name in before if name.startswith("outside/")} <= set(files(tmp_path))


def test_row_18_what_is_no_run_of_ours_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("text", "database", "blank", "server", "photos"):
        (tmp_path / name).mkdir()
    (tmp_path / "text" / "run.db").write_text("a diary", encoding="utf-8")
    connection = sqlite3.connect(tmp_path / "database" / "run.db")
    connection.execute("CREATE TABLE miles (n INTEGER)")
    connection.close()
    (tmp_path / "blank" / "run.db").touch()
    (tmp_path / "photos" / "report.html").write_text("mine", encoding="utf-8")
    (tmp_path / "server" / "record.yaml").write_text("postgresql: postgresql://h/d\nschema: s\n", encoding="utf-8")
    before = files(tmp_path)
    said = pruned(tmp_path, "--older", "0h", "--keep-reports", "--calls", capsys=capsys)
    assert said["runs"] == []
    assert {Path(run["run"]).name: run["why"] for run in said["stays"]} == {
        "text": "cannot be read as a run", "database": "cannot be read as a run", "server": "recorded on a server",
    }  # fmt: skip
    assert files(tmp_path) == before


def test_row_18_a_run_killed_while_its_tables_were_made_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one").mkdir()
    for name in ("run.db", "run.lock", "run.yaml"):
        (tmp_path / "one" / name).touch()
    pruned(tmp_path, "--older", "0h", capsys=capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("answer", "goes"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_row_18_it_asks_at_a_terminal(answer: str, goes: bool, tmp_path: Path) -> None:
    folder = record(tmp_path / "one", stop_after=1)
    ours, theirs = pty.openpty()
    try:
        command = [sys.executable, "-m", "townsquare", "prune", str(tmp_path)]
        os.write(ours, answer.encode())
        done = subprocess.run(command, stdin=theirs, capture_output=True, text=True, timeout=120, check=False)
    finally:
        os.close(theirs)
        os.close(ours)
    assert done.returncode == 0
    assert "Remove these 1 (" in done.stderr
    assert folder.exists() is not goes


@pytest.mark.parametrize("older", ["", "30", "d", "-1d", "30 days", "9999999999d", "1e3d"])
def test_row_18_a_wrong_age_is_refused(older: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prune", str(tmp_path), f"--older={older}", "--yes"]) == 2
    assert "--older" in capsys.readouterr().err


def test_row_18_a_folder_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prune", str(tmp_path / "none"), "--yes"]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_row_18_a_link_that_was_put_there_since_the_list_was_made_is_not_followed(tmp_path: Path) -> None:
    folder = record(tmp_path / "runs" / "one", stop_after=1)
    found = plan(tmp_path / "runs", time.time())
    (tmp_path / "diary").write_text("mine", encoding="utf-8")
    (folder / "run.lock").unlink()
    (folder / "run.lock").symlink_to(tmp_path / "diary")
    with raises_error(RecordError, got="symbolic link"):
        remove(found, found.items[0])
    assert (tmp_path / "diary").read_text(encoding="utf-8") == "mine"
    assert (folder / "run.db").is_file()
