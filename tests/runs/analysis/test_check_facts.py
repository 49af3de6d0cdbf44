"""``townsquare check facts`` and ``ts.check_facts``: one run, the arms of a comparison, tables of users, sittings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import townsquare as ts
from raised_errors import raises_error
from townsquare.analysis.facts.check import check_run
from townsquare.analysis.facts.measures import BESIDE_NO_NOTES, NAMES, OF_A_SITTING
from townsquare.analysis.facts.people import smallest_share
from townsquare.analysis.facts.rules import OF_A_RULE
from townsquare.cli import main
from townsquare.core.errors import DataError, RecordError, SettingError, UnknownName
from townsquare.experiments.arms import labels
from townsquare.experiments.run_answer import answer_run
from townsquare.pages.report.facts import fact_section
from townsquare.pages.report.run_page import write_report
from townsquare.record.run import Run
from townsquare.testing.measure_conformance import check_section

HOURLY = {"time.step_minutes": 60, "time.warm_up_hours": 6, "moderation.strategy": "none"}
OWN = """facts:
- {id: mine, statement: Mine., interval: [0, 1], unit: correlation, certainty: page, source: Me, measure: retest}
- {id: yours, statement: Yours., interval: [2, 3], unit: ratio, certainty: page, source: You, measure: spread_stays}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return ts.run(
        "health-rumor@1", agents=80, steps=72, seed=1, settings=HOURLY, out=tmp_path_factory.mktemp("runs") / "one"
    )


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> ts.Experiment:
    out = tmp_path_factory.mktemp("runs") / "arms"
    arms = {"moderation.strategy": ["community", "none"], "feed.ranker": ["recent", "engagement"]}
    return ts.compare(
        "health-rumor@1",
        vary=arms,
        seeds=2,
        agents=60,
        steps=60,
        settings={"time.step_minutes": 60},
        workers=1,
        out=out,
    )


