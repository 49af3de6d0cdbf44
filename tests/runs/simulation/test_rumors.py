"""False posts that ordinary people publish, beside those of sources."""

from __future__ import annotations

from functools import cache

import polars as pl

import townsquare as ts
from raised_errors import raises_error
from townsquare.analysis.outcomes import outcomes
from townsquare.core.enums import PostKind, Veracity
from townsquare.core.errors import SettingError
from townsquare.experiments.run_answer import answer_run
from townsquare.record.run import Run

RATE, PEOPLE, DAYS = 40.0, 300, 4


@cache
def run(rate: float) -> Run:
    sets = {"sources.rumors_per_day": rate, "moderation.strategy": "none", "time.warm_up_hours": 0}
    return ts.run("health-rumor", agents=PEOPLE, steps=24 * DAYS, seed=3, settings=sets)


def injected(rate: float) -> pl.DataFrame:
    return run(rate).table("posts").filter(pl.col("kind") == PostKind.INJECTED)


def test_people_publish_false_posts_of_their_side_at_the_rate() -> None:
    posts = injected(RATE)
    own = posts.filter(pl.col("author") < PEOPLE)
    expected = RATE * PEOPLE / 1000 * DAYS
    assert abs(own.height - expected) < 4 * expected**0.5
    assert own["veracity"].unique().to_list() == [Veracity.FALSE]
    assert posts["key"].n_unique() == posts.height
    said = run(RATE).table("post_stances").join(own.select("post", "author"), on="post")
    first = said.unique("post", keep="first", maintain_order=True).sort("post", "proposition")
    believed = run(RATE).table("beliefs").filter(pl.col("step") == 0).select("agent", "proposition", start="stance")
    both = first.join(believed, left_on=["author", "proposition"], right_on=["agent", "proposition"])
    assert both.height == own.height > 10
    assert (both["stance"] * both["start"] > 0).all()


def test_posts_of_sources_stay_as_they_are() -> None:
    def of_sources(rate: float) -> list[tuple[int, int]]:
        rows = injected(rate).filter(pl.col("author") >= PEOPLE)
        return sorted(rows.select("key", "step").rows())

    assert of_sources(RATE) == of_sources(0.0)


def test_falsehoods_of_people_and_slanted_truths_are_counted_apart() -> None:
    with_them, without = outcomes(run(RATE)), outcomes(run(0.0))
    assert 0 < with_them["exposures_false_by_people"] < with_them["exposures_false"]
    assert without["exposures_false_by_people"] == 0
    assert 0 < with_them["exposures_slanted"] < with_them["exposures_true"]
    assert "from people, the others from sources" in " ".join(answer_run(run(RATE), with_them).sentences)
    assert "from people" not in " ".join(answer_run(run(0.0), without).sentences)


def test_steps_without_a_length_are_refused() -> None:
    with raises_error(SettingError, where="sources.rumors_per_day", do="time.step_minutes"):
        ts.run("health-rumor@1", agents=20, steps=2, settings={"sources.rumors_per_day": 5.0})
