"""What reaches a belief rule: exposures that take a stance, with their weight and level of likes; own flows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from small_worlds import (
    act,
    choices,
    end_step,
    equal_columns,
    feed_of,
    follow,
    give_verdict,
    post,
    react,
    row_of,
    settings_of,
    show,
    steps_of,
    town,
)
from townsquare.beliefs.contract import BeliefInputs, per_agent
from townsquare.core import registry
from townsquare.core.actions import ActionKind
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import PostKind, TrailKind, Verdict
from townsquare.record.batches import Batches
from townsquare.simulation.belief_step import ChosenRule, InputsOfStep, advance
from townsquare.simulation.change import Change
from townsquare.simulation.feed.build import Feed
from townsquare.simulation.world import World

EVERYTHING = frozenset({"exposures", "own"})


class Step:
    """One step by hand: what is shown and done is gathered as the simulation gathers it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.out = Batches(world.step + 1)

    def see(self, agents: list[int] | None = None, **given: Any) -> Feed:
        """Feeds for some agents, as exposures."""
        feed = feed_of(self.world, agents, **given)
        self.out.add({"exposures": feed.exposures})
        show(self.world, feed)
        return feed

    def act(self, feed: Feed, *actions: dict[str, Any]) -> None:
        """Choices on a feed."""
        rows = act(self.world, feed, choices(*actions))
        self.out.add({"actions": rows})

    def inputs(self, needs: frozenset[str] = EVERYTHING) -> BeliefInputs:
        """The inputs of the first block."""
        return next(iter(InputsOfStep(self.world, self.out, needs).blocks()))[1]


def rows_of(inputs: BeliefInputs, agent: int) -> list[dict[str, Any]]:
    exposed = inputs.exposures
    lo, hi = int(exposed.indptr[agent]), int(exposed.indptr[agent + 1])
    names = ("proposition", "post", "rank", "author", "credibility", "stance", "likes", "first_seen", "weight")
    return [{name: getattr(exposed, name)[row].item() for name in names} for row in range(lo, hi)]


def on(feed: Feed, agent: int, kind: ActionKind, shown: int) -> dict[str, Any]:
    at = row_of(feed, agent, shown)
    return {"agent": agent, "kind": kind, "row": at, "target": int(np.asarray(feed.exposures["root"])[at])}


def test_an_exposure_is_a_row_for_each_proposition_it_speaks_to_and_none_for_none() -> None:
    world = town(3, 1, propositions=3)
    both = post(world, 3, stances={0: 0.5, 2: -0.25})
    post(world, 3)  # takes no stance: no exposure for a rule, never one of stance 0
    nought = post(world, 3, stances={2: 0.0})
    step = Step(world)
    feed = step.see()
    rows = rows_of(step.inputs(), 1)
    ranks = {shown: np.asarray(feed.exposures["rank"])[row_of(feed, 1, shown)] for shown in (both, nought)}
    wanted = [(0, both, 0.5), *sorted([(2, both, -0.25), (2, nought, 0.0)], key=lambda row: ranks[row[1]])]
    assert [(row["proposition"], row["post"], row["stance"]) for row in rows] == wanted
    assert all(row["rank"] == ranks[row["post"]] for row in rows)


def test_text_and_stance_are_the_roots_and_trust_is_in_who_passed_it_on() -> None:
    world = town(4, 1)
    follow(world, (0, 1))
    world.agents.write("credibility")[4] = 0.9
    root = post(world, 4, stances={0: 0.7})
    for liker in (2, 3):
        react(world, ActionKind.LIKE, liker, root)
    give_verdict(world, root, Verdict.FALSE)
    end_step(world)
    share = post(world, 1, share_of=root)
    step = Step(world)
    step.see()
    inputs = step.inputs()
    row = rows_of(inputs, 0)[0]
    assert (row["post"], row["author"], row["stance"], row["likes"], row["weight"]) == (share, 1, 0.7, 2, 0.25)
    assert np.isnan(row["credibility"])  # a person's: the rule has its own start
    other = next(row for row in rows_of(inputs, 2) if row["post"] == root)
    assert (other["author"], other["credibility"]) == (4, 0.9)


