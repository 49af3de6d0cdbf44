"""What two reviewers saw where several mended rows meet."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

import townsquare as ts
from townsquare.analysis.power_law import size_models
from townsquare.cli import main
from townsquare.core.errors import RecordError, WrongVersion
from townsquare.core.files import NAMED, copy_name
from townsquare.experiments.power import seeds_needed
from townsquare.record import database
from townsquare.record.sqlite import SCENARIO_COPY

POSTS = "text,source,stance:park,veracity\nThe park is good.,Paper,0.5,true\nThe park is bad.,Blog,-0.5,false\n"
QUICK = ["--quiet", "--agents", "6", "--steps", "2"]


@pytest.fixture
def park(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    scenario = tmp_path / "park"
    scenario.mkdir()
    (scenario / "posts.csv").write_text(POSTS)
    (scenario / "scenario.yaml").write_text("posts: posts.csv\npropositions: [{name: park, text: The park is good.}]\n")
    return scenario


def change(folder: Path, key: str, value: str) -> None:
    with closing(sqlite3.connect(folder / "run.db")) as connection, connection:
        connection.execute("UPDATE ts_run SET value = ? WHERE key = ?", (value, key))


def test_row_01_a_link_is_no_copy_of_a_named_file(park: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (park / "people.jsonl").write_text('{"text": "I live here."}\n' * 6)
    with (park / "scenario.yaml").open("a") as file:
        file.write("settings: {population: {file: people.jsonl}}\n")
    (park.parent / "secret.jsonl").write_text("secret\n")
    (park / NAMED).mkdir()
    (park / NAMED / copy_name("people.jsonl")).symlink_to(park.parent / "secret.jsonl")
    assert main(["run", "park", *QUICK, "--out", "run"]) == 0
    assert "secret" not in capsys.readouterr().err
    assert not any("secret" in path.read_text() for path in Path("run", SCENARIO_COPY).rglob("*.jsonl"))


def test_row_22_a_copy_has_the_names_that_the_scenario_uses(park: Path) -> None:
    (park / "data").mkdir()
    shutil.move(park / "posts.csv", park / "data" / "p.csv")
    (park / "posts.csv").symlink_to("data/p.csv")
    assert main(["run", "park", *QUICK, "--out", "run"]) == 0
    shutil.rmtree(park)
    assert main(["replay", "run", "--quiet"]) == 0


def test_row_22_run_yaml_of_a_finished_model_run_needs_no_approval(
    park: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = ["policy=llm", "model=fake", "serving.key_env=TOWNSQUARE_TEST_KEY"]
    assert main(["run", "park", *QUICK, *(word for text in sets for word in ("--set", text)), "--out", "run"]) == 0
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another-user"))
    assert main(["resume", "run", "--quiet"]) == 0


def test_row_03_a_run_that_is_read_while_it_closes_is_not_called_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.2)
    readers: list[sqlite3.Connection] = []

    def read(_mark: object) -> None:
        if not readers:
            readers.append(sqlite3.connect(tmp_path / "run" / "run.db", check_same_thread=False))
            readers[0].execute("BEGIN")
            readers[0].execute("SELECT * FROM ts_steps").fetchall()

    settings = ts.resolve_for("synthetic:20", agents=8, steps=3)
    with pytest.raises(RecordError) as caught:
        ts.simulate(settings, tmp_path / "run", on_step=read)
    assert "another program" in caught.value.got
    assert ts.Run.open(tmp_path / "run").state == "stopped"
    readers[0].close()
    assert ts.simulate(settings, tmp_path / "run").state == "finished"
    assert not list((tmp_path / "run").glob("run.db-*"))


def test_row_05_verify_finds_a_changed_version_of_the_record(tmp_path: Path) -> None:
    ts.simulate(ts.resolve_for("synthetic:20", agents=8, steps=2), tmp_path / "run")
    change(tmp_path / "run", "record_version", "1")
    with pytest.raises(WrongVersion):  # the version says which columns a table has
        ts.Run.open(tmp_path / "run").verify()


@pytest.mark.parametrize("options", [[], ["--keep-reports"]])
def test_row_18_prune_takes_the_copy_of_a_scenario_too(
    options: list[str], park: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "park", *QUICK[1:], "--out", "runs/one"]) == 0
    assert list(Path("runs/one", SCENARIO_COPY).rglob("posts.csv"))
    if not options:
        change(Path("runs/one"), "state", "running")
    for path in Path("runs/one").glob("*.db"):
        os.utime(path, (time.time() - 10**7,) * 2)
    capsys.readouterr()
    assert main(["prune", "runs", "--yes", "--json", *options]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 1
    left = {path.name for path in Path("runs").rglob("*") if path.is_file()}
    assert left <= ({"report.html", "run.yaml", "run.lock"} if options else set())


def test_row_18_few_distinct_sizes_have_no_searched_minimum() -> None:
    rows = size_models([1.0] * 15 + [2.0] * 9 + [3.0] * 13)
    assert set(rows["x_min"]) == {1.0}


def test_row_11_an_infinite_outcome_of_a_pilot_is_said() -> None:
    pilot = pl.DataFrame({"arm": ["a", "a", "b", "b"], "seed": [1, 2, 1, 2], "reach": [1.0, 2.0, float("inf"), 3.0]})
    rows = seeds_needed(pilot, "a").filter(pl.col("outcome") == "reach")
    assert rows["note"].to_list() == ["an outcome of the pilot is not finite"]