def said(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    assert main(["check", "facts", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def by_id(facts: list[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {fact["id"]: fact for fact in facts}


def test_the_command_and_python_say_the_same(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    result, report = said(capsys, run.folder), ts.check_facts(run)
    assert (result["answer"], result["runs"], result["arm"]) == (report.answer, 1, "")
    facts = by_id(result["facts"])
    assert len(facts) == 50
    for check in report.checks:
        fact = facts[check.fact.id]
        assert (fact["measured"], fact["inside"], fact["target"]) == (check.measured, check.inside, check.fact.interval)
        assert fact["value"] == (check.value if check.measured else None)
        assert (fact["interval"] is None) == (fact["scope"] != "rule"), fact["id"]
        assert bool(fact["reason"]) != fact["measured"], fact["id"]
    scored = [fact for fact in facts.values() if fact["measured"] and not fact["verify"] and fact["scope"] != "rule"]
    inside = [fact for fact in scored if fact["inside"]]
    assert result["answer"].startswith(
        f"{len(inside)} of {len(scored)} facts of runs and sittings inside the published range"
    )
    assert all(fact["id"] in result["answer"] for fact in scored if not fact["inside"])


def test_the_first_line_is_the_answer(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "facts", str(run.folder)]) == 0
    shown = capsys.readouterr().out
    answer, left_out, of_rules, by_class, *rest = shown.splitlines()
    assert (answer, left_out, of_rules, by_class) == tuple(str(ts.check_facts(run)).splitlines())
    assert "facts not used for defaults inside" in left_out
    assert "facts of the rules `credence` and `averaging` inside" in of_rules
    assert all(f"{name} " in by_class for name in ("runs", "sittings", "rules"))
    for words in ("unshared_posts", "not scored", "Not measured", "what determines them"):
        assert any(words in line for line in rest), words


def test_facts_of_rules_are_those_of_the_shipped_rules(run: Run) -> None:
    facts = {one.fact.id: one for one in ts.check_facts(run).checks if one.fact.scope == "rule"}
    assert facts.keys() == set(OF_A_RULE)
    assert all(one.measured and one.runs == 0 and one.low <= one.high for one in facts.values())
    labeled = facts["label_false_belief"]
    left = 1 / (1 + math.exp(3.0 - math.log(0.32 / 0.68))) / 0.32
    assert (labeled.value, labeled.low, labeled.high) == pytest.approx([h * (left - 1) for h in (0.33, 0.45, 0.10)])
    assert facts["keepers_and_adopters"].inside is False  # one weight for everybody has no keepers


def test_a_measure_over_the_tables_of_a_real_run(run: Run) -> None:
    posts, persons = run.table("posts"), run.table("agents")["kind"] == 0
    false = set(posts.filter((posts["kind"] == 3) & (posts["veracity"] == 2))["post"])
    seen = np.zeros(len(persons))
    for step, agent, root in run.table("exposures").select("step", "agent", "root").iter_rows():
        seen[agent] += step > 6 and root in false
    (check,) = [one for one in ts.check_facts(run).checks if one.fact.id == "exposure_concentration"]
    assert check.value == pytest.approx(smallest_share(seen[persons.to_numpy()]))


def test_random_posts_are_put_to_random_people(run: Run) -> None:
    facts = {one.fact.id: one for one in ts.check_facts(run).checks if one.fact.measure in OF_A_SITTING}
    assert facts.keys() == set(OF_A_SITTING)
    assert 0 < facts["silent_in_a_sitting"].value < 1
    assert ts.check_facts(run) == ts.check_facts(ts.Run.open(run.folder or ""))
    in_memory = ts.run("health-rumor@1", agents=80, steps=72, seed=1, settings=HOURLY)
    assert ts.check_facts(in_memory) == ts.check_facts(run)


def test_without_posts_of_known_truth_there_is_no_sitting() -> None:
    report = ts.check_facts(ts.run("compulsory-voting", agents=20, steps=2))
    reasons = {one.reason for one in report.checks if one.fact.measure in OF_A_SITTING}
    assert reasons == {"too few false posts in the scenario: 0, and 12 are needed"}
    asked = ts.run("health-rumor@1", agents=4, steps=1, settings={"policy": "llm", "model.name": "fake"})
    (reason,) = {one.reason for one in ts.check_facts(asked).checks if one.fact.measure in OF_A_SITTING}
    assert "language model" in reason


def test_an_arm_of_a_comparison(compared: ts.Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    result = said(capsys, compared.folder)
    assert (result["arm"], result["runs"]) == ("moderation.strategy=none, feed.ranker=recent", 2)
    facts = by_id(result["facts"])
    folders = [run.folder for run in compared.finished if run.arm == result["arm"]]
    alone = [by_id(said(capsys, compared.folder / folder)["facts"])["retest"]["value"] for folder in folders]
    assert facts["retest"]["value"] == pytest.approx(np.mean(alone))
    low, high = facts["retest"]["interval"]
    assert low < min(alone) <= max(alone) < high
    assert facts["feed_changes_move_attitudes_little"]["measured"]
    assert facts["few_notes_are_shown"]["measured"]
    assert facts["note_effect_life"]["runs"] <= 2
    noted = ts.check_facts(compared, arm="moderation.strategy=community, feed.ranker=engagement")
    as_in_the_report = labels(compared.arms)[noted.arm]
    assert as_in_the_report != noted.arm
    assert ts.check_facts(compared, arm=as_in_the_report).arm == noted.arm
    assert noted.arm == "moderation.strategy=community, feed.ranker=engagement"
    assert {one.fact.id for one in noted.checks if one.fact.measure in BESIDE_NO_NOTES} == set(BESIDE_NO_NOTES)
    with raises_error(UnknownName, where="arm", got="no_such", allowed="feed.ranker=recent"):
        ts.check_facts(compared, arm="no_such")


def test_an_own_table_of_facts(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN)
    result = said(capsys, run.folder, "--facts", path)
    assert [fact["id"] for fact in result["facts"]] == ["mine", "yours"]
    assert result["answer"] == "1 of 2 facts of runs inside the published range; outside: yours."
    assert result["left_out"] == ""
    path.write_text(OWN.replace("measure: retest", "measure: re_test"))
    with raises_error(DataError, where="fact 'mine', measure$", got="re_test", do="'retest'") as raised:
        ts.check_facts(run, facts=path)
    assert raised.value.allowed.split(", ") == list(NAMES)


def test_the_report_has_the_answer_where_steps_have_a_length(run: Run, tmp_path: Path) -> None:
    report = check_run(run)
    assert report is not None
    says = f"Published facts: {report.answer}"
    assert any(says in line for line in answer_run(run, ts.outcomes(run)).lines)
    page = write_report(run, tmp_path / "report.html").read_text(encoding="utf-8")
    assert says in page
    assert page.count('id="facts"') == 1
    check_section("facts", fact_section)
    unset = ts.run("health-rumor@1", agents=20, steps=3, seed=1)
    assert fact_section(unset) is None
    assert not any("Published facts" in line for line in answer_run(unset, ts.outcomes(unset)).lines)


def test_what_is_no_run_is_refused(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with raises_error(SettingError, where="arm", got="first", do="single run"):
        ts.check_facts(run, arm="first")
    with raises_error(RecordError, where=tmp_path.name):
        ts.check_facts(tmp_path)
    assert main(["check", "facts"]) == 2
    assert "RUN" in capsys.readouterr().err
