"""Memories: what is kept, how it fades, what is recalled, and that a run's record says all of it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small_worlds import town
from townsquare.core.enums import MemoryKind
from townsquare.record.run import Run
from townsquare.scenario.settings import resolve_for
from townsquare.settings.config import Memory
from townsquare.simulation.change import Change
from townsquare.simulation.memory import faded, importance, keywords, memory_rows, recall, snippet
from townsquare.simulation.run import simulate
from townsquare.simulation.world import World


def remembering(*texts: str, agent: int = 0) -> World:
    world = town(4)
    for text in texts:
        world.append(Change(memory_rows(world, np.array([agent]), [text], MemoryKind.INTERACTION)))
    return world


def test_importance_by_keywords() -> None:
    assert importance("Nothing of note.") == 0.5
    assert importance("I LOVE my friend, and I learned to share.") == pytest.approx(0.9)
    assert importance(" ".join(sorted(keywords()))) == 1.0
    assert importance("lovely friends shared") == 0.5, "whole words only"
    assert len(keywords()) == 17


@given(st.floats(0, 1), st.integers(0, 30), st.floats(0.1, 5))
@settings(max_examples=50, deadline=None)
def test_decay_falls_in_line_and_stays_in_its_range(rate: float, steps: int, days: float) -> None:
    world = remembering("a plain memory")
    rows = np.array([0])
    found = faded(world, rows, Memory(decay=rate, days_per_step=days), 1 + steps)
    assert found[0] == pytest.approx(max(0.0, 1.0 - rate * steps * days))


def test_what_fades_below_the_threshold_is_not_recalled() -> None:
    world = remembering("plain", "I love my friend")
    chosen = Memory()
    for step, expected in ((3, {0, 1}), (5, {1}), (8, set())):
        world.step = step
        found = recall(world, np.array([0], np.int32), chosen, MemoryKind.INTERACTION, 5)
        # 0.5 (1 - 0.1 d) >= 0.3 up to d = 4 days, 0.7 (1 - 0.1 d) up to 5.7; made in step 1, asked in step + 1
        assert set(found.rows.tolist()) == expected, step


def test_the_most_relevant_come_first_and_no_more_than_asked() -> None:
    world = remembering("plain", "I love my friend", "also plain", agent=2)
    found = recall(world, np.array([0, 2, 3], np.int32), Memory(), MemoryKind.INTERACTION, 2)
    assert found.indptr.tolist() == [0, 0, 2, 2]
    assert found.rows.tolist() == [1, 2], "the newer of equals"


def test_being_recalled_restarts_the_clock_and_acting_again_makes_it_fresh() -> None:
    run = remembered(steps=8)
    memories, accesses = run.table("agent_memories"), run.table("memory_accesses")
    assert accesses.height > 20
    fresh = accesses.filter(pl.col("decay") == 1.0)
    fading = accesses.filter(pl.col("decay") < 1.0)
    assert fresh.height
    assert fading.height
    course = accesses.join(memories.select("memory", made="step"), on="memory").sort("memory", "step")
    for (_,), rows in course.group_by("memory", maintain_order=True):
        decay, at = 1.0, int(rows["made"][0])
        for step, now in zip(rows["step"].to_list(), rows["decay"].to_list(), strict=True):
            expected = max(0.0, decay - 0.1 * (step - at))
            assert now == pytest.approx(expected) or now == 1.0
            decay, at = now, step


def remembered(steps: int = 4, *sets: str) -> Run:
    wanted = ["policy=llm", "model=fake", "memory.reflect_every=2", *sets]
    return simulate(resolve_for("health-rumor@1", None, wanted, agents=12, steps=steps))


def test_memories_hold_what_was_said() -> None:
    run = remembered()
    texts = run.table("texts")["content"].to_list()
    said = [texts[row] for row in run.words("agent_memories").filter(pl.col("kind") == "interaction")["text"]]
    assert any(text.startswith("I answered ") and "My words: " in text for text in said)
    posts = run.table("posts")
    quotes = {snippet(texts[row]) for row in posts["text"].unique()}
    assert all(any(quote in text for quote in quotes) for text in said if "posted: " in text)


def test_any_policy_can_remember_and_reflect_without_a_model() -> None:
    plain = simulate(resolve_for("health-rumor@1", None, [], agents=60, steps=4))
    run = simulate(
        resolve_for("health-rumor@1", None, ["memory.enabled=true", "memory.reflect_every=2"], agents=60, steps=4)
    )
    assert plain.table("agent_memories").is_empty()
    words = run.words("agent_memories")
    assert words.filter(pl.col("kind") == "interaction").height > 20
    reflections = words.filter(pl.col("kind") == "reflection")
    assert set(reflections["step"]) == {2, 4}
    texts = run.table("texts")["content"].to_list()
    assert all(texts[row].startswith("Lately I ") for row in reflections["text"])
    same = ["exposures", "actions", "beliefs"]
    for name in same:
        columns = [c for c in plain.table(name).columns if c != "text"]
        assert plain.table(name, columns=columns).equals(run.table(name, columns=columns)), (
            "remembering changes nothing"
        )


def test_reflections_by_the_model_are_read_back() -> None:
    run = remembered(4)
    calls = run.table("model_calls")
    assert set(calls.filter(pl.col("purpose") == "reflect")["step"]) == {2, 4}
    assert (
        remembered(4, "memory.reflection=embedded")
        .table("model_calls")
        .filter(pl.col("purpose") == "reflect")
        .is_empty()
    )


def test_the_view_of_memories_answers_queries_of_the_other_schema() -> None:
    run = remembered()
    found = run.sql("SELECT memory_type, count(*) AS n FROM agent_memories GROUP BY memory_type ORDER BY memory_type")
    assert found["memory_type"].to_list() == ["interaction", "reflection"]
    assert found["n"].sum() == run.counts["agent_memories"]
