"""ODD+D descriptions and PIMMUR checklists: every element is there, and numbers are those of the record."""

from __future__ import annotations

import ast
import inspect
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import townsquare as ts
from made_experiments import made
from raised_errors import raises_error
from repository import ROOT
from townsquare.cli import main
from townsquare.core.draws import Stage
from townsquare.core.errors import RecordError
from townsquare.core.text_table import Table
from townsquare.debate.results import DebateResults
from townsquare.experiments.protocol.checklist import words_found
from townsquare.experiments.protocol.document import Answer, Author, Document, Element
from townsquare.experiments.protocol.runs import DRAWS, SCHEDULE
from townsquare.pages.protocol import protocol_page
from townsquare.record.run import Run
from townsquare.simulation.step import step

ELEMENTS = {
    "Overview": ["Purpose", "Entities, state variables and scales", "Process overview and scheduling"],
    "Design concepts": [
        "Theoretical and empirical background", "Individual decision-making", "Learning", "Individual sensing",
        "Individual prediction", "Interaction", "Collectives", "Heterogeneity", "Stochasticity", "Observation",
    ],
    "Details": ["Implementation details", "Initialization", "Input data", "Submodels"],
    "PIMMUR checklist": ["Profile", "Interaction", "Memory", "Minimal control", "Unawareness", "Realism"],
}  # fmt: skip
"""Müller and others (2013), table 1; Zhou and others (2025)."""
HOSTILE = "A `b` *c* [d](http://e.example/f) <script>g</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    whole = tmp_path_factory.mktemp("protocol")
    size = {"agents": 40, "steps": 4, "seed": 2}
    ts.run("health-rumor@1", **size, out=whole / "run", settings={"moderation.strategy": "community"})
    model = {"policy": "llm", "model": "fake", "memory.reflect_every": 2}
    ts.run("health-rumor@1", agents=12, steps=4, seed=2, out=whole / "model", settings=model)
    arms = {"moderation.strategy": ["none", "hybrid"]}
    ts.compare("health-rumor@1", vary=arms, seeds=2, agents=30, steps=3, out=whole / "arms", workers=1)
    ts.run_debate(trials=2, settings={"rounds": 2}, vary={"u": [0.2, 0.4]}, out=whole / "debates")
    return whole


@pytest.fixture(scope="module")
def documents(folder: Path) -> Mapping[str, Document]:
    return {name: ts.protocol(folder / name) for name in ("run", "model", "arms", "debates")}


def element(document: Document, title: str, part: str = "") -> Element:
    return next(
        one for each in document.parts if part in each.title for one in each.elements if one.title == title
    )  # fmt: skip


def tables(document: Document) -> Iterator[Table]:
    answers = (answer for one in document.elements for answer in one.answers)
    yield from (block for answer in answers for block in answer.blocks if isinstance(block, Table))


def named(document: Document, caption: str) -> list[dict[str, str]]:
    table = next(one for one in tables(document) if one.caption == caption)
    return [dict(zip(table.head, row, strict=True)) for row in table.rows]


def measured(document: Document, title: str) -> dict[str, int]:
    blocks = element(document, title, "PIMMUR").answers[0].blocks
    rows = [row for block in blocks if isinstance(block, Table) for row in block.rows]
    return {row[0]: int(row[1].replace(",", "")) for row in rows}


@pytest.mark.parametrize("name", ["run", "model", "arms", "debates"])
def test_every_element_has_its_heading_and_answers(documents: Mapping[str, Document], name: str) -> None:
    document = documents[name]
    assert {part.title: [one.title for one in part.elements] for part in document.parts} == ELEMENTS
    markdown, page = document.markdown(), protocol_page(document).html()
    for part, titles in ELEMENTS.items():
        assert f"\n## {part}\n" in markdown
        assert all(f"\n### {title}\n" in markdown and f"<h3>{title}</h3>" in page for title in titles)
    answers = [answer for one in document.elements for answer in one.answers]
    assert len(answers) > 50
    assert not [answer.question for answer in answers if not answer.blocks]
    assert all(f"\n#### {answer.question}\n" in markdown for answer in answers)
    assert markdown.count("**Author: state") == len(document.for_author) > 8
    assert "{" not in "".join(block for answer in answers for block in answer.blocks if isinstance(block, str))


