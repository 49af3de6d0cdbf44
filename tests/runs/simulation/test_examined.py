"""What an agent did not examine is no exposure, cannot be acted on, moves no belief and counts for no reach."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType

import numpy as np
import polars as pl
import pytest

import townsquare as ts
from raised_errors import raises_error
from small_worlds import act, choices, equal_columns, feed_of, post, settings_of, show, shown_to, town
from townsquare.analysis.diffusion import cascades
from townsquare.core import registry
from townsquare.core.actions import ActionKind
from townsquare.core.draws import StageDraws
from townsquare.core.enums import Reason
from townsquare.core.errors import ContractError
from townsquare.record.run import Run
from townsquare.settings.config import MemberParams, setting
from townsquare.simulation.actions import exposures
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.views import ProposedActions, Views, propose
from townsquare.testing.policy_conformance import check_policy


class Params(MemberParams):
    """Settings of the policy of this test."""

    depth: int = setting(1000, "places of the feed that are looked at", ge=0)


def decide(views: Views, draws: StageDraws, params: Params) -> ProposedActions:
    """Like every post of the feed, and look at the first places alone."""
    rank, slot = np.asarray(views.rows["rank"]), np.asarray(views.rows["slot"])
    row = np.flatnonzero(slot < 2)
    agent = np.repeat(views.agents, np.diff(views.indptr))[row]
    return replace(propose(views, agent, np.full(row.size, ActionKind.LIKE), row), examined=rank < params.depth)


GLANCING = Policy("glancing", Params, decide)


@pytest.fixture
def glancing(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("glancing_policy")
    module.POLICY = GLANCING  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "glancing_policy", module)
    registry.register("policy", "glancing", "glancing_policy:POLICY")


def glance(depth: int, **given: object) -> Run:
    return ts.simulate(settings_of({"policy": {"name": "glancing", "depth": depth}, "steps": 4}, given))


def test_it_keeps_the_contract() -> None:
    for depth in (0, 2, 1000):
        check_policy(GLANCING, Params(depth=depth))


@pytest.mark.usefixtures("glancing")
def test_exposures_actions_beliefs_and_reach_follow() -> None:
    whole, part, nothing = glance(1000), glance(2), glance(0)
    shown = part.table("exposures")
    assert set(shown["rank"]) == {0, 1}
    assert whole.table("exposures")["rank"].max() == 9

    done = part.table("actions")
    reasons = dict(done.group_by("reason").len().iter_rows())
    assert reasons[Reason.NOT_EXAMINED] > reasons[Reason.NONE] > 0
    assert set(done.filter(pl.col("reason") == Reason.NOT_EXAMINED)["rank"]) == set(range(2, done["rank"].max() + 1))
    accepted = done.filter(pl.col("status") == 0).select("step", "agent", root="target")
    assert accepted.join(shown, on=["step", "agent", "root"], how="anti").is_empty()

    moved = part.table("trail").filter(pl.col("post") >= 0).select("step", "agent", "post").unique()
    assert moved.height
    assert moved.join(shown, on=["step", "agent", "post"], how="anti").is_empty()
    assert 0 < cascades(part)["reach"].sum() < cascades(whole)["reach"].sum()

    assert nothing.table("exposures").is_empty()
    assert set(nothing.table("actions")["reason"]) == {Reason.NOT_EXAMINED}
    beliefs = nothing.table("beliefs").group_by("agent", "proposition").agg(pl.col("stance").n_unique())
    assert beliefs["stance"].max() == 1


def test_to_examine_every_row_is_to_say_nothing() -> None:
    world = town(4, 1)
    for _ in range(3):
        post(world, 4)
    feed, silent = feed_of(world), choices()
    every = replace(silent, examined=np.ones(int(feed.indptr[-1]), np.bool_))
    one, two = (exposures(world, feed, said).rows["exposures"] for said in (silent, every))
    assert equal_columns(one, two)


def test_what_was_not_examined_can_be_seen_for_the_first_time_later() -> None:
    world = town(2, 1)
    root = post(world, 2)
    feed = feed_of(world, [0])
    like = {"agent": 0, "kind": ActionKind.LIKE, "row": 0, "target": root}
    follows = {"agent": 0, "kind": ActionKind.FOLLOW, "row": 0, "target": 2}
    unseen = replace(choices(like, follows), examined=np.zeros(1, np.bool_))
    world.append(exposures(world, feed, unseen))
    assert set(act(world, feed, unseen)["reason"]) == {Reason.NOT_EXAMINED}
    again = feed_of(world, [0])
    assert shown_to(again, 0, "first_seen") == [True]
    show(world, again)
    assert shown_to(feed_of(world, [0]), 0, "first_seen") == [False]
    assert set(act(world, feed, choices(like, follows))["reason"]) == {Reason.NONE}


def test_in_a_mix_each_member_examines_its_own_rows() -> None:
    mix = registry.get("policy", "mix")
    members = [
        {"name": "blind", "share": 1.0, "params": {"like": 0.4}},
        {"name": "llm", "share": 1.0, "params": {"prompt_tokens": 900}},
    ]
    check_policy(mix, mix.params.model_validate({"members": members}))


@pytest.mark.parametrize(
    ("examined", "says"),
    [
        (np.ones(1, np.bool_), r"examined is bool \(1,\)"),
        (np.ones(1, np.int64), "examined is int64"),
        ([True], "examined is list"),
    ],
)
def test_a_policy_says_it_of_every_row(examined: object, says: str) -> None:
    def wrong(views: Views, draws: StageDraws, params: Params) -> ProposedActions:
        return replace(decide(views, draws, params), examined=examined)  # type: ignore[arg-type]

    with raises_error(ContractError, got=says):
        check_policy(Policy("wrong", Params, wrong))


def test_what_others_do_changes_nothing_of_what_one_examines() -> None:
    def crowded(views: Views, draws: StageDraws, params: Params) -> ProposedActions:
        rank = np.asarray(views.rows["rank"])
        return replace(decide(views, draws, params), examined=rank < views.agents.size // 4)

    with raises_error(ContractError, got="asked alone, agents have other rows examined"):
        check_policy(Policy("crowded", Params, crowded))
