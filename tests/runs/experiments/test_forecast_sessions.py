"""A forecast of a run with sessions: its calls are those of the sessions, not of agents times steps."""

from __future__ import annotations

import polars as pl
import pytest

import townsquare as ts
from townsquare.experiments.forecast import forecast
from townsquare.scenario.settings import resolve_with_scenario

AGENTS, STEPS = 40, 24
SETS = {
    "policy": "llm", "policy.posts_per_step": 0, "model.name": "fake", "moderation.strategy": "none",
    "memory.reflect_every": 0, "seed": 2,
}  # fmt: skip


@pytest.mark.parametrize("minutes", [60, 30])
@pytest.mark.parametrize("people", [{}, {"population.activity_sd": None, "population.silent_share": 0.5}])
def test_calls_are_those_of_the_sessions_of_the_run(minutes: int, people: dict[str, float | None]) -> None:
    given = {**SETS, **people, "agents": AGENTS, "steps": STEPS, "time.step_minutes": minutes}
    (react,) = forecast(resolve_with_scenario({"scenario": "health-rumor"}, given))
    asked = ts.run("health-rumor", settings=given).table("model_calls")
    sessions = ts.run("health-rumor", settings={**given, "policy": "silent"}).table("steps")["online"].sum()
    assert react.purpose == "react"
    assert react.calls == pytest.approx(asked.filter(pl.col("purpose") == "react").height, rel=0.25)
    assert react.calls <= sessions < AGENTS * STEPS / 4
