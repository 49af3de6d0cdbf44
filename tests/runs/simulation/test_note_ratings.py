"""A rating keeps its value: helpful, somewhat helpful, not helpful, from the policy to the record and its views."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import townsquare as ts
from small_worlds import draws_of, feed_of, note, post, rate, run_of, settings_of, town, views_of
from townsquare.core import registry, schema
from townsquare.core.actions import ActionKind
from townsquare.core.draws import Stage
from townsquare.core.enums import RATING_VALUES, Rating
from townsquare.record.content_hash import HashChain
from townsquare.simulation.change import Change

COMMUNITY = {"strategy": "community", "helpful_at_least": 2}


def ratings_of(run: ts.Run) -> dict[float, int]:
    counted = run.table("note_ratings")["rating"].value_counts()
    return dict(counted.rows())


@pytest.mark.parametrize(
    "policy",
    [
        {"name": "statistical", "helpful_band": 1.0, "rate_note": {"base": 1.0}, "add_note": {"base": 0.0}},
        {"name": "llm", "somewhat": True},
    ],
    ids=["statistical", "llm"],
)
def test_agents_may_find_a_note_somewhat_helpful(policy: dict[str, Any]) -> None:
    model = {"model": "fake"} if policy["name"] == "llm" else {}
    plain = {key: value for key, value in policy.items() if key not in ("helpful_band", "somewhat")}
    few, some = (run_of(settings_of(policy=one, moderation=COMMUNITY, steps=4, **model)) for one in (plain, policy))
    assert set(ratings_of(few)) == {0.0, 1.0}
    assert set(ratings_of(some)) == {0.0, 0.5, 1.0}
    rated = some.table("note_ratings").filter(pl.col("rating") == 0.5)
    assert not rated["helpful"].any()
    acts = some.table("actions").filter((pl.col("kind") == ActionKind.RATE_NOTE) & (pl.col("status") == 0))
    assert (
        sorted(RATING_VALUES[code] for code in acts["helpful"]) == some.table("note_ratings")["rating"].sort().to_list()
    )


def test_a_script_may_say_somewhat_and_the_world_counts_it_apart() -> None:
    world = town(6, 1)
    root = post(world, 6)
    number = note(world, 5, root)
    lines = [
        {"step": 1, "agent": agent, "action": "rate_note", "rank": 0, "helpful": said}
        for agent, said in enumerate([True, "somewhat", False, "somewhat"])
    ]
    views = views_of(world, feed_of(world))
    scripted = registry.get("policy", "scripted")
    params = scripted.params.model_validate({"script": lines})
    chosen = scripted.decide(views, draws_of(world, Stage.POLICY), params)
    assert chosen.helpful.tolist() == [Rating.HELPFUL, Rating.SOMEWHAT, Rating.NOT_HELPFUL, Rating.SOMEWHAT]
    values = np.take(RATING_VALUES, chosen.helpful)
    rows = schema.rows("note_ratings", 4, note=number, agent=np.arange(4), step=1, helpful=values == 1, rating=values)
    world.append(Change({"note_ratings": rows}))
    assert [int(world.notes[name][number]) for name in ("helpful", "somewhat", "not_helpful")] == [1, 2, 1]
    assert world.note_ratings["rating"].tolist() == [1.0, 0.5, 0.0, 0.5]


def test_an_older_record_says_helpful_or_not_and_the_world_knows_the_value() -> None:
    world = town(6, 1)
    number = note(world, 5, post(world, 6))
    rate(world, number, 2, 1)  # without the column `rating`, as runs of version 2 are
    assert world.note_ratings["rating"].tolist() == [1.0, 1.0, 0.0]


def test_the_value_enters_the_hash_only_where_it_says_more_than_the_old_column() -> None:
    def value(rating: float | list[float], helpful: list[bool]) -> str:
        rows = schema.rows("note_ratings", 2, note=0, agent=[3, 4], step=1, helpful=helpful, rating=rating)
        return HashChain().add(1, lambda name: rows if name == "note_ratings" else schema.empty(name))

    assert value([1.0, 0.0], [True, False]) == value(np.nan, [True, False])
    assert value([1.0, 0.5], [True, False]) != value(np.nan, [True, False])
    assert value([1.0, 0.5], [True, False]) != value([0.5, 0.5], [True, False])


def test_the_views_of_appendix_d_have_the_value(tmp_path: Path) -> None:
    policy = {"name": "statistical", "helpful_band": 1.0, "rate_note": {"base": 1.0}, "add_note": {"base": 0.0}}
    run = ts.simulate(settings_of(policy=policy, moderation=COMMUNITY, steps=3), tmp_path / "run")
    counts = dict(run.sql("SELECT rating, count(*) FROM note_ratings GROUP BY rating").rows())
    assert counts == {
        {1.0: "helpful", 0.5: "somewhat_helpful", 0.0: "not_helpful"}[rating]: n
        for rating, n in ratings_of(run).items()
    }
    ((helpful, not_helpful),) = run.sql(
        "SELECT sum(helpful_ratings), sum(not_helpful_ratings) FROM community_notes"
    ).rows()
    assert (helpful, not_helpful) == (counts["helpful"], counts["not_helpful"])
