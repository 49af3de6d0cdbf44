"""Effects of arms within each answer to a survey, against SQL on the record; on the page, in files and in Python."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from statistics import mean, stdev

import polars as pl
import pytest

import townsquare as ts
from browser_pages import Elements
from made_surveys import write_headlines, write_small_survey
from raised_errors import raises_error
from townsquare.cli import main
from townsquare.core.errors import UnknownName
from townsquare.experiments.manifest import Experiment
from townsquare.pages.report import write_comparison

SEEDS = (1, 2, 3, 4)
TOLD = {"name": "told", "share": 1.0, "among": {"vaccinated": ["never"]}, "effects": {"others": 40}}
MESSAGE = {
    "text": "Ferries carry it all", "source": "town", "stance": {"ferries_enough": 1.0}, "repeat": 40,
    "audience": {"treatment": "told"},
}  # fmt: skip
BY_RESPONDENT = """
    SELECT b.agent, n.content AS name, b.stance FROM ts_beliefs b
    JOIN ts_agents a ON a.agent = b.agent JOIN ts_texts n ON n.text = a.name
    JOIN ts_propositions p ON p.proposition = b.proposition
    WHERE p.name = 'ferries_enough' AND b.step = (SELECT MAX(step) FROM ts_beliefs)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("groups")
    posts, answers = write_headlines(made), write_small_survey(made)
    assert main(["init", str(made / "town"), "--from", str(posts), "--survey", str(answers), "--yes"]) == 0
    return made


@pytest.fixture(scope="module")
def told(folder: Path) -> Experiment:
    """Arms that differ in a message to those who answered `never`, and to nobody else."""
    return ts.compare(
        folder / "town", vary={"events": [[], [{"step": 3, "message": MESSAGE}]]}, seeds=list(SEEDS), agents=200,
        steps=40, out=folder / "told", workers=1,
        settings={"treatments": [TOLD], "beliefs.rule": "exposure", "time.warm_up_hours": 2},
    )  # fmt: skip


def by_hand(made: Experiment, answers: Path, column: str, answer: str) -> list[float]:
    """Mean change of stance by seed of those whose row of the CSV has this answer."""
    with answers.open(encoding="utf-8", newline="") as table:
        gave = {row["Respondent"]: row[column] for row in csv.DictReader(table)}
    ends = {}
    for run in made.runs:
        rows = ts.Run.open(made.folder / run.folder).sql(BY_RESPONDENT)
        found = {a: s for a, name, s in rows.iter_rows() if gave.get(name.rpartition("/")[0]) == answer}
        ends[run.arm, run.seed] = found
    arms = [arm.name for arm in made.arms]
    return [mean(ends[arms[1], s][a] - ends[arms[0], s][a] for a in ends[arms[0], s]) for s in SEEDS]


@pytest.mark.parametrize(("column", "answer"), [("Vaccinated", "never"), ("Party", "Union")])
def test_effects_are_those_of_sql_on_the_record(told: Experiment, folder: Path, column: str, answer: str) -> None:
    change = by_hand(told, folder / "answers.csv", column, answer)
    effects = told.effects_by_group().filter(proposition="ferries_enough", trait=column.lower(), answer=answer)
    (row,) = effects.iter_rows(named=True)
    assert row["value"] == pytest.approx(mean(change), abs=1e-12)
    assert row["high"] - row["low"] == pytest.approx(2 * 3.182446305284263 * stdev(change) / math.sqrt(4), rel=1e-6)
    assert (row["arm"], row["seeds"]) == (told.arms[1].name, 4)


def test_numbers_have_the_same_bands_in_all_runs_and_answers_their_order(told: Experiment, folder: Path) -> None:
    effects = told.effects_by_group().filter(proposition="ferries_enough")
    of = {str(trait): part["answer"].to_list() for (trait,), part in effects.group_by("trait", maintain_order=True)}
    assert of["vaccinated"] == ["never", "once", "twice"]
    assert of["income"] == ["1,200", "2,400.5", "3,100"]
    assert set(effects["seeds"]) == {4}
    with (folder / "answers.csv").open(encoding="utf-8", newline="") as rows:
        never = sum(row["Vaccinated"] == "never" for row in csv.DictReader(rows))
    of_never = effects.filter(trait="vaccinated", answer="never").row(0, named=True)
    assert of_never["respondents"] <= never < of_never["agents"] < 200
    with raises_error(UnknownName, where="baseline", got="'nothing'"):
        told.effects_by_group("nothing")


def test_the_group_that_was_told_is_named_and_others_are_not(told: Experiment, tmp_path: Path) -> None:
    effects = told.effects_by_group()
    clear = effects.filter(pl.col("p_holm") < 0.05).sort("value", descending=True)
    assert clear.select("trait", "answer", "proposition").row(0) == ("vaccinated", "never", "ferries_enough")
    others = effects.filter(pl.col("trait") == "vaccinated", pl.col("answer") != "never")["value"]
    assert others.abs().max() < clear["value"][0] / 10  # type: ignore[operator]
    page = write_comparison(told, tmp_path / "report.html").read_text(encoding="utf-8")
    text = Elements(page).text
    assert f"{clear.height} of 24 tests with p < 0.05 after Holm's correction. Clearest: +0.0" in text
    assert 'under events=[{"step": 3' in text
    assert "for vaccinated: never" in text
    assert "Groups are not randomized" in text
    assert "few respondents say little" in text
    assert page.index("<details") < page.index('id="by-answer"')


def test_json_has_them_and_people_of_no_survey_have_none(
    told: Experiment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told.effects_by_group().height == 24
    out, sets = str(tmp_path / "plain"), ["--agents", "30", "--steps", "2", "--seeds", "1", "--workers", "1", "--json"]
    assert main(["compare", "health-rumor@1", "--vary", "moderation.strategy=none,hybrid", "--out", out, *sets]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["effects_by_group"] == []
    assert 'id="by-answer"' not in (tmp_path / "plain" / "report.html").read_text(encoding="utf-8")
