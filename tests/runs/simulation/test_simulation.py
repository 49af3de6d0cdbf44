"""Whole runs: one content from one configuration, paired arms, newcomers, turns, and the edges of what can be set."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from raised_errors import raises_error
from small_worlds import run_of, settings_of, steps_of
from townsquare.core import registry
from townsquare.core.actions import ActionKind
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import AgentKind
from townsquare.core.errors import TownsquareError
from townsquare.core.schema import TABLES
from townsquare.record.memory import MemoryRecorder
from townsquare.record.run import Run
from townsquare.scenario.contents import Posts, Scenario
from townsquare.scenario.load import synthetic_scenario
from townsquare.settings.resolve import resolve
from townsquare.simulation.run import simulate
from townsquare.simulation.step import begin, online, step

BUSY = {"growth": {"max_per_step": 2}, "moderation": {"strategy": "hybrid"}}


# --- one configuration, one run ----------------------------------------------------------------------------


def test_one_configuration_gives_one_content() -> None:
    runs = [run_of(settings_of(BUSY, seed=seed)) for seed in (1, 1, 2)]
    hashes = [run.steps["hash"].to_list() for run in runs]
    assert hashes[0] == hashes[1]
    assert all(one != two for one, two in zip(hashes[0], hashes[2], strict=True))
    for name in TABLES:
        if name != "steps":
            assert_frame_equal(runs[0].table(name), runs[1].table(name))


def test_a_longer_run_begins_like_a_shorter_one() -> None:
    short, long = (run_of(settings_of(BUSY, steps=steps)).steps["hash"].to_list() for steps in (3, 6))
    assert long[:4] == short


_SCRIPT = """
import numba, sys
from townsquare.record.memory import MemoryRecorder
from townsquare.record.run import Run
from townsquare.settings.resolve import resolve
from townsquare.scenario.load import synthetic_scenario
from townsquare.simulation.run import simulate
numba.set_num_threads(int(sys.argv[1]))
recorder = MemoryRecorder()
settings = resolve({"agents": 120, "steps": 6, "growth": {"max_per_step": 2}, "moderation": {"strategy": "hybrid"}})
simulate(settings, recorder, scenario=synthetic_scenario(80))
print(Run.of(recorder).content_hash)
"""


@pytest.mark.slow
def test_neither_hash_seeds_nor_threads_nor_processes_change_the_content() -> None:
    said = []
    for hash_seed, threads in (("0", 1), ("1", 2)):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "NUMBA_NUM_THREADS": "2"}
        command = [sys.executable, "-c", _SCRIPT, str(threads)]
        said.append(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert len(set(said)) == 1
    assert len(said[0].strip()) == 64


def test_agents_in_blocks_are_the_same_as_agents_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pair stores and beliefs of a run cut into blocks of 16 agents hold the same as those of one block."""
    whole = run_of(settings_of(BUSY)).content_hash
    for name, module in list(sys.modules.items()):
        if name.startswith("townsquare") and isinstance(getattr(module, "BLOCK", None), int):
            monkeypatch.setattr(module, "BLOCK", 16)
    assert run_of(settings_of(BUSY)).content_hash == whole


# --- paired arms -------------------------------------------------------------------------------------------


def test_arms_with_hidden_labels_are_identical_for_agents_that_ignore_content() -> None:
    """Exposures with every column, likes, shares and comments, row for row, while notes and verdicts go on."""
    hidden = {"policy": "blind", "feed.show_labels": False, "moderation.takedown": False, "growth": {"max_per_step": 2}}
    more_notes = {"policy": {"name": "blind", "add_note": 0.3, "flag": 0.05}}
    runs = {
        strategy: run_of(settings_of(hidden, more_notes, agents=80, steps=13, moderation={"strategy": strategy}))
        for strategy in registry.names("moderation")
    }
    none = runs["none"]
    kinds = [ActionKind.LIKE, ActionKind.DISLIKE, ActionKind.SHARE, ActionKind.COMMENT, ActionKind.LIKE_COMMENT,
             ActionKind.FLAG, ActionKind.FOLLOW, ActionKind.POST]  # fmt: skip
    for run in runs.values():
        for name in ("exposures", "posts", "post_stances", "follows", "agents", "beliefs", "trail"):
            assert_frame_equal(run.table(name), none.table(name))
        acts = [one.table("actions").filter(pl.col("kind").is_in(kinds)).drop("ordinal") for one in (run, none)]
        assert_frame_equal(acts[0], acts[1])
    assert none.table("exposures").height > 10_000
    assert runs["community"].table("notes").height > 100
    assert runs["third_party"].table("verdicts")["verdict"].n_unique() == 3
    heights = {strategy: run.table("moderation_log").height for strategy, run in runs.items()}
    assert {strategy for strategy, height in heights.items() if height} == {"third_party", "hybrid"}  # no note is rated


