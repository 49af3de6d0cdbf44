"""The trait `vaccinated` of a made survey, three levels with blanks, acts wherever a bundled trait does."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import townsquare as ts
from made_surveys import write_headlines, write_small_survey
from raised_errors import raises_error
from townsquare.analysis.catalog import treatment_effects_by_group
from townsquare.analysis.causes.contributions import agent_names
from townsquare.analysis.contract import CachedRun
from townsquare.analysis.groups import trait_groups
from townsquare.cli import main
from townsquare.core.errors import SettingError, UnknownName
from townsquare.pages.view.agent import agent as agent_facts
from townsquare.pages.view.library import Snapshot
from townsquare.pages.view.query_string import Asked
from townsquare.pages.view.tables import agents_asked_for
from townsquare.record.run import Run
from townsquare.scenario.population.personas import missing_attributes
from townsquare.scenario.population.question_bank import NO_ANSWER, bundled_bank
from townsquare.scenario.population.sample import People, sample_people
from townsquare.scenario.settings import resolve_for
from townsquare.settings.config import Population

SETS = [
    "population.activity_by_trait={vaccinated: {never: 3, no answer: 0}}",
    "population.taste_by_trait={vaccinated: {once to twice: -2}}",
    "graph.by=vaccinated", "graph.by_homophily=4",
    "treatments=[{name: calm, among: {vaccinated: [never, no answer]}, effects: {friction: {share: 1.0}}}]",
    "time.warm_up_hours=1",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("traits")
    posts, answers = write_headlines(made), write_small_survey(made)
    assert main(["init", str(made / "town"), "--from", str(posts), "--survey", str(answers), "--yes"]) == 0
    return made


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    settings = resolve_for(folder / "town", sets=SETS, agents=300, steps=24)
    return ts.simulate(settings, folder / "out")


def people(folder: Path, n: int = 400, **more: object) -> People:
    given = resolve_for(folder / "town").config.population.model_dump()
    return sample_people(0, n, Population.model_validate(given | more), NAMES, 1, folder=folder / "town")


NAMES = ("old_bridge_replaced", "ferries_enough")


def shots_of(made: People) -> np.ndarray:
    number = made.bank.number_of("vaccinated")
    return np.array([made.bank.answer(number, int(code)) for code in made.traits[:, number]])


def shots_in(run: Run) -> dict[int, str]:
    answers = run.table("traits").join(run.table("trait_values"), on=["trait", "value"])
    return dict(answers.filter(pl.col("label") == "vaccinated").select("agent", "answer").iter_rows())


def test_activity_and_taste(folder: Path) -> None:
    plain = people(folder)
    shots = shots_of(plain)
    acts = people(folder, activity_by_trait={"vaccinated": {"never": 3, "no answer": 0}})
    factor = np.select([shots == "never", shots == ""], [3.0, 0.0], 1.0)
    asked = pl.read_csv(folder / "answers.csv").select("w", pl.col("Vaccinated").fill_null(""))
    sums = dict(asked.group_by("Vaccinated").agg(pl.col("w").sum()).iter_rows())
    mean = (3 * sums["never"] + sums["once"] + sums["twice"]) / sum(sums.values())
    assert np.allclose(acts.activity, plain.activity * factor / mean)
    whole = people(folder, missing="impute", activity_by_trait={"vaccinated": {"never": 3, "no answer": 0}})
    known = people(folder, missing="impute")
    mean = (3 * sums["never"] + sums["once"] + sums["twice"]) / (sum(sums.values()) - sums[""])
    assert np.allclose(whole.activity, known.activity * np.where(shots_of(known) == "never", 3.0, 1.0) / mean)
    tasted = people(folder, taste_by_trait={"vaccinated": {"once to twice": -2}})
    assert np.allclose(tasted.taste - plain.taste, np.where(np.isin(shots, ["once", "twice"]), -2.0, 0.0))
    with raises_error(UnknownName, where="population.activity_by_trait", got="'vacinated'", do="'vaccinated'"):
        people(folder, activity_by_trait={"vacinated": {"never": 3}})


def test_homophily_of_communities(folder: Path, run: Run) -> None:
    shots = shots_in(run)
    start = run.table("follows").filter((pl.col("step") == 0) & (pl.col("followed") < 300))
    same = np.mean([shots.get(a) == shots.get(b) for a, b in start.select("follower", "followed").iter_rows()])
    settings = resolve_for(folder / "town", sets=[s for s in SETS if not s.startswith("graph")], agents=300, steps=1)
    before = ts.simulate(settings, folder / "without").table("follows").filter(pl.col("followed") < 300)
    expected = np.mean([shots.get(a) == shots.get(b) for a, b in before.select("follower", "followed").iter_rows()])
    assert same > expected + 0.2


def test_treatments_among_some_and_their_effects_by_group(run: Run) -> None:
    shots, rows = shots_in(run), run.table("treatments")
    part = rows["agent"].to_list()
    assert sorted(part) == [agent for agent in range(300) if shots.get(agent, "") in ("never", "")]
    treated = set(rows.filter("assigned")["agent"].to_list())
    assert 0.3 < len(treated) / len(part) < 0.7
    effects = treatment_effects_by_group(run)
    assert set(effects.filter(pl.col("grouping") == "vaccinated")["group"]) == {"never"}
    row = effects.filter((pl.col("grouping") == "vaccinated") & (pl.col("outcome") == "actions")).row(0, named=True)
    assert row["treated"] == sum(shots.get(agent) == "never" for agent in treated)
    with raises_error(UnknownName, where="treatments.a.among", got="'vacinated'"):
        ts.simulate(resolve_for("health-rumor@1", sets=["treatments=[{name: a, among: {vacinated: [x]}}]"], steps=1))


def test_what_a_model_is_told_groups_of_analyses_and_the_filter_of_the_viewer(folder: Path, run: Run) -> None:
    made = people(folder, missing="impute")
    assert (made.traits != NO_ANSWER).all()
    number = made.bank.number_of("vaccinated")
    for codes, text in zip(made.traits[:20], made.texts[:20], strict=True):
        assert missing_attributes(text, codes, made.bank) == []
        assert f'Asked "Vaccinated", I answered "{made.bank.answer(number, int(codes[number]))}".' in text
    groups = trait_groups(run).filter(pl.col("grouping") == "vaccinated")
    assert dict(groups.select("agent", "group").iter_rows()) == shots_in(run)
    seen = Snapshot("out", run, CachedRun(run), run.last_step, folder / "out")
    never = agents_asked_for(seen, Asked({"find": "Vaccinated: never"}))["agent"].to_list()
    assert sorted(never) == [agent for agent, answer in sorted(shots_in(run).items()) if answer == "never"]


def test_a_second_question_bank(folder: Path) -> None:
    bank = bundled_bank("parliamentary")
    assert set(bank.labels) & {"party", "broadcaster_trust", "settlement"}
    shifts = {"broadcaster_trust": {"mostly to fully": 0.5}}
    settings = {
        "bank": "parliamentary",
        "margins": {"party": {"Greens": 0.5, "Liberals": 0.5}},
        "stance": {"x": {"kind": "constant", "by_trait": shifts}},
    }
    made = sample_people(0, 500, Population.model_validate(settings), ("x",), 1)
    party, trust = (made.traits[:, bank.number_of(label)] for label in ("party", "broadcaster_trust"))
    assert set(party.tolist()) == {bank.code("party", "Greens"), bank.code("party", "Liberals")}
    assert np.array_equal(made.stance[:, 0], np.where(trust >= bank.code("broadcaster_trust", "mostly"), 0.5, 0.0))
    assert all(missing_attributes(bank_text(made, row), made.traits[row], bank) == [] for row in range(50))
    run = ts.simulate(resolve_for("health-rumor@1", sets=["population.bank=parliamentary"], agents=60, steps=2))
    assert "Christian Democrats" in set(run.table("trait_values")["answer"])


@pytest.mark.parametrize("named", [{"bank": "parliamentary"}, {"bank_file": "towns.yaml"}])
def test_accounts_answer_any_question_bank(tmp_path: Path, named: dict[str, str]) -> None:
    town = tmp_path / "town"
    town.mkdir()
    (town / "towns.yaml").write_text(
        "- {label: party, question: Which party?, sentence: 'I vote {value}.', answers: [{value: Greens, p: 0.5},"
        " {value: Liberals, p: 0.5}]}\n", encoding="utf-8",
    )  # fmt: skip
    accounts = [{"id": f"a{k}", "trait:party": ("Greens", "Liberals", "")[k % 3]} for k in range(12)]
    scenario = {"posts": [{"text": "one", "veracity": True}], "accounts": accounts, "settings": {"population": named}}
    (town / "scenario.yaml").write_text(json.dumps(scenario), encoding="utf-8")
    run = ts.run(town, steps=2, out=tmp_path / "run")
    answers = run.table("traits").join(run.table("trait_values"), on=["trait", "value"])
    assert answers.group_by("label", "answer").len().sort("answer").rows() == [
        ("party", "Greens", 4), ("party", "Liberals", 4),
    ]  # fmt: skip
    other = "mosaic" if "bank" in named else "parliamentary"
    with raises_error(SettingError, where="population.bank", do="under `settings` of the scenario"):
        ts.simulate(resolve_for(town, sets=[f"population.bank={other}"], steps=1))


def test_a_language_model_is_asked_as_somebody_with_the_traits(folder: Path) -> None:
    settings = {"policy": "llm", "model": "fake", "population.missing": "impute", "time.warm_up_hours": 1}
    run = ts.run(folder / "town", agents=12, steps=8, settings=settings, out=folder / "model")
    shots = shots_in(run)
    assert set(shots) == set(range(12))
    with closing(sqlite3.connect(folder / "model" / "calls.db")) as calls:
        asked = [row[0] for row in calls.execute("SELECT request FROM ts_calls")]
    prompts = {answer: sum(f'I answered \\"{answer}\\"' in request for request in asked) for answer in shots.values()}
    assert sum(many > 0 for many in prompts.values()) >= 2, prompts
    assert all('Asked \\"Vaccinated\\"' in request for request in asked)
    for name in ("model", "out"):
        pimmur = next(part for part in ts.protocol(folder / name).parts if part.title == "PIMMUR checklist")
        profile = {row[0]: row for row in pimmur.elements[0].answers[0].blocks[-1].rows}
        assert int(profile["persons with traits"][1]) == (12 if name == "model" else 300), profile
        assert "SELECT COUNT" in profile["persons with traits"][-1]


def bank_text(made: People, row: int) -> str:
    return " ".join(made.bank.sentence(number, int(code)) for number, code in enumerate(made.traits[row]))


def test_the_id_of_a_respondent_is_a_name_everywhere(
    folder: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    called = dict(agent_names(run).select("agent", "name").iter_rows())
    own = [agent for agent, name in called.items() if name and name.startswith("R_038/")]
    first, name = min(own), called[min(own)]
    why = ts.why(run, agent="R_038")
    assert (why.agent, why.who) == (first, name)
    assert all(f"the stance of {name} " in sentence for sentence in why.sentences)
    assert ts.why(run, agent=name).agent == first
    assert ts.attribute(run, agent="R_038").equals(ts.attribute(run, agent=first))
    assert ts.counterfactual(run, without="author=R_038").removal.authors == (first,)
    for words in (["why"], ["attribute"], ["counterfactual", "--without", "author=R_038"]):
        assert main([words[0], str(folder / "out"), *words[1:], "--agent", "R_038"]) == 0
        assert words == ["attribute"] or name in capsys.readouterr().out
    with raises_error(SettingError, where="agent", got="'R_38'", do="did you mean 'R_038'?"):
        ts.why(run, agent="R_38")
    seen = Snapshot("out", run, CachedRun(run), run.last_step, folder / "out")
    assert sorted(agents_asked_for(seen, Asked({"find": "r_038"}))["agent"].to_list()) == sorted(own)
    assert agent_facts(seen, first)["who"] == name


def test_respondents_may_have_numbers_for_names(folder: Path) -> None:
    """A number is that of an agent if there is one, else of a respondent; the viewer finds both."""
    text = (folder / "answers.csv").read_text(encoding="utf-8").replace("R_0", "9")
    (folder / "numbered.csv").write_text(text, encoding="utf-8")
    words = ["--from", str(folder / "headlines.csv"), "--survey", str(folder / "numbered.csv"), "--yes"]
    assert main(["init", str(folder / "numbered"), *words]) == 0
    out = folder / "of_numbers"
    run = ts.run(folder / "numbered", agents=80, steps=2, out=out, settings={"time.warm_up_hours": 1})
    names = dict(agent_names(run).select("agent", "name").drop_nulls().iter_rows())
    own = [agent for agent, name in names.items() if name.startswith("910/")]
    assert ts.why(run, agent=names[own[0]]).agent == own[0]
    assert ts.why(run, agent=9).agent == 9
    assert ts.why(run, agent="910").agent == ts.why(run, agent=910).agent == min(own)
    with raises_error(SettingError, where="agent", got="999"):
        ts.why(run, agent=999)
    seen = Snapshot("of_numbers", run, CachedRun(run), run.last_step, folder / "of_numbers")
    assert agents_asked_for(seen, Asked({"find": "910"}))["agent"].sort().to_list() == own
