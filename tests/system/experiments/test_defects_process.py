"""Defects of processes: workers that outlive their parent, signals, comparisons that fail, multiverses."""

from __future__ import annotations

import os
import pty
import signal
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

import townsquare as ts
from forked_commands import ForkedCommand
from killed_commands import in_session
from townsquare.cli import main
from townsquare.core import registry
from townsquare.core.errors import RunsFailed
from townsquare.experiments.comparison import Experiment, compare
from townsquare.experiments.multiverse import MOST, choices_for
from townsquare.record.lock import is_locked
from townsquare.record.run import Run
from townsquare.scenario.load import list_scenarios
from townsquare.scenario.settings import resolve_with_scenario

LONG = ["synthetic:20", "--agents", "40", "--steps", "40", "--set", "moderation.strategy=none"]
WITHIN = 5.0  # seconds
Start = Callable[..., ForkedCommand]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    return lambda *words, **how: ForkedCommand([*words], tmp_path / "said.txt", tmp_path / "errors.txt", **how)


def end_of(process: ForkedCommand) -> tuple[int | None, str]:
    """Its exit code, and what it printed where errors go."""
    return process.wait(60), process.errors


def wait_until(is_so: Callable[[], object], seconds: float = 60.0) -> bool:
    """Whether something is so before the time is over."""
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def begun(out: Path) -> list[Path]:
    """Folders of runs that a process is writing."""
    return [path.parent for path in out.rglob("run.lock") if path.parent != out and is_locked(path.parent)]


