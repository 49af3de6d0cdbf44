"""Stopping, killing, going on: what is committed stays, what is not leaves no trace, and nobody writes twice."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from raised_errors import raises_error
from random_records import (
    KINDS,
    ON_DISK,
    header,
    random_batches,
    record,
    recorded,
    recorder_of,
    summary_of,
    wait_while_running,
)
from record_writer import Writer
from townsquare.core import schema
from townsquare.core.errors import HashMismatch, RecordError, RunBusy, WrongVersion
from townsquare.record.batches import Batches
from townsquare.record.content_hash import HashChain
from townsquare.record.memory import MemoryRecorder
from townsquare.record.run import Run
from townsquare.record.sqlite import FolderRecorder

STEPS = [random_batches(step) for step in range(6)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_equals_one_that_was_not_stopped(kind: str, tmp_path: Path) -> None:
    whole = recorded(kind, tmp_path / "whole", STEPS)
    recorder = recorder_of(kind, tmp_path / "parts")
    bulky = kind == "parquet"
    assert record(recorder, STEPS[:2], close="stopped", bulky=bulky) == -1
    assert record(recorder, STEPS[:4], close="stopped", bulky=bulky) == 1
    assert record(recorder, STEPS, bulky=bulky) == 3
    assert record(recorder, STEPS, bulky=bulky) == 5  # a finished run may be executed again, to check it
    run = Run.of(recorder) if isinstance(recorder, MemoryRecorder) else Run.open(tmp_path / "parts")
    assert (run.state, run.last_step) == ("finished", 5)
    assert run.verify() == whole.content_hash
    for name in schema.TABLES:
        assert run.table(name).equals(whole.table(name), null_equal=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_that_comes_out_otherwise_is_refused_and_shown(kind: str, tmp_path: Path) -> None:
    recorder = recorder_of(kind, tmp_path)
    record(recorder, STEPS[:3], close="stopped", bulky=kind == "parquet")
    rows = {name: STEPS[1].get(name) for name in STEPS[1].tables()}
    agents = rows["exposures"]["agent"].copy()  # type: ignore[union-attr]
    agents[0] += 1
    other = Batches(1)
    other.add(rows | {"exposures": {**rows["exposures"], "agent": agents}})
    said = rf"step 1.*hash.*first difference: exposures, row 0 of the step, agent: .* now {agents[0]}"
    with pytest.raises(HashMismatch, match=said):
        record(recorder, [STEPS[0], other], close=None, bulky=kind == "parquet")
    recorder.close("stopped")
    fewer = Batches(1)
    fewer.add({name: value for name, value in rows.items() if name != "posts"})
    with raises_error(HashMismatch, do="posts has 0 rows in the step, recorded"):
        record(recorder, [STEPS[0], fewer], close=None, bulky=kind == "parquet")
    recorder.close("stopped")


@pytest.mark.parametrize("kind", KINDS)
def test_another_version_or_other_settings_are_refused(kind: str, tmp_path: Path) -> None:
    recorder = recorder_of(kind, tmp_path)
    bulky = kind == "parquet"
    record(recorder, STEPS[:2], close="stopped", bulky=bulky)
    with raises_error(WrongVersion, where="version", got=r"0\.2\.0", allowed=r"0\.1\.0"):
        recorder.open(header(version="0.2.0", bulky=bulky))
    changed = {"feed": {"followed": 15, "others": 12}, "seed": 8}
    with raises_error(WrongVersion, got=r"feed\.others is 12, recorded 10; seed is 8, recorded 7"):
        recorder.open(header(bulky=bulky, **changed))
    with raises_error(WrongVersion, where="bulky"):
        recorder.open(header(bulky=not bulky))
    assert recorder.open(header(bulky=bulky)) == 1
    recorder.close("stopped")


def test_files_of_a_step_that_was_not_committed_are_ignored_and_removed(tmp_path: Path) -> None:
    record(FolderRecorder(tmp_path), STEPS[:3], close="stopped", bulky=True)
    folder = tmp_path / "parts" / "exposures"
    part, torn = folder / "step-000003.parquet", folder / "step-000004.tmp"
    kept = folder / "notes of my own.txt"
    part.write_bytes((folder / "step-000000.parquet").read_bytes())
    torn.write_bytes(b"PAR1 half a fi")
    kept.write_text("mine")
    run = Run.open(tmp_path)
    expected = sum(out.count("exposures") for out in STEPS[:3])
    assert run.table("exposures").height == run.lazy("exposures").collect().height == expected
    run.verify()
    recorder = FolderRecorder(tmp_path)
    assert recorder.open(header(bulky=True)) == 2
    recorder.close("stopped")
    assert kept.exists()
    assert not part.exists()
    assert not torn.exists()


@pytest.mark.parametrize("kind", ON_DISK)
def test_others_see_committed_steps_while_a_run_goes_on(kind: str, tmp_path: Path) -> None:
    recorder, chain = recorder_of(kind, tmp_path), HashChain()
    recorder.open(header(bulky=kind == "parquet"))
    run = Run.open(tmp_path)
    assert (run.state, run.last_step) == ("running", -1)
    for out in STEPS:
        mark = summary_of(out, chain)
        recorder.save_step(out, mark)
        assert run.last_step == out.step
        assert run.verify() == mark.hash
        assert run.sql("SELECT count(*) AS n FROM ts_steps")["n"][0] == out.step + 1
    recorder.close("finished")
    assert run.state == "finished"


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    first = FolderRecorder(tmp_path)
    first.open(header())
    with raises_error(RunBusy, got=f"process {os.getpid()} is writing it"):
        FolderRecorder(tmp_path).open(header())
    first.close("stopped")
    assert FolderRecorder(tmp_path).open(header()) == -1


def test_a_writer_in_another_process_is_named(tmp_path: Path) -> None:
    writer = Writer(tmp_path, "sqlite", 10_000)
    try:
        writer.until("open -1")
        assert Run.open(tmp_path).state == "running"
        with raises_error(RunBusy, got=f"process {writer.pid} is writing it"):
            FolderRecorder(tmp_path).open(header())
    finally:
        writer.kill()
    assert Run.open(tmp_path).state == "stopped"


N_STEPS = 16


@cache
def hash_of_the_steps_of_a_writer() -> str:
    chain = HashChain()
    for step in range(N_STEPS):
        chain.add(step, random_batches(step, most=200).get)
    return chain.value


@pytest.mark.parametrize("kind", ON_DISK)
def test_killed_at_any_moment_and_resumed(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for kill_after in (0, 9):
        writer = Writer(folder, kind, N_STEPS)
        writer.until(str(kill_after))
        writer.kill()
        run = Run.open(folder)
        wait_while_running(run)
        assert kill_after <= run.last_step <= N_STEPS
        assert run.state == "stopped" or run.last_step == N_STEPS - 1
        run.verify()
    assert Writer(folder, kind, N_STEPS).wait() == 0
    run = Run.open(folder)
    assert (run.state, run.last_step) == ("finished", N_STEPS - 1)
    assert run.verify() == run.content_hash == hash_of_the_steps_of_a_writer()


def test_a_finished_run_is_one_file_that_can_be_copied(tmp_path: Path) -> None:
    recorded("sqlite", tmp_path / "run", STEPS)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["run.db", "run.lock", "run.yaml"]
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "run.db").write_bytes((tmp_path / "run" / "run.db").read_bytes())
    assert Run.open(copy).verify() == Run.open(tmp_path / "run").content_hash


def test_closing_twice_or_unopened_is_harmless(tmp_path: Path) -> None:
    recorder = FolderRecorder(tmp_path)
    recorder.close("stopped")
    recorder.open(header())
    with pytest.raises(ValueError, match="open already"):
        recorder.open(header())
    recorder.close("finished")
    recorder.close("stopped")
    assert Run.open(tmp_path).state == "finished"
    with pytest.raises(ValueError, match="is not open"):
        recorder.save_step(STEPS[0], summary_of(STEPS[0], HashChain()))


def test_a_run_killed_before_its_tables_were_made_starts_anew(tmp_path: Path) -> None:
    (tmp_path / "run.db").touch()
    with raises_error(RecordError, got="before its first step"):
        Run.open(tmp_path)
    assert FolderRecorder(tmp_path).open(header()) == -1
