"""Treatments drawn by agent for good, what they change, and friction with and without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from raised_errors import raises_error
from small_worlds import act, choices, draws_of, feed_of, post, reasons, row_of, run_of, settings_of, town
from townsquare.core.actions import ActionKind
from townsquare.core.draws import Stage
from townsquare.core.enums import Reason, Slot, Verdict
from townsquare.core.errors import SettingError
from townsquare.record.run import Run
from townsquare.settings.config import Actions, Config
from townsquare.settings.events import Treatment
from townsquare.settings.resolve import resolve
from townsquare.simulation.actions import Friction
from townsquare.simulation.actions import resolve as resolve_actions
from townsquare.simulation.events.treatments import assigned, friction
from townsquare.simulation.world import World

SMALL: dict[str, Any] = {"agents": 30, "steps": 4, "graph": {"m": 4}, "feed": {"followed": 6, "others": 4}}


def treated(effects: dict[str, Any], **given: Any) -> Run:
    share = given.pop("share", 0.5)
    return run_of(settings_of(SMALL, {"treatments": [{"name": "calm", "share": share, "effects": effects}]}, given))


def by_agent(run: Run, table: str) -> pl.DataFrame:
    return run.table(table).join(run.table("treatments"), on="agent")


# --- assignment --------------------------------------------------------------------------------------------


def test_an_assignment_is_a_lasting_draw_by_agent_and_name() -> None:
    agents = np.arange(2000)
    half = assigned(agents, Treatment(name="a", share=0.5), 1)
    assert 900 < np.count_nonzero(half) < 1100
    assert (assigned(agents, Treatment(name="a", share=0.7), 1) >= half).all()
    assert np.array_equal(assigned(agents[500:600], Treatment(name="a", share=0.5), 1), half[500:600])
    for other in (assigned(agents, Treatment(name="b"), 1), assigned(agents, Treatment(name="a"), 2)):
        assert 850 < np.count_nonzero(half == other) < 1150
    assert not assigned(agents, Treatment(name="a", share=0.0), 1).any()
    assert assigned(agents, Treatment(name="a", share=1.0), 1).all()


def test_assignments_are_recorded_at_birth_and_are_the_same_in_every_arm() -> None:
    both = [{"name": "calm"}, {"name": "warm", "share": 0.2}]
    grows = {"growth": {"max_per_step": 3}, "treatments": both}
    one = run_of(settings_of(SMALL, grows)).table("treatments")
    two = run_of(settings_of(SMALL, grows, moderation="hybrid", policy="blind")).table("treatments")
    assert one.equals(two)
    run = run_of(settings_of(SMALL, grows))
    persons = run.table("agents").filter(pl.col("kind") == 0)
    assert persons.height > 30
    assert one.select("agent", "treatment").rows() == [(agent, k) for agent in persons["agent"] for k in (0, 1)]
    wanted = assigned(persons["agent"].to_numpy(), Treatment(name="calm"), 1)
    assert one.filter(pl.col("treatment") == 0)["assigned"].to_list() == wanted.tolist()


def test_a_treatment_without_effects_adds_its_table_and_nothing_else() -> None:
    run, plain = treated({}), run_of(settings_of(SMALL))
    for name in ("exposures", "actions", "posts", "beliefs", "trail", "texts"):
        assert run.table(name).equals(plain.table(name), null_equal=True)
    assert plain.table("treatments").height == 0


@pytest.mark.parametrize(
    ("treatments", "says"),
    [
        ([{"name": "a"}, {"name": "a"}], {"where": r"treatments\.1\.name", "got": "'a'", "allowed": "a unique name"}),
        ([{"name": "a b"}], {"where": r"treatments\.0\.name"}),
        ([{"name": "a", "share": 2}], {"where": r"treatments\.0\.share", "got": "2"}),
        ([{"name": "a", "effects": {"label": "hidden"}}], {"do": "did you mean .*labels"}),
        ([{"name": "a", "effects": {"friction": {"shre": 1}}}], {"where": r"effects\.friction", "got": "'shre'"}),
    ],
)
def test_a_wrong_treatment_is_refused(treatments: Any, says: dict[str, str]) -> None:
    with raises_error(SettingError, **says):
        resolve({"treatments": treatments})


# --- effects -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shown", [True, False])
def test_labels_are_hidden_from_some_or_shown_to_some(shown: bool) -> None:
    sure = {"strategy": "hybrid", "unverified": 0.0, "takedown_at": 1.0, "posts_per_step": 20}
    base = {"feed": {"show_labels": shown}, "moderation": sure, "policy": {"add_note": {"base": 2.0}}}
    rows = by_agent(treated({"labels": "hidden" if shown else "shown"}, **base), "exposures")
    labeled = (pl.col("verdict") != Verdict.NONE) | (pl.col("note") >= 0) | (pl.col("offered") >= 0)
    seen = rows.filter(labeled | (pl.col("weight") < 1))
    assert seen.height > 40
    assert (seen["assigned"] != shown).all()
    assert rows.filter(pl.col("assigned") == shown).height > 100


def test_rows_of_others_differ() -> None:
    rows = by_agent(treated({"others": 1}), "exposures").filter(pl.col("slot") == Slot.OTHER)
    counts = rows.group_by("assigned", "step", "agent").len()
    assert counts.filter("assigned")["len"].max() == 1
    assert counts.filter(~pl.col("assigned"))["len"].max() == 4
    untreated = run_of(settings_of(SMALL)).table("exposures").filter((pl.col("slot") == 1) & (pl.col("step") == 1))
    mine = rows.filter((pl.col("step") == 1) & ~pl.col("assigned"))
    wanted = untreated.join(mine.select("agent").unique(), on="agent").sort("agent", "rank")
    assert mine.sort("agent", "rank").select("agent", "post").equals(wanted.select("agent", "post"))


def test_effects_start_when_the_treatment_does() -> None:
    late = [{"name": "calm", "share": 1.0, "start": 3, "effects": {"others": 0, "friction": {"like": 1.0}}}]
    run = run_of(settings_of(SMALL, treatments=late))
    assert set(run.table("exposures").filter(pl.col("slot") == Slot.OTHER)["step"]) == {1, 2}
    stopped = run.table("actions").filter(pl.col("reason") == Reason.FRICTION)
    assert set(stopped["step"]) == {3, 4}


# --- friction ----------------------------------------------------------------------------------------------


def test_friction_gives_up_what_would_be_accepted_and_nothing_else() -> None:
    world = town(4, 1)
    liked, shared = post(world, 4), post(world, 4)
    feed = feed_of(world, comments=0)
    rows = [row_of(feed, 0, liked), row_of(feed, 0, shared)]
    chosen = choices(
        {"agent": 0, "kind": ActionKind.LIKE, "row": rows[0], "target": liked},
        {"agent": 0, "kind": ActionKind.SHARE, "row": rows[1], "target": shared},
        {"agent": 0, "kind": ActionKind.SHARE, "row": rows[1], "target": shared},
        {"agent": 0, "kind": ActionKind.FOLLOW, "row": rows[1], "target": 4},
    )
    chance = np.zeros((feed.agents.size, len(ActionKind)))
    chance[0, ActionKind.SHARE] = 1.0
    barrier = Friction(chance, draws_of(world, Stage.POLICY))
    change = resolve_actions(world, feed, chosen, frozenset(ActionKind), Actions(), barrier)
    assert reasons(change.rows["actions"]) == ["none", "friction", "repeated", "none"]
    assert not np.asarray(change.rows.get("posts", {"post": []})["post"]).size
    assert reasons(act(world, feed, chosen)) == ["none", "none", "repeated", "none"]


def test_the_second_draw_passes_as_often_as_it_says() -> None:
    run = run_of(settings_of(SMALL, agents=60, steps=6, actions={"friction": {"like": 0.4}}, policy="blind"))
    likes = run.table("actions").filter(pl.col("kind") == ActionKind.LIKE)
    tried = likes.filter(pl.col("reason").is_in([Reason.NONE, Reason.FRICTION]))
    share = tried.filter(pl.col("reason") == Reason.FRICTION).height / tried.height
    assert tried.height > 100
    assert abs(share - 0.4) < 4 * (0.24 / tried.height) ** 0.5
    others = run.table("actions").filter(pl.col("kind") != ActionKind.LIKE)
    assert Reason.FRICTION not in others["reason"]


def test_friction_of_one_kind_leaves_the_others_as_they_were() -> None:
    """In the first step both runs choose the same; then only what came of it differs."""
    one, two = (run_of(settings_of(SMALL, actions={"friction": friction})) for friction in ({}, {"share": 1.0}))
    first = [run.table("actions").filter(pl.col("step") == 1).drop("result", "reason", "status") for run in (one, two)]
    assert first[0].equals(first[1])
    assert not two.table("posts").filter(pl.col("kind") == 1).height
    assert one.table("posts").filter(pl.col("kind") == 1).height


def test_of_several_frictions_the_largest_holds() -> None:
    config = Config.model_validate(
        {
            "actions": {"friction": {"share": 0.5, "like": 0.1}},
            "treatments": [
                {"name": "a", "share": 1, "effects": {"friction": {"share": 0.2, "like": 0.6}}},
                {"name": "b", "share": 0, "effects": {"friction": {"share": 1}}},
            ],
        }
    )
    chance = friction(World(0, 1), np.arange(3), config, 1)
    assert chance is not None
    assert chance[:, [ActionKind.SHARE, ActionKind.LIKE]].tolist() == [[0.5, 0.6]] * 3
    assert friction(World(0, 1), np.arange(3), Config(), 1) is None


def test_friction_by_treatment() -> None:
    run = treated({"friction": {"like": 1.0}})
    likes = by_agent(run, "actions").filter((pl.col("kind") == ActionKind.LIKE) & (pl.col("reason") != Reason.REPEATED))
    accepted = likes["reason"] == Reason.NONE
    assert likes.height > 20
    assert (accepted != likes["assigned"]).all()
