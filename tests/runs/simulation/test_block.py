"""Block: nothing of the author any more, comments included; the follow ends and cannot begin again."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import townsquare as ts
from action_town import Square, column
from small_worlds import (
    feed_of,
    follow,
    post,
    react,
    reasons,
    run_of,
    settings_of,
    shown_to,
    steps_of,
    synthetic_scenario,
    town,
)
from townsquare.core import registry
from townsquare.core.actions import ActionKind
from townsquare.core.enums import ActionStatus, PostKind
from townsquare.core.pairs import Pairs
from townsquare.pages.view.library import Library
from townsquare.pages.view.queries import actions_of
from townsquare.record.memory import MemoryRecorder
from townsquare.record.run import Run
from townsquare.settings.presets import preset_names
from townsquare.simulation.run import simulate
from townsquare.simulation.step import allowed_kinds

K = ActionKind
BLOCKS = {"actions": {"also": ["block"]}, "policy": {"block": {"base": -4.0}}, "memory": {"enabled": True}}
"""Many more blocks than the default rate of 0.001 gives."""


@cache
def blocking() -> Run:
    return run_of(settings_of(BLOCKS))


def pairs_of(pairs: Pairs) -> set[tuple[int, int]]:
    block = pairs.blocks[0]
    agent = np.repeat(np.arange(block.n_agents), np.diff(block.indptr))
    return set(zip(agent.tolist(), block.key.tolist(), strict=True))


# --- feeds and refusals ------------------------------------------------------------------------------------


def test_an_author_who_is_blocked_is_not_shown_any_more() -> None:
    world = town(6, 1)
    follow(world, (0, 1), (0, 2))
    mine, theirs, other = post(world, 0), post(world, 1), post(world, 2)
    post(world, 2, share_of=theirs)
    kept = post(world, 3, under=other)
    for root in (mine, other):
        post(world, 1, under=root)
    news = post(world, 6, kind=PostKind.INJECTED)
    assert {*shown_to(feed_of(world), 0, "root", comments=True)} > {theirs, other, news, kept}
    react(world, K.BLOCK, 0, 1)
    react(world, K.BLOCK, 0, 6)
    feed = feed_of(world)
    assert (shown_to(feed, 0), shown_to(feed, 0, comments=True)) == ([other], [other, kept])
    assert {*shown_to(feed, 3)} == {mine, theirs, other, news}, "others are shown what they were"


def test_a_block_ends_the_follow_and_forbids_another() -> None:
    square = Square()
    assert square.world.follows.get(0, 1, -1) >= 0
    first = square.act(square.on(0, K.BLOCK, square.share), square.on(0, K.FOLLOW, square.share))
    assert reasons(first) == ["none", "hidden"], "in the same step"
    assert square.world.follows.get(0, 1, -1) == -1
    assert square.world.in_degree.tolist() == [0] * 9
    again = square.act(*(square.on(0, kind, square.share) for kind in (K.FOLLOW, K.UNFOLLOW, K.BLOCK)))
    assert reasons(again) == ["hidden", "not_following", "repeated"]
    square.see()
    assert 1 not in shown_to(square.feed, 0, "author", comments=True)


@pytest.mark.parametrize(
    ("kinds", "accepted", "followed_at_the_end"),
    [
        ((K.UNFOLLOW, K.BLOCK), ["none", "none"], False),
        ((K.BLOCK, K.UNFOLLOW), ["none", "not_following"], False),
        ((K.FOLLOW, K.BLOCK, K.FOLLOW), ["none", "none", "hidden"], False),
    ],
)
def test_a_follow_that_changes_beside_a_block_is_counted_once(
    kinds: tuple[K, ...], accepted: list[str], followed_at_the_end: bool
) -> None:
    square = Square()
    shown = square.other if kinds[0] == K.FOLLOW else square.share
    author = {square.other: 2, square.share: 1}[shown]
    before = int(square.world.in_degree[author])
    rows = square.act(*(square.on(0, kind, shown) for kind in kinds))
    assert reasons(rows) == accepted
    assert (square.world.follows.get(0, author, -1) >= 0) == followed_at_the_end
    assert square.world.in_degree[author] == before - (author == 1)


def test_nobody_blocks_itself() -> None:
    square = Square()
    own = replace_author(square, 0)
    assert reasons(square.act({"agent": 0, "kind": K.BLOCK, "row": own, "target": 0})) == ["self"]


def replace_author(square: Square, agent: int) -> int:
    """Have the first row of the agent's feed be passed on by the agent; the row."""
    row = int(square.feed.indptr[agent])
    author = np.array(square.feed.exposures["author"])
    author[row] = agent
    square.feed = replace(square.feed, exposures={**square.feed.exposures, "author": author})
    return row


