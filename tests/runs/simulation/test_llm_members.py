"""Language models as extractors, speakers, judges and debaters; interviews, panels and rewritten personas."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from raised_errors import raises_error
from townsquare.beliefs.evidence.contract import Topics, check_found
from townsquare.cli import main
from townsquare.core import registry
from townsquare.core.errors import DataError, SettingError
from townsquare.debate.resolve import resolve_debates
from townsquare.debate.start import asks
from townsquare.experiments.interview import interview, persons_at
from townsquare.experiments.rewrite import rewrite
from townsquare.models.client import ModelClient
from townsquare.models.contract import Answer, Outcome, Request
from townsquare.models.fake import FakeModel
from townsquare.models.store import MemoryCalls
from townsquare.record.run import Run
from townsquare.scenario.population.personas import read_personas, write_personas
from townsquare.scenario.population.question_bank import bundled_bank
from townsquare.scenario.population.sample import sample_people
from townsquare.scenario.settings import resolve_for
from townsquare.settings.config import Population
from townsquare.simulation.run import simulate

TOPICS = Topics(
    ("We should ban human cloning", "Voting should be compulsory"), (), np.empty(0, np.int16), np.empty(0), np.empty(0)
)


class Saying(FakeModel):
    """A model that answers each purpose as it is told, and else as the fake does."""

    def __init__(self, **answers: object) -> None:
        self.answers = answers
        self.asked: list[Request] = []

    async def complete(self, request: Request, draw: int | None) -> Answer:
        self.asked.append(request)
        if request.purpose not in self.answers:
            return await super().complete(request, draw)
        value = self.answers[request.purpose]
        value = value(request) if callable(value) else value
        outcome = Outcome.TIMEOUT if value is None else Outcome.OK
        return Answer(outcome, value, json.dumps(value), "", "saying", "here", 1, 1, 1)


def test_an_extractor_distils_then_classifies() -> None:
    told = {
        "claims": [
            {"topic": 1, "claim": "Cloning is cruel.", "snippet": "cloning is cruel"},
            {"topic": 1, "claim": "Science gains from it.", "snippet": "words that are not there"},
            {"topic": 2, "claim": "Votes are a duty.", "snippet": ""},
        ]
    }

    def judged(request: Request) -> object:
        first = "cloning" in request.messages[0].content
        sides = [(1, "for", 80), (2, "neither", 90)] if first else [(1, "against", 40)]
        return {"judged": [{"number": n, "side": s, "strength": w, "category": "ethics"} for n, s, w in sides]}

    model = Saying(distil=told, classify=judged)
    extractor = registry.get("extractor", "model")
    with ModelClient(model, MemoryCalls(), 1, concurrency=2) as client:
        messages = ["I say cloning is cruel. Votes are a duty."]
        found = check_found("model", extractor.bind(client).extract(messages, TOPICS, extractor.params()), 1, 2)
    assert found.text == ("Cloning is cruel.", "Votes are a duty.")
    assert found.snippet == ("cloning is cruel", "")
    assert found.polarity.tolist() == [1, -1]
    assert found.strength.tolist() == [0.8, 0.4]
    assert found.proposition.tolist() == [0, 1]
    assert {request.temperature for request in model.asked} == {0.0}


def test_a_failed_extraction_makes_no_claims() -> None:
    extractor = registry.get("extractor", "model")
    with ModelClient(Saying(distil=None), MemoryCalls(), 1, concurrency=2) as client:
        found = extractor.bind(client).extract(["a", "b"], TOPICS, extractor.params())
    assert found.text == ()
    with raises_error(SettingError, do="--set model="):
        extractor.extract(["a"], TOPICS, extractor.params())


def test_claims_of_a_network_run_are_read_by_the_model() -> None:
    sets = ["policy=llm", "model=fake", "beliefs.rule=log_odds", "evidence.extractor=model"]
    run = simulate(resolve_for("health-rumor@1", None, sets, agents=30, steps=3))
    purposes = run.table("model_calls")["purpose"].value_counts()
    counts = dict(purposes.iter_rows())
    assert counts.get("distil", 0) > 0
    assert counts.get("classify", 0) > 0  # a message may hold several claims: these may be more
    read = run.table("claims").filter(pl.col("snippet") >= -1)
    assert read.height > 0


SETS = ["speaker=llm", "judge=model", "model=fake", "rounds=3"]


def debated(folder: Path, *sets: str, trials: int = 2) -> Path:
    flags = [part for one in (*SETS, *sets) for part in ("--set", one)]
    assert main(["debate", *flags, "--trials", str(trials), "--out", str(folder), "--quiet"]) == 0
    return folder


def counted(folder: Path) -> dict[str, int]:
    with sqlite3.connect(folder / "calls.db") as calls:
        return dict(calls.execute("SELECT purpose, count(*) FROM ts_calls GROUP BY purpose").fetchall())


@pytest.mark.parametrize("extractor", ["model", "embedded"])
def test_a_debate_between_models(extractor: str, tmp_path: Path) -> None:
    one = debated(tmp_path / "one", f"evidence.extractor={extractor}")
    two = debated(tmp_path / "two", f"evidence.extractor={extractor}")
    first, second = (sorted((folder).glob("*/trial-*.json")) for folder in (one, two))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert first
    counts = counted(one)
    assert counts["debate_turn"] == 2 * 3 * 2
    assert ("distil" in counts) == (extractor == "model")
    before = counts
    debated(one, f"evidence.extractor={extractor}", trials=3)
    assert counted(one)["debate_turn"] == before["debate_turn"] + 6, "recorded trials are not held again"


@pytest.mark.parametrize("debater", ["prompt_self_update", "rag_self_update"])
def test_baselines_by_a_model(debater: str, tmp_path: Path) -> None:
    folder = debated(
        tmp_path / "d", f"debater={debater}", "debater.params.reviser=model", "evidence.extractor=embedded", trials=1
    )
    assert counted(folder)["self_update"] == 6
    found = resolve_debates({"debater": {"name": debater}})
    assert not asks(found), "the embedded stand-in asks nobody"


def test_interviews_change_nothing_and_are_recorded_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    run = simulate(resolve_for("health-rumor@1", None, ["policy=llm", "model=fake"], agents=10, steps=3), folder)
    before = (folder / "run.db").read_bytes()
    asked = ["interview", str(folder), "--agents", "2,4-5", "--question", "What changed?", "--model", "fake"]
    assert main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["agent"] for one in found["answers"]] == [2, 4, 5]
    assert main(asked) == 0
    capsys.readouterr()
    assert main([*asked[:3], "all", *asked[4:], "--step", "1", "--json"]) == 0
    everybody = json.loads(capsys.readouterr().out)["answers"]
    assert [one["agent"] for one in everybody] == persons_at(run, 1)
    assert (folder / "run.db").read_bytes() == before
    asked_at_the_end = 3  # and every person after step 1; a question that was put before is not asked again
    assert counted(folder / "interviews") == {"interview": asked_at_the_end + len(everybody)}
    with ModelClient(FakeModel(), MemoryCalls(), 1, concurrency=1) as client:
        early, late = (interview(run, [2], "Why?", client, step=step)[0].prompt for step in (0, 3))
        assert early != late
        assert persons_at(run, 0) == list(range(10)), "sources are no persons"
        assert "(nothing)" in early
        for wrong, match in (([99], {"allowed": "persons at step"}), ([], {"got": "nobody"})):
            with raises_error(DataError, **match):
                interview(run, wrong, "Why?", client)
        with raises_error(DataError, allowed="0 to 3"):
            interview(run, [1], "Why?", client, step=9)


def test_interviews_know_personas_of_runs_without_a_model(tmp_path: Path) -> None:
    run = simulate(resolve_for("health-rumor@1", None, [], agents=10, steps=2))
    with ModelClient(FakeModel(), MemoryCalls(), 1, concurrency=1) as client:
        (found,) = interview(run, [3], "Who are you?", client)
    assert "years old" in found.prompt


def panel_file(folder: Path) -> Path:
    path = folder / "posts.csv"
    rows = [f"{feed},Post {k} of {feed}.,{'false' if k == 2 else 'true'}" for feed in "ab" for k in range(1, 5)]
    path.write_text("feed,text,veracity\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("policy", ["statistical", "llm"])
def test_a_panel_shows_everybody_every_post_once(policy: str, tmp_path: Path) -> None:
    out = tmp_path / "panel"
    command = ["panel", str(panel_file(tmp_path)), "--agents", "30", "--policy", policy, "--out", str(out)]
    assert main([*command, "--set", "model=fake", "--set", "model.temperature=0.5", "--json"]) == 0
    for number in (1, 2):
        run = Run.open(out / f"feed-{number}")
        shown = run.table("exposures")
        assert shown.height == 30 * 4
        texts = run.table("texts")["content"].to_list()
        posts = run.table("posts")
        one = shown.filter(pl.col("agent") == 7).sort("rank")["root"].to_list()
        assert [texts[posts["text"][root]][:6] for root in one] == ["Post 1", "Post 2", "Post 3", "Post 4"]
        assert run.last_step == 1
    table = pl.read_csv(out / "reactions.csv")
    assert table.height == 8
    assert set(table["people"]) == {30}
    assert table["like"].sum() > 0
    assert not {"follow", "unfollow", "rate_note"} & set(table.columns), "these are not done to posts"


def test_a_panel_refuses_a_row_without_a_feed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "posts.csv"
    path.write_text("feed,text\na,One.\n,Two.\n", encoding="utf-8")
    assert main(["panel", str(path), "--agents", "3", "--out", str(tmp_path / "p")]) == 2
    assert "row 2" in capsys.readouterr().err


def test_rewritten_personas_keep_every_answer(tmp_path: Path) -> None:
    bank = bundled_bank()
    drawn = sample_people(0, 4, Population(), (), 1)
    file = tmp_path / "people.jsonl"
    write_personas(file, drawn.traits, bank)
    people = read_personas(file, bank)

    def told(request: Request) -> object:
        row, content = request.agent, request.messages[0].content
        facts = json.loads(content.split("==========")[1])
        whole = "You are a person. " + " ".join(f"Of you one may say: {value}." for value in facts.values())
        if row == 1 and request.turn == 0:
            return "You are nobody in particular."
        return "Nothing of use." if row == 2 else None if row == 3 else whole

    model = Saying(persona=told)
    with ModelClient(model, MemoryCalls(), 1, concurrency=1) as client:
        made = rewrite(people, bank, client)
    assert made.accepted == (True, True, False, False)
    assert made.texts[2] == people.texts[2]
    assert "age" in made.why[2]
    assert "no answer (timeout)" in made.why[3]
    again = [request for request in model.asked if request.agent == 1]
    assert [request.turn for request in again] == [0, 1]
    assert "leaves out" in again[1].messages[-1].content
