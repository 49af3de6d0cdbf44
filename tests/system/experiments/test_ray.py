"""Many runs on a Ray cluster: the same runs as here, whatever dies, and clear words where there is no cluster.

The cluster of two nodes is a real one, on the loopback address of this machine (``ray_nodes.py``).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

import worker_jobs
from raised_errors import raises_error
from ray_nodes import ENVIRONMENT, Nodes, needs_ray, nodes
from synthetic_people import population
from townsquare.cli import main
from townsquare.core.errors import SettingError, WrongVersion
from townsquare.experiments.cluster.ray_cluster import check_made_by, checked_place, made_by, nearest
from townsquare.experiments.cluster.ray_pool import TRIES, RayPool
from townsquare.experiments.comparison import ExecutionTargets, Experiment, Progress, compare
from townsquare.experiments.manifest import FINISHED
from townsquare.humans.fit.options import FitOptions
from townsquare.humans.fit.studies import studies
from townsquare.pages.people.output import plain
from townsquare.record.run import Run

COMPARE = ["synthetic:60", "--agents", "200", "--vary", "moderation.strategy=none,hybrid", "--seeds", "1"]
BASE = {"scenario": "synthetic:60", "agents": 200, "steps": 30}
PATIENCE = 60.0  # seconds


def _hashes(folder: Path) -> list[str]:
    return [run.content_hash for run in Experiment.load(folder).finished]


# --- without a cluster -------------------------------------------------------------------------------------


@pytest.mark.parametrize("on", ["rays", "ray:", "ray://", "ray://host", "ray://host:x", "ray://a@host:1", "http://h:1"])
def test_places_that_are_none(on: str) -> None:
    with raises_error(SettingError, allowed="ray://HOST:PORT"):
        checked_place(on)


def test_other_versions_are_refused() -> None:
    check_made_by(made_by(), "machine a")
    for name in made_by():
        with raises_error(WrongVersion, where="machine a", got=rf"{name} 0\.0"):
            check_made_by({**made_by(), name: "0.0"}, "machine a")


@pytest.mark.parametrize("command", [["compare", *COMPARE], ["debate", "sweep", "--vary", "u=0.2,0.4"], ["debate"]])
def test_an_address_that_does_not_answer(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--out", str(tmp_path / "out"), "--on", "ray://127.0.0.1:9"]) == 2
    assert "ray://127.0.0.1:9, which does not respond" in capsys.readouterr().err


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give files to others")
def test_a_cluster_of_somebody_else_is_not_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the environment names it: anyone may leave an address where Ray does."""
    left = tmp_path / "ray" / "ray_current_cluster"
    left.parent.mkdir()
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        left.write_text(address)
        for named, owner, found in (("", 0, address), ("auto", 0, address), ("", 1234, ""), ("h:1", 1234, "h:1")):
            monkeypatch.setenv("RAY_ADDRESS", named)
            os.chown(left, owner, -1)
            assert nearest() == found


def test_without_ray(tmp_path: Path) -> None:
    program = "import sys\nsys.modules['ray'] = None\nfrom townsquare.cli import main\nsys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "compare", *COMPARE, "--out", str(tmp_path / "out"), "--on", "ray"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "ray is not installed" in ended.stderr
    assert "pip install 'townsquare[cluster]'" in ended.stderr


# --- a cluster of its own ----------------------------------------------------------------------------------


