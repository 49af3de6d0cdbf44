"""Comparisons whose runs are recorded on a real PostgreSQL server: a schema each, resumed, reported, equal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from postgres_server import ask, new_address
from townsquare.cli import main
from townsquare.experiments.cluster.schemas import LONGEST, schemas_for
from townsquare.experiments.comparison import Experiment
from townsquare.experiments.manifest import ArmRun
from townsquare.record.postgresql.address import Address
from townsquare.record.run import Run

COMPARE = ["compare", "synthetic:20", "--agents", "30", "--vary", "moderation.strategy=none,hybrid"]
SHORT = [*COMPARE, "--workers", "1", "--steps", "3", "--seeds", "2"]
ONE_SEED = [*COMPARE, "--workers", "1", "--steps", "1", "--seeds", "1"]


@pytest.fixture
def address() -> Address:
    return new_address()


def _hashes(folder: Path) -> list[str]:
    return [run.content_hash for run in Experiment.load(folder).finished]


def _schemas(address: Address) -> set[str]:
    return {str(name) for (name,) in ask(f"SELECT nspname FROM pg_namespace WHERE nspname LIKE '{address.schema}%'")}


def test_a_schema_for_each_run(address: Address, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, near = tmp_path / "out", tmp_path / "near"
    server = ["--record", address.url, "--record-schema", address.schema]
    assert main([*SHORT, "--out", str(out), *server, "--json"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert main([*SHORT, "--out", str(near), "--json"]) == 0
    assert said["paired"] == json.loads(capsys.readouterr().out.splitlines()[-1])["paired"]
    assert len(_hashes(out)) == 4
    assert _hashes(out) == _hashes(near)
    assert _schemas(address) == {
        f"{address.schema}_strategy_{name}_seed_{seed}" for name in ("none", "hybrid") for seed in (1, 2)
    }
    for run in Experiment.load(out).finished:
        assert {path.name for path in (out / run.folder).iterdir()} == {"run.yaml", "record.yaml"}
        assert Run.open(out / run.folder).verify() == run.content_hash
    assert main(["report", str(out)]) == 0
    assert main(["inspect", str(out / "strategy-hybrid" / "seed-1"), "--verify"]) == 0
    more = [*COMPARE, "--workers", "1", "--steps", "3", "--seeds", "3", "--out", str(out), *server, "--quiet"]
    assert main(more) == 0  # adds one seed to each arm
    assert len(_schemas(address)) == 6


def test_schemas_that_are_taken(address: Address, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = ["--record", address.url, "--record-schema", address.schema, "--quiet"]
    assert main([*ONE_SEED, "--out", str(tmp_path / "first"), *server]) == 0
    capsys.readouterr()
    assert main([*ONE_SEED, "--out", str(tmp_path / "second"), *server]) == 2
    assert "choose another schema with --record-schema" in capsys.readouterr().err
    assert not (tmp_path / "second").exists()


def test_a_killed_comparison_goes_on(address: Address, tmp_path: Path) -> None:
    out, near = tmp_path / "out", tmp_path / "near"
    server = ["--record", address.url, "--record-schema", address.schema]
    long = [*COMPARE, "--steps", "12", "--seeds", "2"]
    with subprocess.Popen(
        [sys.executable, "-m", "townsquare", *long, "--workers", "2", "--out", str(out), *server, "--json"],
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line).get("step", 0) > 3:  # a note has none
                break
        os.killpg(process.pid, 9)
    assert len(_hashes(out)) < 4
    for _ in range(100):  # the server may need a moment to see that the writer is gone: until then the run is busy
        code = main([*long, "--workers", "1", "--out", str(out), *server, "--quiet"])
        if code == 0:
            break
        time.sleep(0.2)
    assert code == 0
    assert main([*long, "--workers", "1", "--out", str(near), "--quiet"]) == 0
    assert _hashes(out) == _hashes(near)


def test_debates_in_a_schema(address: Address, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Trials of the server come into a folder that lacks them, byte for byte; those of a folder go to the server."""
    sweep = ["debate", "sweep", "--vary", "u=0.2,0.6", "--workers", "1", "--quiet"]
    server = ["--record", address.url, "--record-schema", address.schema]
    first, second = tmp_path / "first", tmp_path / "second"
    assert main([*sweep, "--trials", "1", "--out", str(first)]) == 0
    assert main([*sweep, "--trials", "2", "--out", str(first), *server]) == 0
    assert main([*sweep, "--trials", "2", "--out", str(second), *server]) == 0
    trials = sorted(first.rglob("trial-*.json"))
    assert len(trials) == 4
    for path in trials:
        assert (second / path.relative_to(first)).read_bytes() == path.read_bytes()
    hashes = {json.loads(path.read_text(encoding="utf-8"))["hash"] for path in trials}
    assert {found for (found,) in ask(f'SELECT hash FROM "{address.schema}".ts_trials')} == hashes
    ask(f"""UPDATE "{address.schema}".ts_trials SET record = '{{"format": 1}}' WHERE trial = 2""")
    capsys.readouterr()
    assert main([*sweep, "--trials", "2", "--out", str(tmp_path / "third"), *server]) == 2
    assert "a damaged record" in capsys.readouterr().err
    assert main([*ONE_SEED, "--out", str(tmp_path / "runs"), *server, "--quiet"]) == 0  # schemas beside it, not in it
    other = ["--record", address.url, "--record-schema", f"{address.schema}_strategy_none_seed_1"]
    assert main([*sweep, "--trials", "1", "--out", str(tmp_path / "fourth"), *other]) == 2
    assert "something other than debates" in capsys.readouterr().err


def test_what_the_options_refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", str(tmp_path / "out")]
    assert main([*SHORT, *out, "--record-schema", "x"]) == 2
    assert main([*SHORT, *out, "--record", "postgresql://me:secret@127.0.0.1/db"]) == 2
    assert main([*SHORT, *out, "--record", "postgresql://127.0.0.1:9/db"]) == 2
    said = capsys.readouterr().err
    assert "without --record" in said
    assert "an address with a password" in said
    assert "check that the server runs" in said
    assert "secret" not in said


def test_names_of_schemas_are_different_and_fit() -> None:
    runs = [ArmRun("", seed, f"{slug}/seed-{seed}", "") for slug in ("a-b", "a.b", "c" * 60) for seed in (1, 2)]
    found = schemas_for(Address("postgresql:///db", "study"), runs)
    names = [address.schema for address in found.values()]
    assert len(set(names)) == len(runs)
    assert max(map(len, names)) <= LONGEST