def test_row_04_workers_end_with_their_parent(start: Start, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["compare", *LONG, "--seeds", "3", "--out", str(out)]
    process = start(*words, "--workers", "2")
    assert wait_until(lambda: begun(out)), process.errors
    process.send(signal.SIGKILL)
    process.wait()
    assert wait_until(lambda: not in_session(process.pid), WITHIN), in_session(process.pid)
    assert main([*words, "--workers", "1", "--quiet"]) == 0
    assert {Run.open(path.parent).state for path in out.rglob("run.db")} == {"finished"}
    alone = ts.simulate(ts.resolve_for("synthetic:20", None, ["moderation.strategy=none"], agents=40, steps=40, seed=1))
    assert Run.open(out / "all" / "seed-1").verify() == alone.content_hash


def test_row_04_workers_hear_an_interrupt(start: Start, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start("compare", *LONG, "--seeds", "3", "--workers", "2", "--out", str(out))
    assert wait_until(lambda: begun(out)), process.errors
    worker = next(int(line.split()[0]) for line in in_session(process.pid) if "spawn_main" in line)
    os.kill(worker, signal.SIGINT)
    code, err = end_of(process)
    assert code == 130, err
    assert f"--out {out}" in err
    assert "Traceback" not in err
    assert wait_until(lambda: not in_session(process.pid), WITHIN)


@pytest.mark.parametrize("command", ["run", "compare"])
def test_row_04_a_lost_terminal_is_an_order_to_end(command: str, start: Start, tmp_path: Path) -> None:
    out = tmp_path / "out"
    more = ["--seeds", "2", "--workers", "2"] if command == "compare" else []
    process = start(command, *LONG, *more, "--out", str(out))
    assert wait_until(lambda: begun(out) if more else is_locked(out)), process.errors
    os.killpg(process.pid, signal.SIGHUP)  # as a shell does that has lost its terminal, to each of its jobs
    os.killpg(process.pid, signal.SIGHUP)  # and as the system does when the shell has ended
    code, err = end_of(process)
    assert code == 129, err
    assert f"resume {out}" in err if command == "run" else f"--out {out}" in err
    assert "Traceback" not in err
    states = {Run.open(path.parent).state for path in out.rglob("run.db")}
    assert states == {"stopped"}
    assert not list(out.rglob("*-wal"))
    assert wait_until(lambda: not in_session(process.pid), WITHIN)


def test_row_04_a_terminal_that_is_gone_is_no_error(start: Start, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ours, its = pty.openpty()
    process = start("run", *LONG, "--out", str(out), terminal=os.ttyname(its))
    assert wait_until(lambda: is_locked(out))
    os.close(its)
    os.close(ours)
    process.send(signal.SIGHUP)
    assert process.wait(60) == 129
    assert Run.open(out).state == "stopped"
    assert main(["resume", str(out), "--quiet"]) == 0


def test_row_04_nohup_is_respected(start: Start, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start("run", *LONG, "--no-report", "--out", str(out), deaf=(signal.SIGHUP,))
    assert wait_until(lambda: is_locked(out)), process.errors
    process.send(signal.SIGHUP)
    code, err = end_of(process)
    assert code == 0, err


def test_row_13_one_run_is_begun_before_any(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "loop.csv").write_text("follower,followed\n0,0\n")
    out = tmp_path / "out"
    words = ["compare", "synthetic:20", "--agents", "20", "--steps", "3", "--set", "graph.kind=file"]
    words += ["--set", f"graph.path={tmp_path / 'loop.csv'}", "--vary", "moderation.strategy=none,hybrid"]
    assert main([*words, "--seeds", "3", "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert said.count("error:") == 1
    assert "loop.csv" in said
    assert not out.exists()


NOBODY = {"policy": "llm", "model": {"name": "vllm/x", "base_url": ["http://127.0.0.1:9/v1"]}, "serving": {"tries": 1}}
"""Every run begins, and fails when it first asks: nothing listens on that port."""


def test_row_13_distinct_errors_are_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    sets = ["policy=llm", "model=vllm/x", 'model.base_url=["http://127.0.0.1:9/v1"]', "serving.tries=1"]
    words = ["compare", "synthetic:20", "--agents", "8", "--steps", "3", "--vary", "moderation.strategy=none,hybrid"]
    words += ["--seeds", "2", "--workers", "1", "--out", str(out), *(word for one in sets for word in ("--set", one))]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert said.count("failed:") == 1
    assert "4 of 4 runs" in said
    assert "Unreachable" in said
    assert "step 0 of 12" in said
    assert "step 12 of 12" not in said
    assert main(["inspect", str(out)]) == 1
    shown = capsys.readouterr()
    assert (shown.out + shown.err).count("Unreachable") == 1


def test_row_13_python_hears_that_every_run_failed(tmp_path: Path) -> None:
    layers = [{"scenario": "synthetic:20", "agents": 8, "steps": 3}, NOBODY]
    with pytest.raises(RunsFailed) as caught:
        compare(layers, {}, "1-2", str(tmp_path / "out"), workers=1)
    assert caught.value.where == str(tmp_path / "out")
    assert caught.value.got.count("Unreachable") == 1
    assert len(Experiment.load(tmp_path / "out").failed) == 2


def test_row_13_sets_may_be_a_mapping() -> None:
    settings = ts.resolve_for(
        "synthetic:20", None, {"moderation.strategy": "hybrid", "feed": {"followed": 3}}, agents=5
    )
    same = ts.resolve_for("synthetic:20", None, ["moderation.strategy=hybrid", "feed.followed=3"], agents=5)
    assert settings == same


def test_row_12_the_usual_multiverse_runs(tmp_path: Path) -> None:
    size = ["--agents", "6", "--steps", "1", "--seeds", "1", "--workers", "1", "--out", str(tmp_path / "out"), "--json"]
    assert main(["compare", "health-rumor", "--multiverse", *size]) == 0
    found = Experiment.load(tmp_path / "out")
    assert len(found.finished) == len(found.runs) > 30
    assert set(found.vary) == {"beliefs.rule", "beliefs.stance_scorer", "feed.ranker", "activation.sessions_per_day"}
    resolved = ts.resolve_for("health-rumor", agents=6, steps=1)
    assert found.runs[0].digest == resolved.digest, "the first is the run as it is set"


@pytest.mark.parametrize("name", [line.name for line in list_scenarios() if line.name != "synthetic"])
def test_row_12_usual_choices_are_allowed_together_and_each_runs(name: str) -> None:
    base = {"scenario": name, "agents": 6, "steps": 1}
    choices = choices_for([base])
    rate = {"activation.sessions_per_day"} if name == "health-rumor" else {"activation.rate", "policy.name"}
    assert set(choices) == {"beliefs.rule", "beliefs.stance_scorer", "feed.ranker", *rate}
    for universe in product(*choices.values()):
        resolve_with_scenario(base, dict(zip(choices, universe, strict=True)))
    for key, values in choices.items():
        for value in values[1:]:
            ts.simulate(resolve_with_scenario(base, {key: value}))


def test_row_12_choices_follow_the_registry_and_the_settings() -> None:
    base = [{"scenario": "health-rumor@1"}, {"beliefs.rule": "averaging", "feed.ranker": "hot"}]
    found = choices_for(base)
    for family, key in {"beliefs": "beliefs.rule", "ranker": "feed.ranker", "policy": "policy.name"}.items():
        assert set(found[key]) <= set(registry.bundled(family))
        assert 2 <= len(found[key]) <= MOST
    assert (found["beliefs.rule"][0], found["feed.ranker"][0]) == ("averaging", "hot")
    assert "no_change" not in found["beliefs.rule"]
    assert not {"silent", "llm"} & set(found["policy.name"])
    assert "policy.name" not in choices_for([*base, {"policy": "silent"}])