@needs_ray
@pytest.mark.slow
def test_a_comparison_on_a_cluster_of_its_own(tmp_path: Path) -> None:
    """Same hashes; nothing but results on stdout; no process left; the token of the cluster in no file."""
    home = tmp_path / "home"
    home.mkdir()
    command = [sys.executable, "-m", "townsquare", "compare", *COMPARE, "--steps", "4"]
    environment = {**os.environ, "HOME": str(home)}
    ended = subprocess.run(
        [*command, "--out", str(tmp_path / "ray"), "--on", "ray", "--json"],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    said = [json.loads(line) for line in ended.stdout.splitlines()]
    assert said[-1]["event"] == "result"
    assert {line["event"] for line in said[:-1]} == {"progress"}
    assert not list(home.rglob("*auth*"))
    assert main(["compare", *COMPARE, "--steps", "4", "--out", str(tmp_path / "here"), "--quiet"]) == 0
    assert _hashes(tmp_path / "ray") == _hashes(tmp_path / "here")
    for run in Experiment.load(tmp_path / "ray").finished:
        assert Run.open(tmp_path / "ray" / run.folder).verify() == run.content_hash


@needs_ray
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_order_to_end(number: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C goes to all processes of a terminal, an order to end to one: runs stop after a step, and go on from it."""
    command = [sys.executable, "-m", "townsquare", "compare", *COMPARE, "--steps", "30", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        [*command, "--on", "ray", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["step"] > 2:
            break
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    _, errors = process.communicate(timeout=PATIENCE * 3)
    assert process.returncode == 128 + number, errors
    assert "runs are finished and saved" in errors
    stopped = [run for run in Experiment.load(tmp_path / "out").runs if (tmp_path / "out" / run.folder).is_dir()]
    assert stopped
    assert all(Run.open(tmp_path / "out" / run.folder).last_step > 0 for run in stopped)
    assert main([*command[3:], "--quiet"]) == 0
    assert main(["compare", *COMPARE, "--steps", "30", "--out", str(tmp_path / "here"), "--quiet"]) == 0
    assert _hashes(tmp_path / "out") == _hashes(tmp_path / "here")


# --- two nodes ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Iterator[Nodes]:
    with nodes() as found:
        yield found


@pytest.fixture
def joined(cluster: Nodes, monkeypatch: pytest.MonkeyPatch) -> Nodes:
    """What ``--on ray`` joins in this process."""
    for name, value in {**ENVIRONMENT, "RAY_ADDRESS": cluster.address}.items():
        monkeypatch.setenv(name, value)
    return cluster


@needs_ray
@pytest.mark.slow
def test_a_run_whose_process_is_killed_runs_again(joined: Nodes, tmp_path: Path) -> None:
    """Killed in the middle of an arm; the comparison ends with the hashes of one that nobody touched."""
    killed: list[int] = []
    seen: list[Progress] = []

    def on_progress(far: Progress) -> None:
        seen.append(far)
        if not killed and 2 < far.steps_done < far.steps:
            for one in joined.busy("ray::_call"):
                killed.append(one.pid)
                one.kill()
                break

    vary = {"moderation.strategy": ["none", "hybrid"]}
    found = compare([BASE], vary, [1], tmp_path / "ray", None, on_progress, ExecutionTargets("ray"))
    assert killed
    assert seen[-1].restarts >= 1
    assert seen[-1].failed == 0
    here = compare([BASE], vary, [1], tmp_path / "here", 2)
    assert [(run.state, run.content_hash) for run in found.runs] == [(FINISHED, run.content_hash) for run in here.runs]


@needs_ray
@pytest.mark.slow
def test_an_order_that_is_killed_goes_on_with_what_is_missing(joined: Nodes, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "townsquare", "compare", *COMPARE[:-1], "3", "--steps", "12"]
    words = ["--out", str(tmp_path / "out"), "--on", "ray", "--json"]
    process = subprocess.Popen([*command, *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if "(0 of" not in json.loads(line)["note"]:
            break
    process.kill()
    process.wait()
    done = {run.folder for run in Experiment.load(tmp_path / "out").finished}
    assert 0 < len(done) < 6
    before = {name: (tmp_path / "out" / name / "run.db").stat().st_mtime_ns for name in done}
    assert main([*command[3:], *words[:-1], "--quiet"]) == 0
    assert {name: (tmp_path / "out" / name / "run.db").stat().st_mtime_ns for name in done} == before
    assert main([*command[3:], "--out", str(tmp_path / "here"), "--quiet"]) == 0
    assert _hashes(tmp_path / "out") == _hashes(tmp_path / "here")


@needs_ray
@pytest.mark.slow
def test_jobs_that_fail_and_jobs_that_always_die(joined: Nodes, tmp_path: Path) -> None:
    """An error is a result, at once; a job that kills its process is tried so often and no more."""
    pool: RayPool[Any, int] = RayPool(worker_jobs.fail_if_odd, "ray", 2)
    ended: dict[int, Any] = dict(pool.map([0, 1, 2]))
    assert (ended[0], str(ended[1]), ended[2], pool.lost) == (0, "job 1 is odd", 20, [])
    pool = RayPool(worker_jobs.die_once, "ray")
    ended = dict(pool.map([(number, tmp_path) for number in range(4)]))
    assert isinstance(ended.pop(2), BrokenProcessPool)
    assert pool.lost == [2] * (TRIES - 1)
    assert ended == {0: 0, 1: 1, 3: 3}


@needs_ray
@pytest.mark.slow
def test_from_outside_the_cluster(cluster: Nodes, tmp_path: Path) -> None:
    """By ``ray://``, a comparison and debates; and nothing of the cluster listens but on the loopback address."""
    environment = {**os.environ, **ENVIRONMENT}
    words = [["compare", *COMPARE, "--steps", "4"], ["debate", "sweep", "--vary", "u=0.2,0.6", "--trials", "2"]]
    for command in words:
        folder = tmp_path / command[0]
        ended = subprocess.run(
            [sys.executable, "-m", "townsquare", *command, "--out", str(folder), "--on", cluster.client, "--quiet"],
            capture_output=True, text=True, check=False, env=environment,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.strip() == str(folder)
        assert main([*command, "--out", str(folder) + "-here", "--quiet"]) == 0
    assert _hashes(tmp_path / "compare") == _hashes(tmp_path / "compare-here")
    trials = sorted((tmp_path / "sweep-here").rglob("trial-*.json"))
    assert len(trials) == 4
    for path in trials:
        there = tmp_path / "sweep" / path.relative_to(tmp_path / "sweep-here")
        assert there.read_bytes() == path.read_bytes()
    assert cluster.listens_on() <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}


@needs_ray
@pytest.mark.slow
def test_fits_of_several_rules(joined: Nodes) -> None:
    people = population(40, messages=4)
    wanted = [FitOptions(rule=rule) for rule in ("log_odds", "averaging")]
    done: list[int] = []
    there = studies(people, wanted, "ray", done.append)
    assert [str(plain(one)) for one in there] == [str(plain(one)) for one in studies(people, wanted)]
    assert done[-1] == 2
