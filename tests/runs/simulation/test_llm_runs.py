"""Runs of agents, checkers and extractors that are language models: valid, recorded, replayable, always equal."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from raised_errors import raises_error
from townsquare.cli import main
from townsquare.cli.calls import Calls
from townsquare.core.errors import BudgetReached, ModelError, NotRecorded, RecordError, SettingError
from townsquare.experiments.replay import branch, branch_settings, replay
from townsquare.experiments.run_folders import settings_of
from townsquare.models.client import ModelClient
from townsquare.models.contract import Answer, Call, Outcome, Request
from townsquare.models.fake import FakeModel
from townsquare.models.store import MemoryCalls
from townsquare.record.contract import StepSummary
from townsquare.record.run import Run
from townsquare.scenario.settings import resolve_for
from townsquare.settings.resolve import Settings
from townsquare.simulation.run import simulate
from townsquare.testing.chat_server import Behavior, ChatServer

STRATEGIES = ("none", "community", "third_party", "hybrid")
LLM = ("policy=llm", "policy.posts_per_step=0.5", "memory.reflect_every=2")


def settings(*sets: str, agents: int = 12, steps: int = 3, seed: int = 1, model: str = "fake") -> Settings:
    return resolve_for("health-rumor@1", None, [*LLM, f"model={model}", *sets], agents=agents, steps=steps, seed=seed)


def moderated(strategy: str) -> list[str]:
    checker = ["moderation.checker=model"] if strategy in ("third_party", "hybrid") else []
    return [f"moderation.strategy={strategy}", *checker]


class Shuffled(FakeModel):
    """The fake, whose replies come back in an order of chance."""

    async def complete(self, request: Request, draw: int | None) -> Answer:
        await asyncio.sleep(random.random() * 0.003)
        return await super().complete(request, draw)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy(strategy: str, tmp_path: Path) -> None:
    run = simulate(settings(*moderated(strategy), agents=20), tmp_path / "run")
    actions = run.words("actions")
    assert actions.filter(pl.col("status") == "accepted").height > 20
    reasons = set(actions.filter(pl.col("status") == "refused")["reason"].cast(pl.String))
    assert reasons <= {"repeated", "empty", "gone"}, "replies can only name what was shown"
    kinds = set(actions["kind"].cast(pl.String))
    assert ("add_note" in kinds) == (strategy in ("community", "hybrid"))
    calls = run.table("model_calls")
    purposes = set(calls["purpose"])
    assert {"react", "reflect"} <= purposes
    assert "post" in kinds, "asked for in the same question"
    assert ("fact_check" in purposes) == (strategy in ("third_party", "hybrid"))
    assert (calls["outcome"] == 0).all()
    assert run.health == ""
    assert replay(tmp_path / "run", settings_of(run, "")) == 4
    stored = sqlite3.connect(tmp_path / "run" / "calls.db").execute("SELECT count(*) FROM ts_calls").fetchone()
    assert stored == (calls["identity"].n_unique(),)


def test_one_hash_at_any_concurrency_and_order_of_replies() -> None:
    wanted = settings(*moderated("hybrid"), "beliefs.rule=log_odds", "evidence.extractor=model")
    hashes = set()
    for model, concurrency in ((FakeModel(), 1), (FakeModel(), 256), (Shuffled(), 1), (Shuffled(), 256)):
        with ModelClient(model, MemoryCalls(), wanted.config.seed, concurrency=concurrency) as client:
            hashes.add(simulate(wanted, client=client).content_hash)
    assert len(hashes) == 1


@pytest.mark.parametrize(("rate", "is_sick"), [("0.2", False), ("0.97", True)])
def test_faults_are_rows_and_the_run_ends(
    rate: str, is_sick: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    sets = [part for one in (*LLM, f"model=faulty/{rate}") for part in ("--set", one)]
    code = main(["run", "health-rumor@1", "--agents", "20", "--steps", "3", *sets, "--out", str(out), "--quiet"])
    said = capsys.readouterr()
    run = Run.open(out)
    calls = run.table("model_calls")
    failed = calls.filter(pl.col("outcome") != 0)
    assert run.state == "finished"
    assert (code == 3) == is_sick == bool(run.health)
    assert ("unhealthy: " in said.err) == is_sick
    if is_sick:
        assert (failed["error"] != "").all()
        silent = failed.filter(pl.col("purpose") == "react").select("step", "agent")
        acted = run.table("actions").filter(pl.col("kind") != 0).select("step", "agent")
        assert silent.height > 10
        assert silent.join(acted, on=["step", "agent"]).is_empty(), "an agent whose call failed is silent"
    assert main(["replay", str(out), "--quiet"]) == 0
    assert main(["inspect", str(out), "--verify", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["health"]["calls"]["asked"] == calls.height
    assert facts["health"]["calls"]["failed"] == failed.height
    assert bool(facts["health"]["unhealthy"]) == is_sick


def test_replay_stops_at_what_was_never_recorded(tmp_path: Path) -> None:
    run = simulate(settings(), tmp_path / "run")
    with sqlite3.connect(tmp_path / "run" / "calls.db") as calls:
        calls.execute("DELETE FROM ts_calls WHERE purpose = 'react' AND step = 2 AND agent = 3")
    with raises_error(NotRecorded, where="purpose react, agent 3, step 2"):
        replay(tmp_path / "run", settings_of(run, ""))


def test_a_branch_shares_the_past_and_asks_only_what_differs(tmp_path: Path) -> None:
    old = simulate(settings(steps=4), tmp_path / "old")
    new = branch_settings(settings_of(old, ""), 3, {"policy": {"nudge": True}})
    asked: list[Any] = []
    found = branch(tmp_path / "old", tmp_path / "new", new, on_call=asked.append)
    assert found.step == 3
    assert "first difference" in found.difference
    assert {call.step for call in asked} == {3, 4}
    assert found.run.steps["hash"].to_list()[:3] == old.steps["hash"].to_list()[:3]
    assert replay(tmp_path / "new", settings_of(found.run, "")) == 5
    same = branch_settings(settings_of(old, ""), 3, {"policy": {"nudge": False}})
    again: list[Any] = []
    assert branch(tmp_path / "old", tmp_path / "same", same, on_call=again.append).step is None
    assert not again


def test_several_settings_of_one_section_make_a_branch(tmp_path: Path) -> None:
    main(["run", "health-rumor@1", "--agents", "8", "--steps", "2", "--quiet", "--out", str(tmp_path / "old")])
    sets = ["--set", "policy=llm", "--set", "policy.nudge=true"]
    new = ["branch", str(tmp_path / "old"), "--at", "2", *sets, "--out", str(tmp_path / "new"), "--quiet"]
    assert main(new) == 2, "no model was chosen at the start"
    sets = ["--set", "policy=blind", "--set", "policy.like=0.99"]
    assert main([*new[:4], *sets, *new[8:]]) == 0
    liked = Run.open(tmp_path / "new").words("actions").filter((pl.col("step") == 2) & (pl.col("kind") == "like"))
    assert liked.height > 30, "nearly everything is liked"


def test_a_budget_pauses_between_steps_and_more_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = simulate(settings(steps=4)).content_hash
    with raises_error(BudgetReached, where=r"budget\.calls after step 2"):
        simulate(settings("budget.calls=30", steps=4), tmp_path / "run")
    stopped = Run.open(tmp_path / "run")
    assert (stopped.state, stopped.last_step) == ("stopped", 2)
    assert main(["resume", str(tmp_path / "run"), "--quiet"]) == 4
    said = capsys.readouterr().err
    assert "paused: budget.calls after step 2" in said
    assert f"townsquare resume {tmp_path / 'run'} --set budget.calls=..." in said
    assert main(["resume", str(tmp_path / "run"), "--set", "agents=5"]) == 2
    assert "settings of `budget`" in capsys.readouterr().err
    assert main(["resume", str(tmp_path / "run"), "--set", "budget.calls=1000", "--quiet"]) == 0
    assert Run.open(tmp_path / "run").content_hash == whole


def test_many_agents_are_asked_while_the_step_before_is_written(tmp_path: Path) -> None:
    """The same record as with one call at a time; on_step tells of each step once; a budget pauses where it should."""

    def crowd(*sets: str) -> Settings:
        return settings(*sets, "policy.posts_per_step=0.02", "activation.rate=0.05", agents=1000, steps=2)

    one_by_one = simulate(crowd("serving.concurrency=1")).content_hash
    told: list[int] = []
    whole = simulate(crowd(), tmp_path / "whole", on_step=lambda mark: told.append(mark.step))
    assert whole.content_hash == one_by_one == whole.verify()
    assert told == [0, 1, 2]

    def full(mark: StepSummary) -> None:
        raise RecordError("disk", got="no space left")

    with ModelClient(FakeModel(), MemoryCalls(), 1, concurrency=8) as own:
        with pytest.raises(RecordError):
            simulate(crowd(), client=own, on_step=full)
        own.meanwhile()  # the client is its owner's again

    told.clear()
    with raises_error(BudgetReached, where=r"budget\.calls after step 1"):
        simulate(crowd("budget.calls=1"), tmp_path / "run", on_step=lambda mark: told.append(mark.step))
    assert told == [0, 1]
    stopped = Run.open(tmp_path / "run")
    assert (stopped.state, stopped.last_step) == ("stopped", 1)
    assert main(["resume", str(tmp_path / "run"), "--set", "budget.calls=100000", "--quiet"]) == 0
    assert Run.open(tmp_path / "run").content_hash == one_by_one


def test_a_budget_in_dollars_needs_a_price(tmp_path: Path) -> None:
    with raises_error(SettingError, where=r"budget\.usd", got="1, but server/x has no price"):
        simulate(settings("budget.usd=1", "model.base_url=http://127.0.0.1:9/v1", model="server/x"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_calls_of_another_run_answer_without_a_server(tmp_path: Path) -> None:
    old = simulate(settings(), tmp_path / "old")
    lent = f"serving.calls={tmp_path / 'old'}"
    new = simulate(settings(lent, model="recorded/fake"), tmp_path / "new")
    assert new.content_hash == old.content_hash
    assert replay(tmp_path / "new", settings_of(new, "")) == 4, "they were copied"
    with raises_error(NotRecorded, do=r"serving\.calls"):
        simulate(settings(lent, model="recorded/fake", seed=2), tmp_path / "other")
    with raises_error(ModelError, got="no such file"):
        simulate(settings(f"serving.calls={tmp_path / 'nowhere'}"), tmp_path / "third")


def test_what_is_shown_while_a_run_goes_on() -> None:
    calls = Calls(None)
    assert calls.note(4) == ""
    call = Call(
        identity="", purpose="react", agent=0, step=1, turn=0, request="", outcome=Outcome.TIMEOUT, text="", value="",
        error="", model="openai/gpt-4o", reported="", server="", tokens_in=1_000_000, tokens_out=0,
        seconds=1.0, tries=1,
    )  # fmt: skip
    calls.add(call)
    assert calls.note(4) == "1 call, 1,000,000 tokens, $2.5000, 1 failed"
    calls.done(1)
    calls.add(call)
    said = "2 calls, 2,000,000 tokens, $5.0000, about $10.00 in total, 2 failed"
    assert calls.note(4) == said, "a step that is not done does not raise the mean"
    calls.add(replace(call, model="server/x"))
    assert "$5.0000 without 1 call of unknown price" in calls.note(4)


def test_without_a_model_there_is_one_clear_error() -> None:
    with raises_error(SettingError, do="--set model="):
        simulate(resolve_for("health-rumor@1", None, ["policy=llm"], agents=5, steps=1))


def test_crowds_of_which_some_are_models() -> None:
    members = "policy={name: mix, members: [{name: llm, share: 1}, {name: statistical, share: 3}]}"
    run = simulate(resolve_for("health-rumor@1", None, [members, "model=fake"], agents=40, steps=2))
    agents = run.table("agents")
    models = set(agents.filter((pl.col("policy") == 0) & (pl.col("kind") == 0))["agent"])
    asked = set(run.table("model_calls")["agent"])
    assert asked <= models
    assert 3 <= len(models) <= 20
    others = set(run.table("actions")["agent"]) - models
    assert others, "the statistical ones act too"


def test_the_model_is_part_of_a_run_and_how_it_is_reached_is_not() -> None:
    base = settings()
    assert settings("serving.concurrency=3", "budget.usd=2").digest == base.digest
    assert settings(model="faulty/0.1").digest != base.digest
    assert settings("model.temperature=0.5").digest != base.digest


SERVED = "server/fake-chat"
Key = tuple[str, int | None]


class Watched:
    """A server that notes every question it is asked, by its text and draw."""

    def __init__(self) -> None:
        self.came: Counter[Key] = Counter()
        self.server = ChatServer(Behavior(latency=0.03, spread=0.03, fault=self._note))

    def _note(self, number: int, body: Mapping[str, Any]) -> None:
        self.came[str(body["messages"][-1]["content"]), body.get("seed")] += 1


def recorded_calls(folder: Path) -> set[Key]:
    """The questions of recorded calls, by text and draw."""
    path = folder / "calls.db"
    if not path.exists():
        return set()
    with sqlite3.connect(path) as calls:
        if not calls.execute("SELECT 1 FROM sqlite_master WHERE name = 'ts_calls'").fetchone():
            return set()  # killed while the file was made
        rows = calls.execute("SELECT request, purpose, agent, step, turn FROM ts_calls").fetchall()
    out = set()
    for request, purpose, agent, step, turn in rows:
        content = json.loads(request)
        asked = Request(
            purpose=purpose, messages=(), temperature=content["temperature"], agent=agent, step=step, turn=turn
        )
        out.add((str(content["messages"][-1]["content"]), asked.draw(1)))
    return out


def killed_after(questions: int, watched: Watched, arguments: list[str]) -> int:
    """Run a command and kill it a moment after so many questions came; its code, 0 if it ended before."""
    command = [sys.executable, "-m", "townsquare", *arguments, "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        if watched.came.total() >= questions:
            time.sleep(0.05 * random.random())
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.002)
    return process.wait()


@pytest.mark.slow
def test_twenty_kills_and_no_recorded_call_is_asked_again(tmp_path: Path) -> None:
    watched = Watched()
    with watched.server as server:
        sets = [*LLM, f"model={SERVED}", f"model.base_url=[{server.url}]", "serving.concurrency=2"]
        wanted = resolve_for("health-rumor@1", None, sets, agents=12, steps=4, seed=1)
        unbroken = simulate(wanted, tmp_path / "unbroken").content_hash
        flags = [part for one in sets for part in ("--set", one)]
        chance = random.Random(7)
        kills, hashes, number = 0, set(), 0
        while kills < 20:
            out = tmp_path / f"killed-{number}"
            number += 1
            first = [
                "run",
                "health-rumor@1",
                "--agents",
                "12",
                "--steps",
                "4",
                "--seed",
                "1",
                *flags,
                "--out",
                str(out),
            ]
            code = -1
            while code != 0:
                known = recorded_calls(out)
                watched.came.clear()
                arguments = ["resume", str(out)] if (out / "run.db").exists() else first
                code = killed_after(chance.randint(1, 25) if kills < 20 else 10**9, watched, arguments)
                assert not known & set(watched.came), "a recorded call was asked again"
                kills += code != 0
            hashes.add(Run.open(out).content_hash)
            assert len(recorded_calls(out)) == len(recorded_calls(tmp_path / "unbroken"))
        assert hashes == {unbroken}