def test_social_proof_is_the_level_when_the_feed_was_built() -> None:
    world = town(4, 1)
    root = post(world, 4, stances={0: 0.7})
    react(world, ActionKind.LIKE, 3, root)
    step = Step(world)
    feed = step.see()
    step.act(feed, *(on(feed, agent, ActionKind.LIKE, root) for agent in (0, 1, 2)))
    assert world.posts["likes"][root] == 4
    assert [row["likes"] for row in rows_of(step.inputs(), 0)] == [1]


def test_comments_that_take_a_stance_are_exposures_too() -> None:
    world = town(4, 1)
    root = post(world, 4, stances={0: 0.7})
    comment = post(world, 1, under=root, stances={0: -0.7})
    step = Step(world)
    step.see()
    inputs = step.inputs()
    assert [(row["post"], row["stance"], row["rank"]) for row in rows_of(inputs, 0)] == [
        (root, 0.7, 0),
        (comment, -0.7, 0),
    ]
    assert [row["post"] for row in rows_of(inputs, 1)] == [root]


def test_own_likes_are_those_of_this_step_on_posts_of_any_age() -> None:
    """A flow: an earlier system looked up this round's posts only, so that likes never reached the rule."""
    world = town(5, 0, propositions=2)
    old = post(world, 0, stances={0: 0.3})
    react(world, ActionKind.LIKE, 4, old)
    for _ in range(3):
        end_step(world)
    both = post(world, 1, stances={0: 0.1, 1: 0.1})
    plain = post(world, 2)
    comment = post(world, 3, under=old, stances={1: 0.4})
    step = Step(world)
    feed = step.see()
    step.act(
        feed,
        on(feed, 0, ActionKind.LIKE, both), on(feed, 1, ActionKind.LIKE, old), on(feed, 1, ActionKind.LIKE, plain),
        on(feed, 2, ActionKind.LIKE, old), on(feed, 2, ActionKind.LIKE, old),  # the second is refused
        on(feed, 2, ActionKind.DISLIKE, both), on(feed, 2, ActionKind.LIKE_COMMENT, comment),
        on(feed, 4, ActionKind.LIKE, old),  # liked three steps ago
    )  # fmt: skip
    own = step.inputs().own
    assert own.likes.tolist() == [[2, 0], [1, 1], [0, 0], [0, 1], [0, 0]]
    assert own.dislikes.tolist() == [[0, 0], [1, 1], [0, 0], [0, 0], [0, 0]]


def test_likes_of_a_share_go_to_the_author_of_the_root() -> None:
    world = town(4, 0)
    follow(world, (0, 1))
    root = post(world, 2, stances={0: 0.5})
    share = post(world, 1, share_of=root)
    step = Step(world)
    feed = step.see()
    step.act(feed, on(feed, 0, ActionKind.LIKE, share))
    assert step.inputs().own.likes.ravel().tolist() == [0, 0, 1, 0]


def test_own_posts_and_comments_of_this_step() -> None:
    world = town(3, 1, propositions=2)
    post(world, 0, stances={0: 1.0})
    end_step(world)
    second = post(world, 0, stances={1: -0.5})
    first = post(world, 0, under=0, stances={0: 0.5, 1: 0.25})
    post(world, 0, share_of=0)
    post(world, 3, kind=PostKind.INJECTED, stances={0: 0.1})
    own = Step(world).inputs().own
    assert own.indptr.tolist() == [0, 3, 3, 3, 3]
    got = list(zip(own.proposition.tolist(), own.post.tolist(), own.stance.tolist(), strict=True))
    assert got == [(0, first, 0.5), (1, second, -0.5), (1, first, 0.25)]


def test_a_rule_gets_only_what_it_needs_and_cannot_write_to_it() -> None:
    world = town(3, 1)
    root = post(world, 3, stances={0: 0.5})
    post(world, 1, stances={0: 0.5})
    step = Step(world)
    feed = step.see()
    step.act(feed, on(feed, 0, ActionKind.LIKE, root))
    assert step.inputs(frozenset()).exposures.indptr.tolist() == [0] * 5
    assert step.inputs(frozenset({"exposures"})).own.post.size == 0
    assert step.inputs(frozenset({"own"})).exposures.stance.size == 0
    inputs = step.inputs()
    for part in (inputs.exposures, inputs.own):
        for name in part.__slots__:
            with pytest.raises(ValueError, match="read-only"):
                getattr(part, name)[:] = 0