def test_numbers_are_those_of_the_record(folder: Path, documents: Mapping[str, Document]) -> None:
    run, document = Run.open(folder / "run"), documents["run"]
    recorded = {row["table"]: int(row["rows"].replace(",", "")) for row in named(document, "Recorded tables")}
    assert recorded == {name: n for name, n in run.counts.items() if n}
    persons = run.table("agents").filter(pl.col("kind") == 0)["agent"]
    shown = run.table("exposures")
    by_persons = shown.filter(pl.col("author").is_in(persons.implode())).height
    posts = run.table("posts")
    trail = run.table("trail").filter(pl.col("kind") == 0)
    causes = trail.join(posts.select("post", "author"), on="post").filter(pl.col("author").is_in(persons.implode()))
    actions = run.table("actions").filter(pl.col("status") == 0, pl.col("rank") >= 0)
    assert measured(document, "Interaction") == {
        "rows shown": shown.height,
        "rows put into the feed by another person": by_persons,
        "accepted actions on rows of a feed": actions.height,
        "posts and comments written by persons": posts.filter(pl.col("kind").is_in([0, 2])).height,
        "contributions of exposures to beliefs": trail.height,
        "of these, from rows put into the feed by another person": causes.height,
    }
    profile = measured(document, "Profile")
    assert profile["persons"] == profile["persons with traits"] == persons.len()
    start = run.table("beliefs").filter(pl.col("step") == 0)
    assert profile["different initial stances on the first proposition"] == (
        start.filter(pl.col("proposition") == 0)["stance"].n_unique()
    )
    stance = named(document, "Initial beliefs by proposition")[0]
    assert float(stance["mean stance"].replace("−", "-")) == pytest.approx(
        start.filter(pl.col("proposition") == 0)["stance"].mean(), rel=5e-3
    )
    done = {row["action"].strip("`"): row["accepted"] for row in named(document, "Recorded actions")}
    likes = run.sql("SELECT COUNT(*) FROM actions WHERE kind = 1 AND status = 0").item()
    assert int(done["like"].replace(",", "")) == likes
    turns = run.table("trail").filter(pl.col("step") > 0).select("step", "agent").unique().height
    assert f"causes of belief change in {turns:,} person-steps" in document.markdown()
    hashes = named(document, "Hashes (SHA-256)")[0]
    assert hashes["content"] == f"`{run.content_hash}`"
    assert hashes["settings"] == f"`{run.header.settings_hash}`"


def test_every_setting_in_force_is_listed_once_with_its_value(folder: Path, documents: Mapping[str, Document]) -> None:
    run = Run.open(folder / "run")
    rows = [row for table in tables(documents["run"]) for row in _settings(table)]
    listed = {row["setting"].strip("`"): row for row in rows}
    for path in ("feed.followed", "policy.name", "beliefs.rule", "beliefs.label_weight.false", "agents", "graph.kind"):
        value: Any = run.settings
        for key in path.split("."):
            value = value[key]
        assert listed[path]["value"] == (value if isinstance(value, str) else json.dumps(value))
        assert listed[path]["allowed"]
        assert listed[path]["meaning"]
    again = [
        row["setting"]
        for table in tables(documents["run"])
        for row in _settings(table)
        if "rest on" not in table.caption
    ]
    assert len(again) == len(set(again)) > 60
    bases = {row["basis"].partition(":")[0].partition(" ")[0].rstrip(",") for row in rows}
    assert bases <= {"fitted", "published", "assumed", "set", "choice", "Author"}
    assert {"published", "assumed", "set", "Author"} <= bases
    arms = [row["arm"] for row in named(documents["arms"], "Settings of each arm that differ from the base")]
    assert arms == ["moderation.strategy=none", "moderation.strategy=hybrid"]


def _settings(table: Table) -> list[dict[str, str]]:
    return [dict(zip(table.head, row, strict=True)) for row in table.rows] if table.head[0] == "setting" else []


def test_the_schedule_is_that_of_the_step() -> None:
    names = list(SCHEDULE)
    tree = ast.parse(inspect.getsource(step))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = sorted(
        (call.lineno, call.end_col_offset or 0, getattr(call.func, "attr", getattr(call.func, "id", "")))
        for call in calls
    )
    assert [name for *_, name in called if name in names] == names
    assert set(DRAWS) == {stage.name for stage in Stage}


def test_words_in_prompts_are_counted(folder: Path, documents: Mapping[str, Document]) -> None:
    document = documents["model"]
    blocks = element(document, "Minimal control", "PIMMUR").answers[0].blocks
    table = next(block for block in blocks if isinstance(block, Table))
    found = {row[1]: (int(row[2]), int(row[3])) for row in table.rows}
    with closing(sqlite3.connect(folder / "model" / "calls.db")) as calls:
        common = calls.execute("SELECT COUNT(*) FROM ts_calls WHERE request LIKE '%common and fine%'").fetchone()[0]
        prompts = calls.execute("SELECT COUNT(*) FROM ts_calls").fetchone()[0]
    assert found["fine"][0] == common > 0
    assert isinstance(blocks[0], str)
    assert blocks[0].startswith(f"Partly: instructions of {prompts} recorded prompts")
    assert "Author: state why each word" in document.markdown()
    unaware = element(document, "Unawareness", "PIMMUR").answers[0].blocks[0]
    assert str(unaware).startswith("Yes: instructions")
    assert str(element(documents["run"], "Unawareness", "PIMMUR").answers[0].blocks[0]).startswith("Not applicable")
    assert measured(document, "Memory")["memories in words"] > 0