# --- runs --------------------------------------------------------------------------------------------------


def test_it_is_off_unless_a_run_asks_for_it() -> None:
    assert K.BLOCK not in allowed_kinds(settings_of(), 1)
    assert K.BLOCK in allowed_kinds(settings_of(BLOCKS), 1)
    assert allowed_kinds(settings_of(actions={"enabled": ["like", "block"]}), 1) == {K.LIKE, K.BLOCK}
    for name in preset_names():
        assert K.BLOCK not in allowed_kinds(ts.resolve_for(name), 1)


def test_at_rate_0_a_run_is_the_same_to_the_last_bit() -> None:
    never = run_of(settings_of(BLOCKS, policy={"block": {"base": -1000.0}}))
    assert never.content_hash == run_of(settings_of(memory={"enabled": True})).content_hash


def test_blocks_shift_no_other_draw() -> None:
    """Until blocks change what is shown, in step 2, agents do all else as they do without them."""

    def done(run: Run) -> list[tuple[Any, ...]]:
        rows = run.table("actions").filter((pl.col("step") == 1) & (pl.col("kind") != K.BLOCK))
        return rows.drop("ordinal").rows()

    plain = run_of(settings_of(memory={"enabled": True}))
    assert blocking().table("actions").filter((pl.col("step") == 1) & (pl.col("kind") == K.BLOCK)).height > 3
    assert [row for row in done(blocking()) if K.FOLLOW not in row] == [
        row for row in done(plain) if K.FOLLOW not in row
    ]


@pytest.mark.parametrize("ranker", registry.names("ranker"))
def test_in_a_run_nobody_is_shown_whom_it_blocked(ranker: str) -> None:
    hidden: set[tuple[int, int]] = set()
    for world, out in steps_of(settings_of(BLOCKS, feed={"ranker": ranker})):
        exposures, done = out.get("exposures"), out.get("actions")
        agent, author = column(exposures, "agent"), column(exposures, "author")
        wrote = world.posts["author"][np.array(column(exposures, "root"), np.int64)].tolist()
        assert not hidden & ({*zip(agent, author, strict=True)} | {*zip(agent, wrote, strict=True)})
        rows = zip(*(column(done, name) for name in ("kind", "status", "agent", "target")), strict=True)
        hidden |= {
            (who, whom) for kind, status, who, whom in rows if kind == K.BLOCK and status == ActionStatus.ACCEPTED
        }
        assert pairs_of(world.hidden) == hidden
        follows = pairs_of(world.follows)
        assert not hidden & follows
        assert world.in_degree.tolist() == np.bincount([b for _, b in follows], minlength=world.n_agents).tolist()
    assert len(hidden) > 30


def test_a_run_with_blocks_resumes_to_the_same_hash() -> None:
    recorder = MemoryRecorder()

    def stop(mark: Any) -> None:
        if mark.step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(settings_of(BLOCKS), recorder, scenario=synthetic_scenario(60), on_step=stop)
    simulate(settings_of(BLOCKS), recorder, scenario=synthetic_scenario(60))
    assert Run.of(recorder).verify() == blocking().content_hash


def test_records_views_memories_and_the_viewer_have_words_for_it(tmp_path: Path) -> None:
    run = simulate(settings_of(BLOCKS), tmp_path / "run", scenario=synthetic_scenario(60))
    done = run.words("actions").filter((pl.col("kind") == "block") & (pl.col("status") == "accepted"))
    view = run.sql("SELECT user_id, target_id FROM user_actions WHERE action_type = 'block_user'")
    assert view.rows() == [(f"user-{a}", f"user-{b}") for a, b in done.select("agent", "target").rows()]
    memories = run.sql("SELECT content FROM agent_memories WHERE content LIKE 'I blocked %'")
    assert memories.height == done.height > 30
    step, agent, whom = done.select("step", "agent", "target").row(0)
    snapshot = Library(tmp_path).snapshot("run")
    (row,) = [row for row in actions_of(snapshot, agent, step).to_dicts() if row["kind"] == "block"]
    assert (row["on"], row["target"], row["root"]) == ("author", whom, None)


def test_one_source_file_names_it() -> None:
    package = Path(ts.__file__).parent
    sources = [
        *package.rglob("*.py"),
        *package.rglob("*.toml"),
        *(package.parents[1] / "viewer" / "src").rglob("*.ts*"),
    ]
    names = re.compile(r"\bActionKind\.BLOCK\b|\bblock_user\b|kind === .block")
    naming = [file for file in sources if names.search(file.read_text(encoding="utf-8"))]
    assert [file.relative_to(package).as_posix() for file in naming] == ["core/actions.toml"]
