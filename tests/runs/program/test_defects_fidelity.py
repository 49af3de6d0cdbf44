"""Defects that the audit against the published systems found: moderation, engagement, flags."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import townsquare as ts
from small_worlds import draws_of, end_step, moderator_of, note, post, rate, town
from townsquare.analysis.engagement_time import engagement_levels
from townsquare.core import schema
from townsquare.core.actions import ActionKind
from townsquare.core.draws import Stage
from townsquare.core.enums import ActionStatus, LogKind, PostKind, PostStatus, Veracity, Verdict
from townsquare.models.client import ModelClient
from townsquare.models.contract import Call
from townsquare.models.fake import FakeModel
from townsquare.models.store import MemoryCalls
from townsquare.record.run import Run
from townsquare.simulation.change import Change
from townsquare.simulation.world import World

SURE_AT_80 = {"unverified": 0.0, "sensitivity": 1.0, "confidence_right": (8000.0, 2000.0)}  # within 0.02 of 0.8
ENGAGES = (ActionKind.LIKE, ActionKind.DISLIKE, ActionKind.SHARE, ActionKind.COMMENT)
TAKEDOWN_AT, NOTED_AT = 0.9, 0.7


def takedowns_by_the_rule(run: Run) -> dict[int, int]:
    """Post to step, from the recorded verdicts and notes alone: when a verdict `false` first meets its bar."""
    step_of: dict[int, int] = {}
    shown: dict[int, set[int]] = {}
    rows = run.table("moderation_log").select("step", "post", "kind", "value").rows()
    verdicts = {row["post"]: row for row in run.table("verdicts").to_dicts() if row["verdict"] == Verdict.FALSE}
    for step in range(1, run.last_step + 1):
        for _, root, kind, value in (row for row in rows if row[0] == step):
            if kind == LogKind.NOTE_SHOWN:
                shown.setdefault(root, set()).add(int(value))
            elif kind == LogKind.NOTE_WITHDRAWN:
                shown[root].discard(int(value))
        for root, verdict in verdicts.items():
            bar = NOTED_AT if shown.get(root) else TAKEDOWN_AT
            if verdict["step"] <= step and verdict["confidence"] >= bar:
                step_of.setdefault(root, step)
    return step_of


def test_row_15_hybrid_takes_down_every_post_whose_note_is_shown_after_its_verdict() -> None:
    later = 0
    for seed in range(1, 7):
        run = ts.simulate(ts.resolve_for("health-rumor@1", None, ["moderation.strategy=hybrid"], seed=seed))
        taken = run.table("moderation_log").filter(pl.col("kind") == LogKind.TAKEDOWN)
        assert dict(taken.select("post", "step").iter_rows()) == takedowns_by_the_rule(run)
        assert taken["post"].n_unique() == taken.height
        together = taken.join(run.table("verdicts").select("post", "confidence", verdict_step="step"), on="post")
        assert (together["value"] == together["confidence"]).all()
        later += together.filter(pl.col("step") > pl.col("verdict_step")).height
    assert later >= 15


def looked_at(world: World, *, takedown: bool = True, **params: Any) -> list[int]:
    """One review by `hybrid`, applied and closed; the posts that it takes down."""
    hybrid = moderator_of("hybrid", **SURE_AT_80, **params)
    change = hybrid.review(world, draws_of(world, Stage.MODERATE), takedown)
    world.append(change)
    end_step(world)
    rows = change.rows.get("moderation_log", schema.empty("moderation_log"))
    return np.asarray(rows["post"])[np.asarray(rows["kind"]) == LogKind.TAKEDOWN].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("veracity", "given", "down"),
    [
        (Veracity.FALSE, {}, True),
        (Veracity.FALSE, {"takedown": False}, False),
        (Veracity.FALSE, {"takedown_noted_at": 0.85}, False),
        (Veracity.FALSE, {"posts_per_step": 0}, False),  # never reviewed: no verdict to stand on
        (Veracity.TRUE, {}, False),
    ],
)
def test_row_15_an_earlier_verdict_meets_the_lower_bar_when_a_note_becomes_shown(
    veracity: Veracity, given: dict[str, Any], down: bool
) -> None:
    world = town(20, 1)
    root = post(world, 20, kind=PostKind.INJECTED, veracity=veracity)
    share = post(world, 3, share_of=root)
    assert looked_at(world, **given) == []
    number = note(world, 5, root)
    rate(world, number, 2)
    assert looked_at(world, **given) == []  # a pending note lowers no bar
    world.append(Change({"note_ratings": schema.rows("note_ratings", 1, note=number, agent=9, step=3, helpful=True)}))
    assert looked_at(world, **given) == [root] * down
    assert (world.posts["status"][[root, share]] == PostStatus.TAKEN_DOWN).tolist() == [down, down]
    assert looked_at(world, **given) == []  # logged once


def test_row_15_flags_and_an_earlier_verdict_take_a_post_down_once() -> None:
    world = town(20, 1)
    root = post(world, 20, kind=PostKind.INJECTED, veracity=Veracity.FALSE)
    looked_at(world)
    rate(world, note(world, 5, root), 3)
    assert looked_at(world, takedown_notes=1) == [root]


def test_row_16_engagement_levels_have_mosaics_own_figure_beside_ours() -> None:
    run = ts.simulate(ts.resolve_for("health-rumor@1", agents=80, steps=6, seed=1))
    last = engagement_levels(run).filter(pl.col("step") == run.last_step)
    at_last = {
        (measure, veracity): value for measure, veracity, value in last.select("measure", "veracity", "value").rows()
    }
    posts = run.table("posts")
    actions = run.table("actions").filter(pl.col("status") == ActionStatus.ACCEPTED, pl.col("target") >= 0)
    actions = actions.filter(pl.col("kind").is_in([int(kind) for kind in ENGAGES]))
    root_of = dict(posts.select("post", "root").iter_rows())
    done = [(root_of[target], agent, kind) for target, agent, kind in actions.select("target", "agent", "kind").rows()]
    for veracity in (Veracity.FALSE, Veracity.TRUE):
        roots = set(posts.filter(pl.col("veracity") == veracity)["post"]) & set(posts["root"])
        every = [one for one in done if one[0] in roots]
        distinct = {one for one in done if one[0] in roots and one[2] != ActionKind.DISLIKE}
        name = veracity.name.lower()
        assert at_last["engagement", name] == pytest.approx(len(every) / len(roots))
        assert at_last["engagement_mosaic", name] == pytest.approx(len(distinct) / len(roots))
        assert at_last["engagement_mosaic", name] < at_last["engagement", name]


def asked_with(*sets: str) -> tuple[Run, list[Call]]:
    """A short run of agents that a fake model speaks for, and the calls that ask for reactions."""
    store = MemoryCalls()
    given = ["policy=llm", "policy.prompt_tokens=null", "model=fake", "moderation=none", *sets]
    with ModelClient(FakeModel(), store, 1, concurrency=4) as client:
        run = ts.simulate(ts.resolve_for("synthetic:20", None, given, agents=25, steps=5, seed=2), client=client)
    return run, [call for call in store if call.purpose == "react"]


def prompt_of(call: Call) -> str:
    return str(json.loads(call.request)["messages"][-1]["content"])


def test_row_16_a_model_is_shown_the_flags_of_a_row_as_recorded_where_the_setting_says_so() -> None:
    run, calls = asked_with("feed.show_flags=true")
    exposures = run.table("exposures")
    flagged = 0
    for call in calls:
        shown = exposures.filter(pl.col("step") == call.step, pl.col("agent") == call.agent)["flags"].to_list()
        rows = [json.loads(line) for line in prompt_of(call).split("==========")[1].strip().split("\n")]
        assert [row.get("flags", 0) for row in rows] == shown
        assert "number of readers who reported" in prompt_of(call)
        flagged += sum(count > 0 for count in shown)
    assert flagged > 20
    _, plain = asked_with()
    assert not any('"flags"' in prompt_of(call) for call in plain)


def test_row_16_who_reads_no_flags_does_the_same_whether_they_are_shown() -> None:
    hashes = {
        ts.simulate(ts.resolve_for("synthetic:20", None, [f"feed.show_flags={shown}"], agents=25, steps=4)).content_hash
        for shown in ("true", "false")
    }
    assert len(hashes) == 1
    assert all(ts.resolve_for(f"mosaic-{name}").config.feed.show_flags for name in ("main", "appendix-f"))