def test_a_word_counts_where_it_stands() -> None:
    prompts = [("This is an Experiment.", ""), ("", "an experiment, researchers"), ("experimental", "")]
    assert [one[:4] for one in words_found("unawareness", prompts)] == [
        ("study", "experiment", 1, 1),
        ("study", "researchers", 0, 1),
    ]
    assert words_found("control", [("You SHOULD share", "")])[0][:4] == ("obligation", "should", 1, 0)


def test_debates_count_what_their_trials_hold(folder: Path, documents: Mapping[str, Document]) -> None:
    results = DebateResults.open(folder / "debates")
    records = [record for arm in results.arms for record in results.records(arm)]
    assert measured(documents["debates"], "Interaction") == {
        "messages": sum(len(record["turns"]) for record in records),
        "changes of evidence or stance by a message of the other side": sum(
            move["seat"] != turn["seat"] for record in records for turn in record["turns"] for move in turn["moves"]
        ),
    }
    retrieved = sum(len(turn["retrieved"]) for record in records for turn in record["turns"])
    assert measured(documents["debates"], "Memory")["argument records retrieved for a turn"] == retrieved
    hashes = [row["content"] for row in named(documents["debates"], "Hashes (SHA-256)")]
    assert hashes == [f"`{record['hash']}`" for record in records]


def test_texts_of_strangers_stay_texts(tmp_path: Path) -> None:
    scenario = {
        "title": HOSTILE, "propositions": [{"name": "p", "text": HOSTILE}], "posts": [{"text": "one", "veracity": True}],
    }  # fmt: skip
    (tmp_path / "s.yaml").write_text(json.dumps(scenario))
    document = ts.protocol(ts.run(tmp_path / "s.yaml", agents=8, steps=2, out=tmp_path / "run"))
    markdown, page = document.markdown(), protocol_page(document).html()
    assert "<script>" not in markdown
    assert "](http" not in markdown.replace("\\](http", "")
    assert "<script>" not in page
    assert "http://" not in page.replace("http://e.example/f", "")


def test_the_command_writes_both_files(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocol", str(folder / "run"), "--out", str(tmp_path / "new" / "study.html"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["files"] == [str(tmp_path / "new" / f"study.{kind}") for kind in ("md", "html")]
    assert len(said["elements"]) == sum(map(len, ELEMENTS.values()))
    assert said["author"]
    assert main(["protocol", str(folder / "debates")]) == 0
    assert "23 elements" in capsys.readouterr().out
    assert (folder / "debates" / "protocol.md").is_file()


def test_the_excerpt_of_the_docs_is_what_the_command_writes(documents: Mapping[str, Document]) -> None:
    page = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    excerpt = page.partition("<!-- excerpt -->")[2].partition("<!-- end -->")[0].replace("````", "")
    lines = [line for line in excerpt.splitlines() if line]
    assert len(lines) > 15
    assert set(lines) <= set(documents["run"].markdown().splitlines())


def test_people_are_held_against_the_rules(folder: Path, tmp_path: Path) -> None:
    people = made(tmp_path, "cross_partisan_exposure")
    held = element(ts.protocol(folder / "run", people=people), "Realism", "PIMMUR").answers[0]
    assert not any(isinstance(block, Author) for block in held.blocks)
    assert isinstance(held, Answer)
    assert any("arm of experiments" in str(block) or "arms of experiments" in str(block) for block in held.blocks)
    of_debates = element(ts.protocol(folder / "debates", people=people), "Realism", "PIMMUR").answers[0]
    assert str(of_debates.blocks[0]).startswith("No: ")


def test_what_cannot_be_described_is_refused(tmp_path: Path) -> None:
    with raises_error(RecordError):
        ts.protocol(tmp_path)


def test_facts_of_belief_rules_stand_apart_and_only_for_the_rules_they_are_of(tmp_path: Path) -> None:
    runs = {
        rule: ts.run("health-rumor@1", agents=20, steps=3, out=tmp_path / rule, settings={"beliefs.rule": rule})
        for rule in ("credence", "averaging", "exposure-bounded")
    }
    texts = {rule: str(ts.protocol(run)) for rule, run in runs.items()}
    for rule in ("credence", "averaging"):
        assert "Published facts and the belief rules `credence` and `averaging`" in texts[rule]
        assert "facts of the rules `credence` and `averaging` inside" in texts[rule]
    assert "Published facts and the belief rules" not in texts["exposure-bounded"]
    assert "this run uses `exposure-bounded`" in texts["exposure-bounded"]
