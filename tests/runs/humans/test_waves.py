"""The same people asked again: later answers beside the rule, and as trajectories that `townsquare fit` reads."""

from __future__ import annotations

import json
import random
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
    answers = pl.read_csv(folder / "answers.csv", infer_schema=False)
    first, again = (answers[name].to_list() for name in answers.columns if name.startswith("The old bridge"))
    measured, simulated = by_hand(run, answers["Respondent"].to_list(), first, again, 24)
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


def agents_of(run: Run) -> dict[str, list[int]]:
    """Agents by the id of their respondent."""
    names, agents = run.table("texts")["content"], dict[str, list[int]]()
    for agent, name in run.table("agents").select("agent", "name").iter_rows():
        agents.setdefault(names[name].partition("/")[0], []).append(agent)
    return agents


def by_hand(
    run: Run, ids: list[str], first: list[str | None], again: list[str | None], step: int
) -> tuple[list[float], list[float]]:
    """Mean change by respondent, from the CSV and from the record."""
    agents = agents_of(run)
    beliefs = run.table("beliefs").filter((pl.col("step") == step) & (pl.col("proposition") == 0))
    stance = dict(beliefs.select("agent", "stance").iter_rows())
    measured, simulated = [], []
    for who, one, two in zip(ids, first, again, strict=True):
        if one and two and who in agents:
            start = (int(one) - 4) / 3
            measured.append((int(two) - 4) / 3 - start)
            simulated.append(float(np.mean([stance[agent] for agent in agents[who]])) - start)
    return measured, simulated


ITEM = "The old bridge should be replaced (1 no ... 7 yes)"


def write_three_waves(folder: Path) -> dict[int, dict[str, str]]:
    """Write three files of the same people, in another order each, some missing; return answers by wave and id."""
    draw, answers = random.Random(2), dict[int, dict[str, str]]()
    for wave in (1, 2, 3):
        there = [f"R_{k:03}" for k in range(40) if wave == 1 or draw.random() > 0.15]
        before = answers.get(wave - 1, {})
        answers[wave] = {
            who: str(min(7, int(before.get(who) or draw.randint(1, 6)) + draw.choice([0, 1]))) if draw.random() > 0.1
            else "" for who in there
        }  # fmt: skip
        draw.shuffle(there)
        rows = [f"{who},{draw.choice(['Union', 'Grüne'])},{answers[wave][who]}\n" for who in there]
        (folder / f"w{wave}.csv").write_text(f"Respondent,Party,{ITEM}\n{''.join(rows)}", encoding="utf-8")
    return answers


def test_three_waves_are_readings_that_a_fit_understands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = write_three_waves(folder)
    files = ["--survey", "w1.csv", "--survey", "w2.csv", "--survey", "w3.csv"]
    assert main(["init", "three", "--from", "headlines.csv", *files, "--yes"]) == 0
    mapping = folder / "three" / "mapping.yaml"
    text = mapping.read_text(encoding="utf-8")
    assert "waves:\n  '2': 84\n  '3': 168\n" in text
    mapping.write_text(text.replace("'2': 84", "2: 20").replace("'3': 168", "3: 40"), encoding="utf-8")
    words = ["--agents", "120", "--steps", "40", "--quiet", "--set", "time.warm_up_hours=2"]
    assert main(["run", "./three", "--out", "out", *words]) == 0
    capsys.readouterr()
    assert main(["check", "waves", "out", "--out", "waves.csv", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["waves"]
    assert [(check["proposition"], check["wave"], check["step"]) for check in told] == [(NAME, 2, 20), (NAME, 3, 40)]
    run, ids = Run.open(Path("out")), list(answers[1])
    for check in told:
        again = [answers[check["wave"]].get(who) for who in ids]
        measured, simulated = by_hand(run, ids, [answers[1][who] for who in ids], again, check["step"])
        assert check["respondents"] == len(measured) > 20
        assert check["measured"] == pytest.approx(np.mean(measured))
        assert check["simulated"] == pytest.approx(np.mean(simulated))
    people = read_humans(Path("waves.csv"))
    agents, met = agents_of(run), stances_met(run)
    between = 0
    for row, who in enumerate(people.participant):
        assert round(3 * people.initial[row] + 4) == int(answers[1][who])
        assert round(3 * people.final[row] + 4) == int(answers[3][who])
        steps = [step for step in met.get(agents[who][0], []) if step <= 40]
        assert people.indptr[row + 1] - people.indptr[row] == len(steps)
        first, last = people.reading_indptr[row : row + 2].tolist()
        before = sum(step <= 20 for step in steps)
        if answers[2].get(who) and 0 < before < len(steps):
            assert people.reading_after[first:last].tolist() == [before]
            assert round(3 * people.reading[first] + 4) == int(answers[2][who])
            between += 1
        else:
            assert first == last
    assert between > 5
    assert main(["fit", "waves.csv", "--rule", "averaging", "--by", "step", "--json"]) == 0
    fitted = json.loads(capsys.readouterr().out)
    assert fitted["fit"]["rows"] == len(people) + between


def stances_met(run: Run) -> dict[int, list[int]]:
    """Steps at which each agent was shown a post with a stance toward the first proposition."""
    rows = run.sql(
        "SELECT e.agent, e.step FROM ts_exposures e JOIN ts_post_stances s ON s.post = e.root AND s.proposition = 0 "
        "ORDER BY e.agent, e.step"
    )
    return {int(agent): part["step"].to_list() for (agent,), part in rows.group_by("agent")}


def test_a_run_without_waves_says_what_to_add(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "health-rumor@1", "--agents", "30", "--steps", "1", "--out", "plain", "--quiet"]) == 0
    assert main(["check", "waves", "plain"]) != 0
    assert "got: a run without a survey" in capsys.readouterr().err
