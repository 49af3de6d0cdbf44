"""A process that imports everything once and then lets children record, to which it does what happens to processes.

``python interrupted_runs.py WHAT FOLDER N SEED`` prints what came of it as JSON; ``test_disasters.py`` says what should.
``interrupt`` does so ``n`` times at random moments, ``full`` lets each file grow to ``n`` bytes at most, then to more and
more, ``disk`` fills the file system of the folder, ``two`` sends a second process there, ``clock`` lets the time of day
jump. A child is a fork, so that a stop costs a fraction of a second and not a whole start: numba and Polars have one
thread each, and the parent itself computes nothing in Polars.
"""

from __future__ import annotations

import os

os.environ |= {"NUMBA_NUM_THREADS": "1", "NUMBA_THREADING_LAYER": "workqueue", "POLARS_MAX_THREADS": "1"}

import json
import random
import resource
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import townsquare as ts
import townsquare.analysis
import townsquare.cli.run
import townsquare.pages.report
import townsquare.record.sqlite
from townsquare.cli import main
from townsquare.experiments.run_folders import go_on
from townsquare.settings.resolve import Settings

WORDS = ["synthetic:20", "--quiet", "--agents", "15", "--steps", "12", "--set", "moderation.strategy=hybrid"]
STEPS = 13  # that of the start and twelve more


def settings() -> Settings:
    return ts.resolve_for("synthetic:20", None, ["moderation.strategy=hybrid"], agents=15, steps=12)


def undisturbed() -> str:
    """The content hash of a run that nobody stops; this also loads the kernels that children then have."""
    hashes: list[str] = []
    ts.simulate(settings(), on_step=lambda mark: hashes.append(mark.hash))
    return hashes[-1]


def child(work: Callable[[], int]) -> int:
    """Start a fork that does ``work`` and ends with the code it gives."""
    process = os.fork()
    if process:
        return process
    code = 99
    try:
        code = work()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def whole(folder: Path) -> str:
    """What SQLite says of the database, opened by another process as a user would."""
    with closing(sqlite3.connect(folder / "run.db")) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


def committed(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "run.db")) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'ts_steps'").fetchone():
            return []
        return [row[0] for row in connection.execute("SELECT hash FROM ts_steps ORDER BY step")]


def interrupt(folder: Path, n: int, seed: int) -> dict[str, Any]:
    """Interrupt the command ``n`` times, then let it end: codes, and what it said each time.

    Moments are drawn from the time that a run takes here, and a little more. After one that was finished when the
    command was interrupted, in its report, the next one begins.
    """
    draw = random.Random(seed)
    out: dict[str, Any] = {"hash": undisturbed(), "stops": [], "finished": [], "checks": []}
    began = time.monotonic()
    _waited(lambda: int(go_on(folder / "whole", settings()) is None))
    longest = 1.3 * (time.monotonic() - began)
    number = 0
    while len(out["stops"]) < n or not out["finished"]:
        where = folder / str(number)
        words = _next(where)
        process = child(lambda words=words: _command(words, folder / "said.txt"))
        if len(out["stops"]) < n:
            time.sleep(draw.uniform(0, longest))
            for _ in range(draw.choice((1, 1, 2))):
                os.kill(process, signal.SIGINT)
                time.sleep(0.01)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        said = (folder / "said.txt").read_text(encoding="utf-8")
        out["stops"].append({"words": words[0], "code": code, "said": said})
        is_whole = (where / "run.db").exists() and len(committed(where)) == STEPS
        if code == 0 or is_whole:
            out["finished"].append(committed(where)[-1])
            out["checks"].append(whole(where))
            number += 1
    return out


def full(folder: Path, n: int, _seed: int) -> dict[str, Any]:
    """Let files grow to ``n`` bytes, then to a quarter more each time, until a run ends; each time goes on."""
    out: dict[str, Any] = {"hash": undisturbed(), "stops": []}
    where, limit, code = folder / "run", n, -1
    while code:
        words = _next(where)
        code = _waited(lambda words=words, limit=limit: _limited(words, folder, limit))
        said = (folder / "said.txt").read_text(encoding="utf-8")
        out["stops"].append({"code": code, "said": said, **_state(where)})
        limit = limit * 5 // 4
    return out | {"finished": committed(where)[-1]}


