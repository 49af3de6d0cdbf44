"""Coordinated accounts: whom they push, what they write, and that they are the same ones for life."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from small_worlds import draws_of, feed_of, follow, post, run_of, settings_of, town, views_of
from townsquare.core import registry
from townsquare.core.actions import ActionKind
from townsquare.core.draws import Stage
from townsquare.core.enums import PostKind
from townsquare.core.schema import NONE
from townsquare.simulation.views import Bank, ProposedActions
from townsquare.simulation.world import World
from townsquare.testing.policy_conformance import check_policy

POLICY = registry.get("policy", "coordinated")
ALWAYS = {"like": 1.0, "share": 1.0, "comment": 1.0, "follow": 1.0, "posts_per_step": 1.0}
BANK = Bank(
    text=np.array([0, 1, 2, 3], np.int32),
    proposition=np.array([0, 0, 0, 1], np.int16),
    stance=np.array([0.8, -0.6, -0.4, 0.5]),
    strength=np.full(4, 0.5),
    comments=np.empty(0, np.int32),
    notes=np.empty(0, np.int32),
)


def group(world: World, bank: Bank = BANK, **params: Any) -> ProposedActions:
    views = views_of(world, feed_of(world, comments=1), bank)
    chosen: ProposedActions = POLICY.decide(views, draws_of(world, Stage.POLICY), POLICY.params(**params))
    return chosen


def done(chosen: ProposedActions, agent: int) -> list[tuple[str, int]]:
    mine = chosen.agent == agent
    kinds = [ActionKind(int(kind)).name.lower() for kind in chosen.kind[mine]]
    return list(zip(kinds, chosen.target[mine].tolist(), strict=True))


def test_rows_of_its_sources_and_accounts_are_pushed_shares_of_them_too() -> None:
    world = town(4, 2)
    follow(world, (0, 1), (0, 4))
    pushed, other, written = post(world, 4), post(world, 5), post(world, 2)
    share = post(world, 1, share_of=other)
    post(world, 3, under=pushed)
    found = done(group(world, accounts=(4, 2, 99), **ALWAYS), 0)
    acted = {(kind, target) for kind, target in found if kind != "post"}
    assert acted == {
        *((kind, target) for kind in ("like", "share", "comment") for target in (pushed, written)), ("follow", 2),
    }  # fmt: skip
    assert {target for kind, target in done(group(world, accounts=(1,), **ALWAYS), 0) if kind == "share"} == {other}
    assert share != other


def test_sources_are_known_by_name() -> None:
    run = run_of(settings_of(steps=3, policy={"name": "coordinated", "sources": ["Made source 2"], **ALWAYS}))
    liked = run.table("actions").filter(pl.col("kind") == ActionKind.LIKE)
    names = run.table("agents").join(run.table("texts"), left_on="name", right_on="text")
    by = liked.join(run.table("posts").select("post", "author"), left_on="target", right_on="post")
    assert liked.height > 20
    assert set(by.join(names, left_on="author", right_on="agent")["content"]) == {"Made source 2"}


def test_a_side_is_pushed_and_written_for() -> None:
    world = town(6, 1, propositions=2)
    against, pro = post(world, 6, stances={0: -0.9, 1: 0.7}), post(world, 6, stances={0: 0.9})
    silent = post(world, 6, stances={1: -0.5})
    chosen = group(world, proposition=0, side="against", together=False, **ALWAYS)
    assert {target for kind, target in done(chosen, 0) if kind == "like"} == {against}
    assert {pro, silent}.isdisjoint(chosen.target.tolist())
    action, proposition, stance, _ = chosen.declared
    assert np.isin(chosen.kind[action], (ActionKind.POST, ActionKind.COMMENT)).all()
    assert set(proposition.tolist()) == {0}
    assert set(stance.tolist()) == {-0.6, -0.4}
    assert set(chosen.text[action].tolist()) == {1, 2}


def test_together_all_members_write_the_same_in_a_step() -> None:
    world = town(30, 1)
    apart = group(world, proposition=0, side="against", together=False, **ALWAYS)
    one = group(world, proposition=0, side="against", **ALWAYS)
    assert len(set(apart.text[apart.text != NONE].tolist())) == 2
    assert len(set(one.text[one.text != NONE].tolist())) == 1
    assert one.agent.tolist() == list(range(30))


def test_nothing_to_say_is_said_by_nobody() -> None:
    world = town(5, 1)
    post(world, 5, stances={0: 0.5})
    none = Bank(
        *(column[:0] for column in (BANK.text, BANK.proposition, BANK.stance, BANK.strength)), *[BANK.notes] * 2
    )
    kinds = set(group(world, none, proposition=0, **ALWAYS).kind.tolist())
    assert kinds == {ActionKind.LIKE, ActionKind.SHARE, ActionKind.FOLLOW}


def test_it_keeps_the_contract_with_settings_that_make_it_act() -> None:
    check_policy(POLICY, POLICY.params(proposition=0, accounts=tuple(range(40)), together=False, **ALWAYS))


def test_a_group_in_a_mix_is_drawn_for_life_and_lifts_its_sources() -> None:
    group_ = {"name": "coordinated", "share": 0.3, "params": {"sources": ["Made source 0"], **ALWAYS}}
    mix = {"name": "mix", "members": [{"name": "statistical", "share": 0.7}, group_]}
    plain, run = run_of(settings_of(agents=40, steps=5)), run_of(settings_of(agents=40, steps=5, policy=mix))
    members = run.table("agents").filter((pl.col("kind") == 0) & (pl.col("policy") == 1))["agent"]
    assert 5 < members.len() < 20
    source = run.table("agents").filter(pl.col("kind") == 1)["agent"][0]
    posts = [one.table("posts") for one in (plain, run)]
    shares = [
        frame.filter(pl.col("kind") == PostKind.SHARE)
        .join(frame.filter(pl.col("author") == source).select(root="post"), on="root")
        .height
        for frame in posts
    ]
    assert shares[1] > shares[0] + 3
    other = settings_of(agents=40, steps=5, policy=mix, moderation="hybrid")
    assert run_of(other).table("agents").equals(run.table("agents"))


def test_a_scripted_group_in_a_mix() -> None:
    line = {"step": 2, "action": "post", "text": "As one.", "stance": {0: 1.0}}
    script = [{**line, "agent": agent} for agent in range(40)]
    members = [{"name": "silent", "share": 0.5}, {"name": "scripted", "share": 0.5, "params": {"script": script}}]
    run = run_of(settings_of(agents=40, steps=3, policy={"name": "mix", "members": members}))
    wrote = run.table("posts").filter(pl.col("kind") == PostKind.ORIGINAL)
    group_ = run.table("agents").filter((pl.col("kind") == 0) & (pl.col("policy") == 1))["agent"]
    assert wrote["author"].to_list() == group_.to_list()
    assert wrote["text"].n_unique() == 1
