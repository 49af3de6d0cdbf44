"""People of activity 0 in runs with sessions: they read as often as people of activity 1, and never act."""

from __future__ import annotations

import polars as pl
import pytest

import townsquare as ts
from townsquare.experiments.size import planned_size
from townsquare.record.run import Run
from townsquare.scenario.load import load_scenario
from townsquare.scenario.settings import resolve_for

SMALL = ["agents=300", "steps=48", "time.warm_up_hours=6", "population.activity_sd=null"]
GENDERS = "population.activity_by_trait={gender: {Male: 0, Female: 0}}"
BOTS = "{name: coordinated, share: 1, params: {proposition: 0, notes: praise, cover: 1.0}}"
MANY_SESSIONS = "activation.sessions_per_day=24"
WITH_A_MODEL = [
    "agents=30", "steps=24", f"policy={{name: mix, members: [{BOTS}, {{name: llm, share: 1}}]}}", "model=fake",
    MANY_SESSIONS, "memory.reflect_every=0",
]  # fmt: skip
CONTRIBUTORS = ["moderation={strategy: community, contributors: 1.0, ratings_per_day: 6}", MANY_SESSIONS]


def run_with(*sets: str) -> Run:
    return ts.simulate(resolve_for("health-rumor", seed=3, sets=[*SMALL, *sets]))


@pytest.mark.parametrize(
    "sets",
    [
        ["policy=propensity"], ["policy=propensity", "activation.batches=3"], ["policy=propensity", *CONTRIBUTORS],
        WITH_A_MODEL, [*WITH_A_MODEL, *CONTRIBUTORS],
    ],
)  # fmt: skip
def test_lurkers_read_and_never_act(sets: list[str]) -> None:
    run = run_with(*sets)
    people = run.table("agents").filter(pl.col("kind") == 0)
    lurkers = people.filter(pl.col("activity") == 0)["agent"].to_list()
    assert 0.1 < len(lurkers) / people.height < 0.35
    read = run.table("exposures").filter(pl.col("agent").is_in(lurkers))
    assert read["agent"].n_unique() >= 0.95 * len(lurkers)
    first, last = (run.table("beliefs").filter(pl.col("step") == step) for step in (0, run.last_step))
    courses = first.join(last, on=["agent", "proposition"], suffix="_last")
    moved = courses.filter(pl.col("agent").is_in(lurkers) & (pl.col("stance") != pl.col("stance_last")))
    assert moved["agent"].n_unique() >= 0.9 * len(lurkers)
    for table, column in (("actions", "agent"), ("posts", "author"), ("notes", "author"), ("model_calls", "agent")):
        did = run.table(table).filter(pl.col(column) >= 0)[column]
        assert not did.is_in(lurkers).any(), table
    assert run.counts["actions"] > 100


def test_lurkers_have_the_sessions_of_people_of_activity_one() -> None:
    lurkers = run_with(GENDERS, "policy=silent", "population.margins={gender: {Male: 0.5, Female: 0.5}}")
    assert lurkers.table("agents")["activity"].max() == 0
    alike = run_with("population.activity_sd=0", "policy=silent")
    assert lurkers.table("steps")["online"].to_list() == alike.table("steps")["online"].to_list()
    assert lurkers.table("steps")["online"].sum() > 1000


def test_forecasts_count_the_sessions_of_lurkers() -> None:
    scenario = load_scenario("health-rumor")
    people = ["population.silent_share=0"], ["population.silent_share=0.4"], ["population.activity_sd=1"]
    none, many, lognormal = (
        planned_size(resolve_for("health-rumor", sets=[*SMALL, *sets]).config, scenario).exposures for sets in people
    )
    assert many == pytest.approx(1.4 * none)
    assert lognormal == none