def disk(folder: Path, n: int, _seed: int) -> dict[str, Any]:
    """Fill the file system of ``folder`` up to ``n`` bytes, run, make room, go on."""
    out: dict[str, Any] = {"hash": undisturbed(), "stops": []}
    where, ballast = folder / "run", folder / "ballast"
    with ballast.open("wb") as file:
        room = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        file.write(bytes(max(0, room - n)))
    for _ in range(2):
        code = _waited(lambda: _command(_next(where), folder.parent.parent / "said.txt"))
        said = (folder.parent.parent / "said.txt").read_text(encoding="utf-8")
        out["stops"].append({"code": code, "said": said, **_state(where)})
        ballast.unlink(missing_ok=True)
    return out | {"finished": committed(where)[-1]}


def two(folder: Path, _n: int, _seed: int) -> dict[str, Any]:
    """While one process records slowly, others want the same folder, or only look."""
    out: dict[str, Any] = {"hash": undisturbed(), "others": {}}
    where = folder / "run"
    first = child(lambda: int(go_on(where, settings(), on_step=lambda _mark: time.sleep(0.4)) is None))
    while not (where / "run.db").exists() or not committed(where):
        time.sleep(0.01)
    others = {
        "run": ["run", *WORDS, "--out", str(where)],
        "resume": ["resume", str(where), "--quiet"],
        "inspect": ["inspect", str(where)],
        "export": ["export", str(where), "--to", "csv", "--out", str(folder / "csv"), "--quiet"],
    }
    for name, words in others.items():
        code = _waited(lambda words=words: _command(words, folder / "said.txt"))
        out["others"][name] = {"code": code, "said": (folder / "said.txt").read_text(encoding="utf-8")}
    out["still"] = os.waitpid(first, os.WNOHANG) == (0, 0)
    _, status = os.waitpid(first, 0) if out["still"] else (0, 0)
    return out | {"code": status, "finished": committed(where)[-1], "check": whole(where), "pid": first}


def clock(folder: Path, _n: int, seed: int) -> dict[str, Any]:
    """Run and resume while the time of day jumps to and fro over a century."""
    out: dict[str, Any] = {"hash": undisturbed(), "codes": []}
    where = folder / "run"

    def jumping(words: list[str], *, stop: bool) -> int:
        draw = random.Random(seed)
        time.time = lambda: draw.uniform(0, 4e9)
        townsquare.record.sqlite.datetime = _Jumping  # type: ignore[attr-defined]
        if stop:
            signal.setitimer(signal.ITIMER_REAL, 0.15)
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
        return _command(words, folder / "said.txt")

    for year in (2099, 1971, 2040):
        words = _next(where)
        out["codes"].append(_waited(lambda words=words, year=year: jumping(words, stop=year == 2099)))
        for file in where.rglob("*"):
            os.utime(file, (year * 31_557_600 - 62_167_219_200,) * 2)
    return out | {"finished": committed(where)[-1], "check": whole(where)}


class _Jumping(datetime):
    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return datetime(random.choice((1970, 2038, 2100)), 1, 1, tzinfo=tz)


def _next(where: Path) -> list[str]:
    """What a user would type."""
    is_there = (where / "run.db").exists()
    return ["resume", str(where), "--quiet"] if is_there else ["run", *WORDS, "--out", str(where)]


def _state(where: Path) -> dict[str, Any]:
    is_there = (where / "run.db").exists()
    return {"steps": len(committed(where)) if is_there else 0, "check": whole(where) if is_there else "ok"}


def _waited(work: Callable[[], int]) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child(work), 0)[1])


def _limited(words: list[str], folder: Path, limit: int) -> int:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    return _command(words, folder / "said.txt")


def _command(words: list[str], said: Path) -> int:
    descriptor = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    return main(words)


if __name__ == "__main__":
    what = {one.__name__: one for one in (interrupt, full, disk, two, clock)}[sys.argv[1]]
    Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    print(json.dumps(what(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))))
