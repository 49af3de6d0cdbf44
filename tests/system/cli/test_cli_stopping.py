"""Commands that are stopped: they end at a step, and go on where they ended."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from townsquare.cli import main
from townsquare.core.errors import RecordError
from townsquare.core.identity import canonical_json, settings_digest
from townsquare.core.threads import threads_for
from townsquare.record.memory import MemoryRecorder
from townsquare.record.run import Run
from townsquare.scenario.settings import resolve_for
from townsquare.simulation.run import simulate

RUN = ["run", "synthetic:20", "--agents", "30", "--steps", "3"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


STEPS = 25
LONG = ["synthetic:20", "--agents", "40", "--set", "moderation.strategy=none"]


def _start(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "townsquare", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def _wait_for_steps(folder: Path, n: int, process: subprocess.Popen[str]) -> None:
    while process.poll() is None:
        with suppress(RecordError):  # not begun yet
            if Run.open(folder).last_step >= n:
                return
        time.sleep(0.02)
    pytest.fail(f"ended before it was stopped: {process.communicate()}")


@pytest.fixture(scope="module")
def undisturbed() -> str:
    """Content hash of the long run when nobody stops it."""
    alone = MemoryRecorder()
    with threads_for(40):
        simulate(resolve_for("synthetic:20", None, ["moderation.strategy=none"], agents=40, steps=STEPS), alone)
    return Run.of(alone).content_hash


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_run_that_is_stopped_can_go_on(number: signal.Signals, code: int, undisturbed: str, tmp_path: Path) -> None:
    process = _start("run", *LONG, "--steps", str(STEPS), "--out", "out")
    _wait_for_steps(tmp_path / "out", 2, process)
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    assert process.returncode == code
    assert "Traceback" not in err
    if number != signal.SIGKILL:
        assert "townsquare resume out" in err
    stopped = Run.open(tmp_path / "out")
    assert stopped.state == "stopped"
    assert 2 <= stopped.last_step <= STEPS
    assert main(["resume", "out", "--quiet"]) == 0
    assert Run.open(tmp_path / "out").verify() == undisturbed


@pytest.mark.slow
def test_a_comparison_that_is_stopped_can_go_on(tmp_path: Path, undisturbed: str) -> None:
    words = ["compare", *LONG, "--steps", str(STEPS), "--seeds", "3", "--workers", "2", "--out", "out"]
    process = _start(*words)
    _wait_for_steps(tmp_path / "out" / "all" / "seed-1", 2, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "--out out" in err
    assert "Traceback" not in err
    assert main([*words, "--quiet"]) == 0
    runs = {seed: Run.open(tmp_path / "out" / "all" / f"seed-{seed}") for seed in (1, 2, 3)}
    assert {run.state for run in runs.values()} == {"finished"}
    assert runs[1].content_hash == undisturbed


def test_a_run_of_another_version_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--out", "out", "--quiet"]) == 0
    with sqlite3.connect(tmp_path / "out" / "run.db") as database:
        (text,) = database.execute("SELECT value FROM ts_run WHERE key = 'settings'").fetchone()
        old = {**json.loads(text), "version": "0.0.1"}
        values = {"settings": canonical_json(old), "settings_hash": settings_digest(old)}
        database.executemany("UPDATE ts_run SET value = ? WHERE key = ?", [(text, key) for key, text in values.items()])
    assert main(["resume", "out"]) == 2
    assert "version 0.0.1" in capsys.readouterr().err


def test_a_changed_scenario_stops_a_resume(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    posts = [{"text": f"Post {n}", "author": "Somebody", "stance:x": 0.5} for n in range(8)]
    (tmp_path / "posts.jsonl").write_text("\n".join(json.dumps(post) for post in posts))
    assert main(["run", "posts.jsonl", "--agents", "5", "--steps", "1", "--out", "out", "--no-copy", "--quiet"]) == 0
    (tmp_path / "posts.jsonl").write_text("\n".join(json.dumps(post) for post in posts[1:]))
    assert main(["resume", "out"]) == 2
    assert "changed" in capsys.readouterr().err
    (tmp_path / "posts.jsonl").unlink()
    assert main(["resume", "out"]) == 2
    assert "posts.jsonl" in capsys.readouterr().err
