"""Everything that asks a language model, against a real server: llama.cpp with a model of random weights, on loopback.

Random weights write nonsense within the schema that they are held to: what is shown here is that the way to a real
server and back works for every purpose, and that only valid actions come of it.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import polars as pl
import pytest

from townsquare.cli import main
from townsquare.record.run import Run
from townsquare.scenario.settings import resolve_for
from townsquare.simulation.run import simulate

pytestmark = pytest.mark.slow


def served(url: str, *sets: str) -> list[str]:
    every = ["model=server/tiny", f"model.base_url=[{url}]", "serving.concurrency=8", "model.max_tokens=700", *sets]
    return [part for one in every for part in ("--set", one)]


def outcomes(path: Path) -> dict[str, tuple[int, int]]:
    """Answered and all calls by purpose."""
    with sqlite3.connect(path) as calls:
        rows = calls.execute("SELECT purpose, sum(outcome = 0), count(*) FROM ts_calls GROUP BY purpose").fetchall()
    return {purpose: (answered, every) for purpose, answered, every in rows}


@pytest.mark.parametrize("strategy", ["none", "community", "third_party", "hybrid"])
def test_twenty_agents_and_three_steps(strategy: str, model_server: str, tmp_path: Path) -> None:
    sets = ["policy=llm", "policy.max_actions=2", "policy.text_shown=60", f"moderation.strategy={strategy}"]
    sets += [
        "actions.comment_length=60",
        "actions.post_length=80",
        "feed.followed=6",
        "feed.others=4",
        "feed.comments=1",
    ]
    sets += ["moderation.checker=model", "moderation.posts_per_step=2"] if strategy in ("third_party", "hybrid") else []
    sets += ["model=server/tiny", f"model.base_url=[{model_server}]", "serving.concurrency=8", "model.max_tokens=250"]
    run = simulate(resolve_for("health-rumor@1", None, sets, agents=20, steps=3), tmp_path / "run")
    assert run.state == "finished"
    found = outcomes(tmp_path / "run" / "calls.db")
    wanted = {"react"} | ({"fact_check"} if strategy in ("third_party", "hybrid") else set())
    assert set(found) >= wanted
    answered = sum(one for one, _ in found.values())
    assert answered >= 0.5 * sum(every for _, every in found.values()), found
    actions = run.words("actions")
    accepted = actions.filter(pl.col("status") == "accepted")
    assert accepted.height > 10
    refused = set(actions.filter(pl.col("status") == "refused")["reason"].cast(pl.String))
    assert refused <= {"repeated", "empty", "gone"}
    calls = run.table("model_calls")
    assert (calls["server"] == model_server).all()
    assert main(["replay", str(tmp_path / "run"), "--quiet"]) == 0


def test_a_debate_and_extraction(model_server: str, tmp_path: Path) -> None:
    sets = served(model_server, "speaker=llm", "judge=model", "evidence.extractor=model", "rounds=2")
    assert main(["debate", *sets, "--trials", "1", "--out", str(tmp_path / "d"), "--quiet"]) == 0
    found = outcomes(tmp_path / "d" / "calls.db")
    assert set(found) >= {"debate_turn", "distil", "stance_judge"}
    assert found["debate_turn"][0] >= 2


def test_interviews_and_a_panel(model_server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulate(resolve_for("health-rumor@1", None, [], agents=6, steps=2), tmp_path / "run")
    asked = ["interview", str(tmp_path / "run"), "--agents", "1-4", "--question", "What now?", "--model", "server/tiny"]
    assert main([*asked, "--set", f"model.base_url=[{model_server}]", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert sum(one["outcome"] == "ok" for one in answers) >= 2
    posts = tmp_path / "posts.csv"
    posts.write_text("text,veracity\nOne thing.,true\nAnother thing.,false\n", encoding="utf-8")
    sets = served(model_server, "policy.max_actions=3")
    command = ["panel", str(posts), "--agents", "8", "--policy", "llm", *sets, "--out", str(tmp_path / "p"), "--json"]
    assert main(command) in (0, 3)
    run = Run.open(tmp_path / "p" / "feed-1")
    assert run.table("actions").height > 0