def test_turns_within_a_step_are_put_together_by_agent() -> None:
    world = town(4, 1)
    root = post(world, 4, stances={0: 0.5})
    step = Step(world)
    feed = step.see([1, 3])
    step.act(feed, on(feed, 1, ActionKind.LIKE, root))
    step.see([0, 2])
    inputs = step.inputs()
    assert inputs.exposures.indptr.tolist() == [0, 1, 2, 3, 4, 4]
    assert [rows_of(inputs, agent)[0]["likes"] for agent in range(4)] == [1, 0, 1, 0]


# --- the step of beliefs -----------------------------------------------------------------------------------

RULES = [name for name in registry.names("beliefs") if registry.get("beliefs", name).unit == "stance"]


@pytest.mark.parametrize("rule", RULES)
def test_the_trail_sums_to_the_move_of_everybody_in_every_step(rule: str) -> None:
    extra = {"exposure": {"pull": 0.02, "anchor": 0.05, "own_pull": 0.1}}
    settings = settings_of(
        agents=50, steps=6, growth={"max_per_step": 2}, moderation={"strategy": "hybrid"},
        beliefs={"rule": rule} | extra.get(rule, {}),
    )  # fmt: skip
    before: dict[tuple[int, int], float] = {}
    moved = 0
    for _, out in steps_of(settings):
        beliefs, trail = out.get("beliefs"), out.get("trail")
        rows = zip(*(np.asarray(beliefs[name]).tolist() for name in ("agent", "proposition", "stance")), strict=True)
        now = {(agent, proposition): stance for agent, proposition, stance in rows}
        total = dict.fromkeys(now, 0.0)
        for agent, proposition, amount in zip(
            *(np.asarray(trail[name]).tolist() for name in ("agent", "proposition", "amount")), strict=True
        ):
            total[agent, proposition] += amount
        for key, stance in now.items():
            start = before.get(key, stance)  # who joined in this step has not moved yet
            assert total[key] == pytest.approx(stance - start, abs=1e-12)
            moved += stance != start
        before = now
    assert (moved > 50) == (rule != "no_change")


def test_only_what_stood_in_the_feed_is_in_the_trail() -> None:
    """Beliefs moved by posts that were not in the feed: a fault of an earlier system."""
    for _, out in steps_of(settings_of(beliefs={"rule": "exposure-bounded"}, moderation={"strategy": "community"})):
        exposures, trail = out.get("exposures"), out.get("trail")
        names = ("agent", "rank", "post")
        shown = set(zip(*(np.asarray(exposures[name]).tolist() for name in names), strict=True))
        of_exposures = np.asarray(trail["kind"]) == TrailKind.EXPOSURE
        assert shown >= set(zip(*(np.asarray(trail[name])[of_exposures].tolist() for name in names), strict=True))


def test_who_is_shown_nothing_with_a_stance_does_not_move() -> None:
    for rule in RULES:
        settings = settings_of(beliefs={"rule": rule})
        world = town(3, 1)
        post(world, 3)
        step = Step(world)
        step.see()
        member, params = settings.members["beliefs"], settings.params["beliefs"]
        zero = np.zeros((4, 1))
        state = member.init(zero + 0.3, zero + 0.5, per_agent(params, 4))
        world.append(Change(belief=(state,)))
        change = advance(
            world, step.out, ChosenRule(member, params), Draws(1, 1)(Stage.BELIEF), with_trail=True, hours=24.0
        )
        assert change.belief[0].stance.tolist() == [[0.3]] * 4
        assert np.asarray(change.rows["beliefs"]["agent"]).tolist() == [0, 1, 2]


def test_a_trail_is_left_out_where_the_settings_say_so() -> None:
    runs = [list(steps_of(settings_of(record={"trail": keep}))) for keep in (True, False)]
    with_trail, without = (run[-1][1] for run in runs)
    assert with_trail.count("trail") > 100
    assert without.count("trail") == 0
    assert equal_columns(with_trail.get("beliefs"), without.get("beliefs"))
