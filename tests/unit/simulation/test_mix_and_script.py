"""Agents that follow a script, and populations of several kinds of agents for life."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from raised_errors import raises_error
from small_worlds import act, draws_of, feed_of, follow, note, post, reasons, settings_of, steps_of, town, views_of
from townsquare.core import registry, schema
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import PostKind
from townsquare.core.errors import SettingError, TownsquareError
from townsquare.simulation.feed.build import Feed
from townsquare.simulation.policies.mix import members_of
from townsquare.simulation.world import World
from townsquare.testing.busy_world import busy_world

# --- scripts -----------------------------------------------------------------------------------------------


def scripted(world: World, feed: Feed, *lines: dict[str, Any]) -> schema.Columns:
    policy = registry.get("policy", "scripted")
    params = policy.params.model_validate({"script": lines})
    chosen = policy.decide(views_of(world, feed), draws_of(world, Stage.POLICY), params)
    return act(world, feed, chosen)


def test_a_script_is_played_and_what_cannot_be_is_refused() -> None:
    world = town(4, 1)
    follow(world, (0, 1))
    root = post(world, 4, kind=PostKind.INJECTED)
    share = post(world, 1, share_of=root)
    comment = post(world, 2, under=root)
    note(world, 3, root)
    lines: list[dict[str, Any]] = [
        {"step": 1, "agent": 3, "action": "post", "text": "hello", "stance": {0: -0.4}},
        {"step": 1, "agent": 0, "action": "like", "rank": 0},
        {"step": 1, "agent": 0, "action": "like", "rank": 0},
        {"step": 1, "agent": 0, "action": "like", "rank": 9},
        {"step": 1, "agent": 0, "action": "share", "post": share},
        {"step": 1, "agent": 0, "action": "share", "post": 77},
        {"step": 1, "agent": 0, "action": "like_comment", "rank": 0},
        {"step": 1, "agent": 0, "action": "flag", "post": comment},
        {"step": 1, "agent": 0, "action": "comment", "rank": 0},
        {"step": 1, "agent": 0, "action": "follow", "rank": 0},
        {"step": 1, "agent": 0, "action": "unfollow", "rank": 0},
        {"step": 1, "agent": 0, "action": "rate_note", "rank": 0, "helpful": True},
        {"step": 1, "agent": 0, "action": "ignore"},
        {"step": 2, "agent": 0, "action": "like", "rank": 0},
        {"step": 1, "agent": 4, "action": "post", "text": "sources have no feed"},
    ]
    rows = scripted(world, feed_of(world), *lines)
    assert np.asarray(rows["agent"]).tolist() == [0] * 12 + [3]
    assert reasons(rows) == [
        "none", "repeated", "not_shown", "none", "not_shown", "none", "none", "empty", "repeated", "none", "none",
        "none", "none",
    ]  # fmt: skip
    assert world.texts[int(np.asarray(rows["text"])[-1])] == "hello"
    assert world.post_stances["stance"][-1] == -0.4


@pytest.mark.parametrize(
    "line",
    [
        {"step": 0, "agent": 0, "action": "like"},
        {"step": 1, "agent": -1, "action": "like"},
        {"step": 1, "agent": 0, "action": "lik"},
        {"step": 1, "agent": 0, "action": "post", "stance": {0: 1.5}},
        {"step": 1, "agent": 0, "action": "post", "text": "x" * 100_001},
        {"step": 1, "agent": 0, "action": "post", "rang": 1},
    ],
)
def test_lines_that_cannot_be_meant_are_refused_at_the_door(line: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        registry.get("policy", "scripted").params.model_validate({"script": [line]})


def test_a_stance_toward_a_proposition_that_is_not_there() -> None:
    world = town()
    line = {"step": 1, "agent": 0, "action": "post", "text": "x", "stance": {3: 0.5}}
    with raises_error(
        SettingError, where="script, step 1, agent 0, stance", got="3", allowed="a proposition from 0 to 0"
    ):
        scripted(world, feed_of(world), line)


# --- the mix -----------------------------------------------------------------------------------------------

SHARES = (("silent", 1.0), ("blind", 3.0), ("statistical", 6.0))
MIX: dict[str, Any] = {
    "policy": {
        "name": "mix",
        "members": [
            {"name": "silent", "share": 1.0},
            {"name": "blind", "share": 2.0, "params": {"like": 0.5, "posts_per_step": 0.5}},
            {"name": "statistical", "share": 1.0},
        ],
    }
}


def test_members_of_a_mix_stay_what_they_are() -> None:
    settings = settings_of(MIX, agents=400, growth={"max_per_step": 9}, activation={"rate": 0.7})
    member: dict[int, int] = {}
    for world, out in steps_of(settings):
        now = dict(enumerate(world.agents["policy"].tolist()))
        assert now.items() >= member.items()
        member = now
        silent = [agent for agent, number in member.items() if number == 0]
        assert not set(silent) & set(np.asarray(out.get("actions")["agent"]).tolist())
    persons = np.array([member[agent] for agent in np.flatnonzero(world.persons()).tolist()])
    assert np.bincount(persons) / persons.size == pytest.approx([0.25, 0.5, 0.25], abs=0.06)
    params = settings.params["policy"]
    for step in (0, 7):
        alone = members_of(np.array([17]), Draws(settings.config.seed, step)(Stage.POLICY), params)
        assert alone[0] == member[17]


def test_a_mix_by_followers_gives_the_first_member_those_who_are_followed_most() -> None:
    policy = {"name": "mix", "by": "followers", "members": [{"name": n, "share": s} for n, s in SHARES]}
    settings = settings_of({"policy": policy}, agents=80, growth={"max_per_step": 9}, steps=6)
    seen: dict[int, int] = {}
    for world, _ in steps_of(settings):
        now = dict(enumerate(world.agents["policy"].tolist()))
        assert now.items() >= seen.items(), "for life"
        if not seen:
            persons = np.flatnonzero(world.persons())
            member, followers = world.agents["policy"][persons], world.in_degree[persons]
            assert np.bincount(member).tolist() == [8, 24, 48]
            assert followers[member == 0].min() >= followers[member == 1].max()
            assert followers[member == 1].min() >= followers[member == 2].max()
        else:
            assert {now[agent] for agent in now.keys() - seen.keys()} <= {2}, "newcomers have no followers"
        seen = now
    assert world.persons().sum() > 80


def test_a_mix_by_followers_is_drawn_where_nobody_is_followed() -> None:
    params = registry.get("policy", "mix").params.model_validate(
        {"members": MIX["policy"]["members"], "by": "followers"}
    )
    draws = [Draws(seed, 0)(Stage.POLICY) for seed in (1, 2)]
    one, other = (members_of(np.arange(40), each, params, np.zeros(40)) for each in draws)
    assert np.bincount(one).tolist() == np.bincount(other).tolist() == [10, 20, 10]
    assert (one != other).any()
    assert members_of(np.empty(0, np.int64), draws[0], params, np.empty(0)).size == 0


def test_a_member_decides_as_it_would_alone() -> None:
    made = busy_world(4)
    views = made.views()
    views.member = (np.arange(views.agents.size) % 2).astype(np.int16)
    members = [{"name": "blind", "share": 1.0, "params": {"like": 0.5}}, {"name": "statistical", "share": 1.0}]
    policy = registry.get("policy", "mix")
    params = policy.params.model_validate({"members": members})
    whole = policy.decide(views, made.draws(Stage.POLICY), params)
    for number, member in enumerate(members):
        alone = registry.get("policy", str(member["name"]))
        part = alone.decide(views, made.draws(Stage.POLICY), alone.params(**member.get("params", {})))  # type: ignore[arg-type]
        mine = np.isin(part.agent, views.agents[views.member == number])
        of_whole = np.isin(whole.agent, views.agents[views.member == number])
        for name in ("agent", "kind", "row", "target", "text", "helpful"):
            np.testing.assert_array_equal(getattr(whole, name)[of_whole], getattr(part, name)[mine])


@pytest.mark.parametrize("agents", [[], [0]])
def test_a_mix_of_nobody(agents: list[int]) -> None:
    world = town()
    policy = registry.get("policy", "mix")
    assert policy.decide(views_of(world, feed_of(world, agents)), draws_of(world, Stage.POLICY), policy.params()).n == 0


@pytest.mark.parametrize(
    "members",
    [[], [{"name": "mix", "share": 1.0}], [{"name": "silent", "share": 0.0}], [{"name": "nobody", "share": 1.0}]],
)
def test_mixes_that_cannot_be(members: list[dict[str, Any]]) -> None:
    with pytest.raises((ValidationError, TownsquareError)):
        registry.get("policy", "mix").params.model_validate({"members": members})
