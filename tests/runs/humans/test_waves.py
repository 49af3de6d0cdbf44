"""The same people asked again: later answers beside the rule, and as trajectories that `townsquare fit` reads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from made_surveys import write_headlines, write_small_survey
from townsquare.cli import main
from townsquare.humans.read import read_humans
from townsquare.record.run import Run

NAME = "old_bridge_replaced"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_headlines(tmp_path)
    write_small_survey(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["init", "town", "--from", "headlines.csv", "--survey", "answers.csv", "--yes"]) == 0
    mapping = tmp_path / "town" / "mapping.yaml"
    mapping.write_text(mapping.read_text(encoding="utf-8").replace("'2': 168", "2: 24"), encoding="utf-8")
    return tmp_path


def test_waves_stand_beside_the_rule_and_enter_a_fit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--agents", "120", "--steps", "30", "--quiet", "--set", "time.warm_up_hours=2"]
    assert main(["run", "./town", "--out", "out", *words]) == 0
    capsys.readouterr()
    assert main(["check", "waves", "out", "--out", "waves.csv", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["waves"]
    assert [(check["proposition"], check["wave"], check["step"]) for check in told] == [(NAME, 2, 24)]
    run = Run.open(Path("out"))
    measured, simulated = by_hand(run, folder)
    assert told[0]["respondents"] == len(measured)
    assert told[0]["measured"] == pytest.approx(np.mean(measured))
    assert told[0]["simulated"] == pytest.approx(np.mean(simulated))
    assert told[0]["error"] == pytest.approx(np.sqrt(np.mean((np.array(simulated) - measured) ** 2)))
    assert told[0]["error_still"] == pytest.approx(np.sqrt(np.mean(np.square(measured))))
    people = read_humans(Path("waves.csv"))
    assert 3 <= len(people) <= len(measured)
    assert set(people.participant) <= {f"R_{k:03}" for k in range(40)}
    assert set(np.round(3 * people.initial + 4, 6)) <= set(range(1, 8))
    assert main(["fit", "waves.csv", "--rule", "averaging", "--json"]) == 0


def by_hand(run: Run, folder: Path) -> tuple[list[float], list[float]]:
    """Mean change by respondent, from the CSV and from the record."""
    answers = pl.read_csv(folder / "answers.csv", infer_schema=False)
    first, again = (name for name in answers.columns if name.startswith("The old bridge"))
    names = run.table("texts")["content"]
    agents: dict[str, list[int]] = {}
    for agent, name in run.table("agents").select("agent", "name").iter_rows():
        agents.setdefault(names[name].partition("/")[0], []).append(agent)
    beliefs = run.table("beliefs").filter((pl.col("step") == 24) & (pl.col("proposition") == 0))
    stance = dict(beliefs.select("agent", "stance").iter_rows())
    measured, simulated = [], []
    for who, one, two in answers.select("Respondent", first, again).iter_rows():
        if one and two and who in agents:
            start = (int(one) - 4) / 3
            measured.append((int(two) - 4) / 3 - start)
            simulated.append(float(np.mean([stance[agent] for agent in agents[who]])) - start)
    return measured, simulated


def test_a_run_without_waves_says_what_to_add(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "health-rumor@1", "--agents", "30", "--steps", "1", "--out", "plain", "--quiet"]) == 0
    assert main(["check", "waves", "plain"]) != 0
    assert "got: a run without a survey" in capsys.readouterr().err