def test_arms_differ_where_labels_are_shown() -> None:
    runs = [run_of(settings_of(moderation={"strategy": strategy}, steps=10)) for strategy in ("none", "third_party")]
    assert runs[0].content_hash != runs[1].content_hash
    for name in ("agents", "traits"):
        assert_frame_equal(runs[0].table(name), runs[1].table(name))


# --- who is there ------------------------------------------------------------------------------------------


def test_newcomers_get_their_first_feed_a_step_after_they_join() -> None:
    first_fed: dict[int, int] = {}
    for world, out in steps_of(settings_of(growth={"max_per_step": 4}, steps=8)):
        fed = np.unique(np.asarray(out.get("exposures")["agent"])).tolist()
        first_fed = dict.fromkeys(fed, world.step) | first_fed
        believes = set(np.asarray(out.get("beliefs")["agent"]).tolist())
        assert believes == set(np.flatnonzero(world.persons()).tolist())  # recorded from the step of joining on
    born = world.agents["born"]
    newcomers = [agent for agent in np.flatnonzero(world.persons()).tolist() if 0 < born[agent] < world.step]
    assert len(newcomers) > 8
    assert all(first_fed[agent] == born[agent] + 1 for agent in newcomers)


def test_a_newcomer_follows_as_many_as_everybody_at_the_start() -> None:
    for graph, wanted in (
        ({"m": 3}, 3),
        ({"kind": "random", "mean_followed": 4.0}, 4),
        ({"kind": "random", "mean_followed": 0.0}, 0),
        ({"kind": "random", "p": 0.1}, 6),
    ):
        run = run_of(resolve({"agents": 61, "growth.max_per_step": 3, "steps": 6, "policy": "silent", "graph": graph}))
        joined = run.table("agents").filter(pl.col("born") > 0)["agent"]
        follows = run.table("follows").filter(pl.col("follower").is_in(joined.to_list()))
        assert joined.len() > 3
        assert follows.height == wanted * joined.len()


def test_a_new_agent_changes_no_draw_of_the_others() -> None:
    """Until somebody can meet what newcomers do, all others see and do the same."""
    alone, grown = (
        run_of(settings_of(agents=40, steps=2, policy="blind", growth={"max_per_step": most})) for most in (0, 19)
    )
    persons = alone.table("agents").filter(pl.col("kind") == AgentKind.PERSON).height
    assert grown.table("agents").filter(pl.col("born") == 1).height > 0
    for name in ("exposures", "actions"):
        one, two = (run.table(name).filter(pl.col("agent") < persons) for run in (alone, grown))
        assert_frame_equal(one, two)


def test_the_rate_of_activation_and_who_is_online() -> None:
    settings = settings_of(agents=2000, activation={"rate": 0.3}, steps=3, policy="silent")
    fed = [set(np.asarray(out.get("exposures")["agent"]).tolist()) for _, out in steps_of(settings)][1:]
    assert [len(agents) / 2000 for agents in fed] == pytest.approx([0.3] * 3, abs=0.04)
    assert len(fed[0] & fed[1]) / 2000 == pytest.approx(0.09, abs=0.03)
    marks = run_of(settings).steps
    assert marks["online"].to_list()[1:] == [len(agents) for agents in fed]


def test_turns_share_out_everybody_and_later_ones_see_what_earlier_ones_did() -> None:
    settings = settings_of(agents=300, activation={"batches": 4}, steps=4)
    setup, world, _ = begin(settings, synthetic_scenario(60))
    batches = list(online(world, settings, Draws(1, 1)(Stage.ORDER)))
    assert np.sort(np.concatenate(batches)).tolist() == list(range(300))
    assert all(40 < batch.size < 110 for batch in batches)
    for _ in range(2):
        out, n_online = step(setup, world)
        assert n_online == 300
    exposures = out.get("exposures")
    start = world.step_starts[-2]
    fresh = np.asarray(exposures["root"]) >= start
    injected = world.posts["kind"][np.asarray(exposures["root"])] == 3
    assert (fresh & ~injected).any()  # posts and comments that agents made in this very step
    agents = np.asarray(exposures["agent"])
    assert (agents[1:] < agents[:-1]).any()


