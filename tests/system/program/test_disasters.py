"""Full disks, second processes, jumping clocks and Ctrl-C: a clear message, and a run that goes on.

The processes are those of ``interrupted_runs.py``, which says what is done to them; kills are in ``test_kills.py``.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import townsquare
from repository import HELPERS

SCRIPT = HELPERS / "interrupted_runs.py"
STEPS = 13  # that of the start and twelve more
SEED = 20_250_101


def happened(what: str, folder: Path, n: int = 0) -> dict[str, Any]:
    command = [sys.executable, str(SCRIPT), what, str(folder), str(n), str(SEED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def one_message(said: str) -> str:
    """What was complained of, if that was one thing and no traceback."""
    assert said.count("error:") == 1, said
    assert "Traceback" not in said
    assert "unexpected" not in said
    return said


@pytest.mark.slow
def test_ctrl_c_at_twenty_moments(tmp_path: Path) -> None:
    found = happened("interrupt", tmp_path, 20)
    assert len(found["stops"]) >= 20
    for stop in found["stops"]:
        assert stop["code"] in (0, 130), stop
        assert "Traceback" not in stop["said"]
        assert "error" not in stop["said"]
        if stop["code"] == 130:
            assert stop["said"].count("stopped: ") == 1, stop
    assert sum("townsquare resume" in stop["said"] for stop in found["stops"]) > 2
    assert set(found["finished"]) == {found["hash"]}
    assert set(found["checks"]) == {"ok"}


@pytest.mark.slow
def test_files_that_may_not_grow(tmp_path: Path) -> None:
    found = happened("full", tmp_path, 30_000)
    *stops, last = found["stops"]
    assert len(stops) > 5
    for stop in stops:
        assert stop["code"] == 2
        said = one_message(stop["said"])
        assert "free some space if the disk is full" in said
        assert f"steps up to {stop['steps'] - 1} are safe" in said or not stop["steps"]
    assert [stop["steps"] for stop in stops] == sorted(stop["steps"] for stop in stops)
    assert {stop["check"] for stop in found["stops"]} == {"ok"}
    assert (last["code"], found["finished"]) == (0, found["hash"])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of three megabytes, where a test may mount one."""
    where = tmp_path / "disk"
    where.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(where)]
    if mount is None or os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield where
    finally:
        subprocess.run(["umount", str(where)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("room", [60_000, 250_000, 450_000])
def test_a_full_disk(small_disk: Path, room: int) -> None:
    found = happened("disk", small_disk / "runs", room)
    full, after = found["stops"]
    assert full["code"] == 2
    assert "free some space" in one_message(full["said"])
    assert full["check"] == after["check"] == "ok"
    assert (after["code"], after["steps"], found["finished"]) == (0, STEPS, found["hash"])


@pytest.mark.slow
def test_a_second_process(tmp_path: Path) -> None:
    found = happened("two", tmp_path)
    others = found["others"]
    assert "townsquare resume" in one_message(others["run"]["said"])
    assert f"process {found['pid']} is writing it" in one_message(others["resume"]["said"])
    assert [others[name]["code"] for name in ("run", "resume", "inspect", "export")] == [2, 2, 0, 0]
    assert "running" in others["inspect"]["said"]
    assert found["still"], "the first process ended before the others had asked"
    assert (found["code"], found["finished"], found["check"]) == (0, found["hash"], "ok")


@pytest.mark.slow
def test_a_clock_that_jumps(tmp_path: Path) -> None:
    found = happened("clock", tmp_path)
    assert found["codes"][0] in (0, 130)
    assert found["codes"][1:] == [0, 0]
    assert (found["finished"], found["check"]) == (found["hash"], "ok")


CLOCKS = {"time.time", "time.time_ns", "time.localtime", "time.gmtime", "datetime.now", "datetime.utcnow",
          "datetime.today", "date.today"}  # fmt: skip
# When a run or a bundle was made, for people to read.
MAY_READ_THE_CLOCK = {
    "record/reader.py",
    "experiments/bundle/freeze.py",
    "cli/prune.py",
}
MAY_READ_IT_OFF_THE_RECORD = ("models/", "pages/view/")  # waiting for servers, and pages that are open


def test_only_one_place_reads_the_time_of_day() -> None:
    package = Path(townsquare.__file__).parent
    readers = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in CLOCKS:
                readers.add(path.relative_to(package).as_posix())
    assert {name for name in readers if not name.startswith(MAY_READ_IT_OFF_THE_RECORD)} == MAY_READ_THE_CLOCK
