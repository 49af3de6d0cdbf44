"""Traits of a survey's own, its weights and its blanks, from a CSV to agents and a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from raised_errors import raises_error
from townsquare.analysis.groups import trait_groups
from townsquare.analysis.verbs import agent_number
from townsquare.cli import main
from townsquare.core.errors import DataError, SettingError
from townsquare.record.run import Run
from townsquare.scenario.population.question_bank import NO_ANSWER
from townsquare.scenario.population.sample import People, sample_people
from townsquare.scenario.settings import resolve_for
from townsquare.settings.config import Population

MAPPING = """
id: who
weight: w
missing: [refused]
columns:
  Party: {trait: party, kind: categorical, question: Which party do you feel close to?}
  Shots: {trait: vaccinated, kind: ordinal, answers: [never, once, twice], values: {"2": twice}}
  Income: {trait: income, kind: numeric}
  type: {trait: age}
"""
PARTIES = ("Die Linke", "Union", "")
SHOTS = ("never", "once", "2", "refused")
ROWS = [
    f"R_{k:03},{1 + k % 3},{PARTIES[k % 3]},{SHOTS[k % 4]},{1200.5 * (k % 7) if k % 7 else ''},{20 + k}"
    for k in range(40)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "answers.csv").write_text("\n".join(["who,w,Party,Shots,Income,type", *ROWS]), encoding="utf-8")
    (tmp_path / "survey.yaml").write_text(MAPPING, encoding="utf-8")
    return tmp_path


def people(folder: Path, n: int = 1000, **more: object) -> People:
    given = {"file": "answers.csv", "mapping": "survey.yaml", "resample": True, **more}
    return sample_people(0, n, Population.model_validate(given), ("safe",), 1, folder=folder)


def answers(made: People, label: str) -> list[str]:
    number = made.bank.number_of(label)
    return [made.bank.answer(number, code) for code in made.traits[:, number].tolist()]


def test_forty_respondents_become_a_thousand_agents_by_weight(folder: Path) -> None:
    made = people(folder)
    assert made.bank.labels == ("party", "vaccinated", "income", "age")
    assert made.bank.traits[1].answers == ("never", "once", "twice")
    ids = [name.partition("/")[0] for name in made.names]
    weight = {f"R_{k:03}": 1 + k % 3 for k in range(40)}
    for who, own in weight.items():
        assert ids.count(who) == pytest.approx(1000 * own / sum(weight.values()), abs=1)
    text = made.texts[ids.index("R_000")]
    assert 'Asked "Which party do you feel close to?", I answered "Die Linke".' in text


def test_weights_that_alternate_with_the_rows_do_not_bias_answers(tmp_path: Path) -> None:
    rows = [f"R_{k:03},{1 + 2 * (k % 2)},{PARTIES[k % 2]},never,100,30" for k in range(200)]
    (tmp_path / "answers.csv").write_text("\n".join(["who,w,Party,Shots,Income,type", *rows]), encoding="utf-8")
    (tmp_path / "survey.yaml").write_text(MAPPING, encoding="utf-8")
    given = Population.model_validate({"file": "answers.csv", "mapping": "survey.yaml", "resample": True})
    for seed in range(5):  # in the order of the file, the share was 0.5 or 1
        party = answers(sample_people(0, 200, given, ("safe",), seed, folder=tmp_path), "party")
        assert party.count("Union") / 200 == pytest.approx(0.75, abs=0.06)


def test_margins_hold_within_a_point_and_leave_blanks(folder: Path) -> None:
    margins = {"party": {"Union": 0.7, "Die Linke": 0.3}, "income": {"0-3000": 0.5, "3000.5+": 0.5}}
    made = people(folder, margins=margins)
    party = [answer for answer in answers(made, "party") if answer]
    assert party.count("Union") / len(party) == pytest.approx(0.7, abs=0.01)
    income = np.array([float(answer) for answer in answers(made, "income") if answer])
    assert np.mean(income <= 3000) == pytest.approx(0.5, abs=0.01)
    assert len(party) < 1000
    filled = people(folder, margins=margins, missing="impute")
    assert (filled.traits != NO_ANSWER).all()
    kept = made.traits != NO_ANSWER
    assert np.array_equal(filled.traits[kept], made.traits[kept])


@pytest.mark.parametrize("sets", [[], ["population.resample=true"]])
def test_imputing_without_a_file_to_draw_from_is_refused(sets: list[str]) -> None:
    with raises_error(SettingError, where="population.missing", got="no answer would be imputed", do="population.file"):
        resolve_for("health-rumor", None, ["population.missing=impute", *sets])


def test_a_missing_stance_is_drawn_as_the_setting_says(folder: Path) -> None:
    path = folder / "survey.yaml"
    path.write_text(
        MAPPING.replace("  Income: {trait: income, kind: numeric}", "  Safe: {stance: safe, scale: [1, 3]}")
    )
    given = ["", "1", "3", "3"]
    rows = [row.rsplit(",", 2)[0] + f",{given[k % 4]},{20 + k}" for k, row in enumerate(ROWS)]
    (folder / "answers.csv").write_text("\n".join(["who,w,Party,Shots,Safe,type", *rows]), encoding="utf-8")
    start = {"safe": {"kind": "constant", "mean": 0.25}}
    kept, drawn = (people(folder, 4000, stance=start, missing=how).stance[:, 0] for how in ("keep", "impute"))
    lacks = kept == 0.25
    assert set(kept[~lacks]) == set(drawn) == {-1.0, 1.0}
    assert np.array_equal(kept[~lacks], drawn[~lacks])
    weight = {answer: sum(1 + k % 3 for k in range(40) if given[k % 4] == answer) for answer in ("1", "3")}
    assert np.mean(drawn[lacks] == 1.0) == pytest.approx(weight["3"] / sum(weight.values()), abs=0.04)


def test_stances_start_by_traits_of_ones_own_and_by_missing_answers(folder: Path) -> None:
    shifts = {"vaccinated": {"once to twice": 0.5, "no answer": -0.5}}
    made = people(folder, stance={"safe": {"kind": "constant", "by_trait": shifts}})
    expected = [{"never": 0.0, "": -0.5}.get(answer, 0.5) for answer in answers(made, "vaccinated")]
    assert made.stance[:, 0].tolist() == expected


def test_a_run_has_the_traits_the_names_and_homophily(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    sets = [
        "population.file=answers.csv", "population.mapping=survey.yaml", "population.resample=true",
        "graph.kind=block", "graph.by=vaccinated", "graph.homophily=0.9",
    ]  # fmt: skip
    words = [word for one in sets for word in ("--set", one)]
    assert main(["run", "health-rumor@1", "--agents", "200", "--steps", "1", "--out", "out", "--quiet", *words]) == 0
    run = Run.open(Path("out"))
    groups = trait_groups(run)
    assert set(groups.filter(pl.col("grouping") == "vaccinated")["group"]) == {"never", "once", "twice"}
    assert groups.filter(pl.col("grouping") == "income")["group"].str.contains(" to |^").all()
    shots = dict(groups.filter(pl.col("grouping") == "vaccinated").select("agent", "group").iter_rows())
    follows = run.table("follows").select("follower", "followed").iter_rows()
    same = [shots.get(a) == shots.get(b) for a, b in follows if a < 200 and b < 200]
    assert np.mean(same) > 0.8
    names = run.table("texts")["content"]
    first = agent_number(run, "R_005")
    assert names[run.table("agents")["name"][first]].startswith("R_005/")
    with raises_error(SettingError, allowed="the number of an agent, its name, or the id of a respondent"):
        agent_number(run, "R_999")


@pytest.mark.parametrize(
    ("old", "new", "got"),
    [
        ("Party: {trait: party, kind: categorical", "Party: {trait: party", "answers or a question"),
        ("answers: [never, once, twice]", "answers: [never]", "1 answers"),
        ("answers: [never, once, twice]", "answers: [never, never]", "1 answers"),
        ("answers: [never, once, twice]", "answers: [never, once]", "twice"),
        ("Income: {trait: income, kind: numeric}", "Income: {trait: income}", "income"),
        ("Income: {trait: income, kind: numeric}", "Party2: {trait: income, kind: numeric}", "Party2"),
        ("kind: numeric", "kind: numeric, answers: [a]", "answers or bands"),
        ("weight: w", "weight: v", "'v'"),
        ("weight: w", "weight: Party", "Die Linke"),
        ("Shots: {trait: vaccinated", "Shots: {trait: party", "'party' again"),
    ],
)  # fmt: skip
def test_mistaken_mappings_say_what_is_wrong(folder: Path, old: str, new: str, got: str) -> None:
    assert old in MAPPING
    (folder / "survey.yaml").write_text(MAPPING.replace(old, new), encoding="utf-8")
    with raises_error(DataError, got=got):
        people(folder)


def test_settings_that_do_not_go_together(folder: Path) -> None:
    with raises_error(SettingError, got="no population.file"):
        people(folder, file=None)
    with raises_error(DataError, do="population.resample=true"):
        people(folder, resample=False)