def test_turns_up_to_one_agent_at_a_time() -> None:
    run = run_of(settings_of(agents=12, activation={"batches": 500}, steps=2))
    assert run.steps["online"].to_list() == [0, 12, 12]


# --- edges -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"agents": 1},
        {"agents": 2, "growth": {"max_per_step": 3}},
        {"steps": 1},
        {"injection": {"posts_per_step": 0}},
        {"injection": {"limit": 0}},
        {"activation": {"rate": 0.0}},
        {"activation": {"rate": 0.0}, "policy": "mix"},
        {"policy": "silent"},
        {"policy": "scripted"},
        {"actions": {"enabled": []}},
        {"feed": {"followed": 0, "others": 0}},
        {"feed": {"seen_cap": 1, "pool": 1, "newest": 1}},
        {"graph": {"kind": "random", "mean_followed": 0.0, "m": 5}},
        {"moderation": {"strategy": "third_party", "posts_per_step": 0}},
        {"beliefs": "exposure"},
        {"population": {"stance": {"default": {"kind": "constant", "mean": 1.0}}}},
    ],
    ids=str,
)
@pytest.mark.parametrize("propositions", [0, 1, 3])
def test_what_can_be_set_can_be_run(given: dict[str, Any], propositions: int) -> None:
    settings = settings_of({"steps": 3, "agents": 25, "moderation": {"strategy": "hybrid"}}, given)
    scenario = synthetic_scenario(12, propositions=propositions, arguments=6 if propositions else 0)
    recorder = MemoryRecorder()
    simulate(settings, recorder, scenario=scenario)
    run = Run.of(recorder)
    assert run.state == "finished"
    assert run.last_step == settings.config.steps
    beliefs = run.table("beliefs", steps=(0, 0))
    assert beliefs.height == settings.config.agents * propositions
    assert run.table("beliefs")["stance"].is_between(-1, 1).all()


def test_posts_with_a_step_of_their_own_enter_then() -> None:
    scenario = synthetic_scenario(20)
    step_of = np.full(20, -1, np.int32)
    step_of[[3, 7]] = (2, 4)
    posts = scenario.posts
    posts = Posts(**{name: getattr(posts, name) for name in posts.__slots__ if name != "step"}, step=step_of)
    fields = {name: getattr(scenario, name) for name in scenario.__slots__ if name not in ("posts", "digest")}
    settings = settings_of(steps=5, injection={"posts_per_step": 2}, policy="silent")
    run = run_of(settings, Scenario(posts=posts, **fields))
    frame, texts = run.table("posts"), run.table("texts")["content"]
    entered = [(step, texts[text]) for step, text in frame.select("step", "text").iter_rows()]
    when = {text: step for step, text in entered}
    assert (when[scenario.posts.text[3]], when[scenario.posts.text[7]]) == (2, 4)
    assert [sum(step == now for step, _ in entered) for now in range(1, 6)] == [2, 3, 2, 3, 2]


def test_what_a_callback_raises_ends_the_run_with_its_steps_safe() -> None:
    class Enough(Exception):
        pass

    def stop_at_two(mark: Any) -> None:
        if mark.step == 2:
            raise Enough

    recorder = MemoryRecorder()
    with pytest.raises(Enough):
        simulate(settings_of(steps=5), recorder, scenario=synthetic_scenario(30), on_step=stop_at_two)
    assert (Run.of(recorder).state, Run.of(recorder).last_step) == ("stopped", 2)
    simulate(settings_of(steps=5), recorder, scenario=synthetic_scenario(30))
    assert Run.of(recorder).content_hash == run_of(settings_of(steps=5), synthetic_scenario(30)).content_hash


def test_marks_count_what_was_recorded() -> None:
    run = run_of(settings_of(BUSY))
    marks = run.steps
    for name in ("exposures", "actions"):
        per_step = run.table(name)["step"].value_counts().sort("step")["count"].to_list()
        assert marks[name].to_list() == [0, *per_step]
    refused = run.table("actions").filter(pl.col("status") == 1)["step"].value_counts().sort("step")["count"].to_list()
    assert [count for count in marks["refused"].to_list() if count] == refused
    agents = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON)
    assert marks["agents"].to_list() == [agents.filter(pl.col("born") <= step).height for step in marks["step"]]


def test_a_kind_of_action_that_does_not_exist_is_refused_at_the_door() -> None:
    with raises_error(TownsquareError, where=r"actions\.enabled"):
        settings_of(actions={"enabled": ["lik"]})
