"""A process whose children end runs on full disks, and are killed while they end them.

The process itself computes nothing in Polars, as in ``interrupted_runs.py``: its forks would wait for ever.

``python ended_runs.py WHAT FOLDER`` prints what came of it as JSON; ``test_defects_close.py`` says what should.
``full`` leaves more and more room on the file system of the folder, ``limited`` lets files grow to more and more
bytes, ``kill`` kills a run at moments between its last step and its end. After each, the run is resumed.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from interrupted_runs import STEPS, WORDS, _command, _waited, child, committed, settings, undisturbed, whole
from townsquare.experiments.run_folders import go_on
from townsquare.record.run import Run


def full(folder: Path) -> dict[str, Any]:
    """The disk is full at each of many sizes; then there is room, and the run is resumed."""
    room = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    size = _size_of_a_run(folder)

    def run(where: Path, share: float) -> int:
        with (folder / "ballast").open("wb") as file:
            file.write(bytes(int(room - share * size)))
        code = _waited(lambda: _command(["run", *WORDS, "--out", str(where)], folder.parent.parent / "said.txt"))
        (folder / "ballast").unlink()
        return code

    return _all(folder, run)


def limited(folder: Path) -> dict[str, Any]:
    """No file may grow beyond each of many sizes; then any may, and the run is resumed."""
    size = _size_of_a_run(folder)

    def run(where: Path, share: float) -> int:
        def work() -> int:
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(share * size), resource.RLIM_INFINITY))
            return _command(["run", *WORDS, "--out", str(where)], folder.parent.parent / "said.txt")

        return _waited(work)

    return _all(folder, run)


def kill(folder: Path) -> dict[str, Any]:
    """A run is killed at moments between its last step and its end, then resumed."""
    draw = random.Random(20_250_101)
    out: dict[str, Any] = {"hash": undisturbed(), "ends": []}
    longest = 0.0
    for number in range(21):
        where = folder / str(number)
        receiver, sender = os.pipe()

        def work(where: Path = where, sender: int = sender) -> int:
            def tell(step: int) -> None:
                if step == STEPS - 1:
                    os.write(sender, b".")

            return int(go_on(where, settings(), on_step=lambda mark: tell(mark.step)) is None)

        process = child(work)
        os.read(receiver, 1)
        began = time.monotonic()
        if number:
            time.sleep(draw.uniform(0, longest))
            os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        longest = longest or time.monotonic() - began
        os.close(receiver)
        os.close(sender)
        out["ends"].append(_resumed(where, folder) | {"code": -9})
    return out


def _all(folder: Path, run: Any) -> dict[str, Any]:
    out: dict[str, Any] = {"hash": undisturbed(), "ends": []}
    for percent in range(196, 460, 24):
        where = folder / "run"
        code = run(where, percent / 100)
        said = (folder.parent.parent / "said.txt").read_text(encoding="utf-8")
        out["ends"].append(_resumed(where, folder) | {"code": code, "percent": percent, "said": said})
        shutil.rmtree(where)
    return out


def _size_of_a_run(folder: Path) -> int:
    where = folder / "measured"
    _waited(lambda: int(go_on(where, settings()) is None))
    size = (where / "run.db").stat().st_size
    shutil.rmtree(where)
    return size


def _resumed(where: Path, folder: Path) -> dict[str, Any]:
    """What the database alone says of itself before and after the run is resumed."""
    before = _alone(where, folder) if (where / "run.db").is_file() else {}
    words = ["resume", str(where), "--quiet"] if before else ["run", *WORDS, "--out", str(where)]
    code = _waited(lambda: _command(words, folder.parent.parent / "said.txt"))
    return {"before": before, "resumed": code, "after": _alone(where, folder), "files": sorted(os.listdir(where))}


def _alone(where: Path, folder: Path) -> dict[str, Any]:
    """State and check of a copy of ``run.db`` alone, the state with its log, and the last hash."""
    copy = folder.parent.parent / "alone"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    shutil.copyfile(where / "run.db", copy / "run.db")
    try:
        check = whole(copy)
    except sqlite3.Error as error:
        check = str(error)
    with closing(sqlite3.connect(where / "run.db")) as connection:
        tables = dict(connection.execute("SELECT name, 1 FROM sqlite_master"))
        state = dict(connection.execute("SELECT key, value FROM ts_run"))["state"] if "ts_run" in tables else ""
    found = {"check": check, "state": state, "steps": len(committed(where))}
    if state == "finished" and check == "ok":
        verified = _waited(lambda: int(Run.open(copy).verify() != committed(copy)[-1]))
        found["hash"] = committed(copy)[-1] if not verified else ""
    return found


if __name__ == "__main__":
    Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    json.dump({"full": full, "limited": limited, "kill": kill}[sys.argv[1]](Path(sys.argv[2])), sys.stdout)
