"""Prompts keep to a number of tokens; what did not fit is recorded as left out and is no exposure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raised_errors import raises_error
from townsquare.analysis.model_calls import calls_in_short, tokens_of_turns
from townsquare.cli import main
from townsquare.core.enums import Slot
from townsquare.core.errors import SettingError
from townsquare.models.client import ModelClient
from townsquare.models.contract import Call
from townsquare.models.fake import FakeModel
from townsquare.models.store import MemoryCalls
from townsquare.record.run import Run
from townsquare.scenario.settings import resolve_for
from townsquare.simulation.policies.llm_prompt_limit import (
    KEPT,
    LEAST,
    Size,
    first_sentences,
    kept_lines,
    longest_texts,
)
from townsquare.simulation.run import simulate
from townsquare.testing.chat_server import ChatServer, Fault, name_of

FEED_OF_25 = ("feed.followed=15", "feed.others=10", "policy=llm", "policy.posts_per_step=0.5")
ROW = re.compile(r'^\{"id":"([pc]\d+)".*\}$', re.MULTILINE)


def long_scenario(folder: Path) -> str:
    """Posts of 900 characters, some of which need escapes, of whom every reader sees 25."""
    lines = ["text,veracity"]
    for i in range(120):
        said = f"Post {i}: " + "they say it is so, and that nobody has ever looked; \\ " * 16
        lines.append(f'"{said}""quoted"" é\u2028.",{"false" if i % 4 == 0 else "true"}')
    path = folder / "long.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def asked(folder: Path, *sets: str, agents: int = 40, steps: int = 4) -> tuple[Run, list[Call]]:
    store = MemoryCalls()
    every = [*FEED_OF_25, "model=fake", "memory.reflect_every=1", "injection.posts_per_step=40", *sets]
    with ModelClient(FakeModel(), store, 1, concurrency=4) as client:
        run = simulate(resolve_for(long_scenario(folder), None, every, agents=agents, steps=steps), client=client)
    return run, [call for call in store if call.purpose in ("react", "post")]


def prompt(call: Call) -> str:
    return str(json.loads(call.request)["messages"][-1]["content"])


@pytest.mark.parametrize(
    ("tokens", "strategy"), [(1500, "hybrid"), (1500, "none"), (2200, "community"), (1150, "none")]
)
def test_no_agent_is_told_more_than_the_budget(tokens: int, strategy: str, tmp_path: Path) -> None:
    run, calls = asked(tmp_path, f"policy.prompt_tokens={tokens}", f"moderation.strategy={strategy}")
    told = run.table("prompts")
    assert len({(call.agent, call.step) for call in calls}) == len(calls) == told.height, "one question an agent-step"
    assert max(len(prompt(call)) for call in calls) <= 4 * tokens
    assert told["tokens"].max() <= tokens  # type: ignore[operator]
    assert told["tokens"].max() > 0.9 * tokens, "the prompt uses the limit"  # type: ignore[operator]
    full = told.filter(pl.col("posts_out") == 0, pl.col("step") > 2)
    assert full.is_empty() or full["shown"].max() >= 25  # type: ignore[operator]
    assert (told.filter(pl.col("step") > 2)["shortened"] > 0).any()


def test_exposures_are_what_stood_in_the_prompt(tmp_path: Path) -> None:
    run, calls = asked(tmp_path)
    shown = run.table("exposures").group_by("step", "agent").len()
    both = run.table("prompts").join(shown, on=["step", "agent"])
    assert both.height == run.table("prompts").height
    assert (both["shown"] == both["len"]).all()
    assert both["comments_out"].sum() > 20, "comments did not fit"
    rows = {(call.step, call.agent): len(ROW.findall(prompt(call))) for call in calls if call.purpose == "react"}
    counted = {(step, agent): n for step, agent, n in both.select("step", "agent", "shown").iter_rows()}
    assert {key: counted[key] for key in rows} == rows
    for call in calls:
        left_out = run.table("prompts").filter(step=call.step, agent=call.agent)["comments_out"].item()
        assert (f"{left_out} comment" in prompt(call)) == (left_out > 0)
    ranks = run.table("actions").filter(pl.col("rank") >= 0)
    assert ranks.height > 50


def test_a_comment_that_was_left_out_is_new_when_it_is_shown(tmp_path: Path) -> None:
    run, _ = asked(tmp_path, steps=5)
    seen = run.table("exposures").sort("step")
    first = seen.group_by("agent", "post", maintain_order=True).first()
    comments = first.filter(pl.col("slot") == Slot.COMMENT)
    assert comments.is_empty() or comments["first_seen"].all()


def test_without_a_limit_everything_stands_there(tmp_path: Path) -> None:
    run, calls = asked(tmp_path, "policy.prompt_tokens=null", "policy.text_shown=10000")
    told = run.table("prompts")
    assert told["tokens"].max() > 3000  # type: ignore[operator]
    for name in ("shortened", "memories_out", "comments_out", "posts_out"):
        assert told[name].sum() == 0
    assert not any("To keep this short" in prompt(call) for call in calls)


def test_a_limit_below_the_instructions_says_what_is_needed(tmp_path: Path) -> None:
    with raises_error(SettingError, where=r"policy\.prompt_tokens", allowed=r"at least \d+"):
        asked(tmp_path, "policy.prompt_tokens=200", steps=2)


def test_what_was_told_is_in_report_and_inspection(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer() as one, ChatServer() as other:
        sets = [*FEED_OF_25, "model=server/m", f"model.base_url=[{one.url},{other.url}]", "serving.limits=[2,6]"]
        run = simulate(resolve_for("health-rumor@1", None, sets, agents=60, steps=3), tmp_path / "run")
        urls = {one.url, other.url}
    found = calls_in_short(run)
    assert set(found["by_server"]) == urls
    assert sum(found["by_server"].values()) == run.table("model_calls").filter(pl.col("tries") > 0).height
    turns = tokens_of_turns(run)
    assert turns["step"].to_list() == [1, 2, 3]
    assert turns["most"].max() <= 1500  # type: ignore[operator]
    # The server of these tests counts by the same rule, without what it puts around a prompt.
    assert turns["tokens_in"].to_list() == pytest.approx(turns["counted"].to_list(), abs=12)
    assert main(["inspect", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out
    assert "tokens in (estimated" in said
    assert all(url in said for url in urls)
    assert main(["report", str(tmp_path / "run")]) == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Calls by server" in page
    assert "Prompts of agents by step" in page


def test_one_hash_whatever_servers_do(tmp_path: Path) -> None:
    def slow(number: int, body: Mapping[str, Any]) -> Fault | None:
        return Fault(500, "broken") if number % 3 == 0 and name_of(body) != "contact" else None

    def execute(folder: str, limits: str) -> Run:
        sets = ["policy=llm", "model=server/m", f"model.base_url=[{one.url},{other.url}]", f"serving.limits={limits}"]
        return simulate(
            resolve_for("health-rumor@1", None, [*sets, "serving.tries=20"], agents=25, steps=3), tmp_path / folder
        )

    with ChatServer() as one, ChatServer() as other:
        alike = execute("alike", "[8,8]")
        one.behavior.fault, other.behavior.latency, other.behavior.spread = slow, 0.025, 0.025
        uneven = execute("uneven", "[1,12]")
    assert alike.content_hash == uneven.content_hash
    servers = [run.table("model_calls")["server"].to_list() for run in (alike, uneven)]
    assert servers[0] != servers[1]
    assert uneven.table("model_calls")["tries"].max() > 1  # type: ignore[operator]


@pytest.mark.slow
def test_the_budget_holds_by_the_counts_of_a_real_tokenizer(model_server: str, tmp_path: Path) -> None:
    """The tokenizer of the tiny model knows little more than letters: 0.8 characters a token, escapes included."""
    tokens = 7000
    sets = [*FEED_OF_25, "model=server/tiny", f"model.base_url=[{model_server}]", "serving.concurrency=8"]
    sets += ["policy.characters_per_token=0.8", f"policy.prompt_tokens={tokens}", "model.max_tokens=120"]
    sets += ["injection.posts_per_step=40", "memory.reflect_every=0", "serving.tries=1", "policy.max_actions=1"]
    run = simulate(resolve_for(long_scenario(tmp_path), None, sets, agents=8, steps=2), tmp_path / "run")
    counted = run.table("model_calls").filter(pl.col("tokens_in") >= 0, pl.col("tries") == 1)["tokens_in"]
    assert counted.len() >= 8
    assert 0.5 * tokens < counted.max() <= tokens  # type: ignore[operator]


@given(
    st.lists(st.tuples(st.integers(10, 80), st.lists(st.integers(0, 500), min_size=1, max_size=3)), max_size=40),
    st.integers(0, 8000),
)
@settings(max_examples=300, deadline=None)
def test_texts_are_as_long_as_fits(rows: list[tuple[int, list[int]]], limit: int) -> None:
    sizes = [Size(bare, tuple(texts)) for bare, texts in rows]
    most = 600
    found = longest_texts(sizes, limit, most)
    assert 0 <= found <= most
    fits = [length for length in range(most + 1) if sum(size.at(length) for size in sizes) <= limit]
    assert found == (most if not any(size.texts for size in sizes) else max(fits, default=0)) or (
        sum(size.at(found) for size in sizes) == sum(size.at(max(fits)) for size in sizes)
    )
    assert LEAST < KEPT


@given(st.lists(st.text("ab .", max_size=40), max_size=8), st.integers(0, 200))
@settings(max_examples=200, deadline=None)
def test_lists_and_sentences_keep_to_the_limit(lines: list[str], limit: int) -> None:
    kept = kept_lines(lines, limit)
    assert sum(len(line) + 3 for line in kept) <= limit
    assert all(line.startswith(one.rstrip("…")[:1]) for line, one in zip(lines, kept, strict=False))
    text = ". ".join(lines)
    assert len(first_sentences(text, limit)) <= max(limit, 1)
