"""Runs in which sources have audiences and publish at a rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import townsquare as ts
from raised_errors import raises_error
from townsquare.core.enums import AgentKind, PostKind, Veracity
from townsquare.core.errors import SettingError
from townsquare.experiments.counterfactual.removal import Removal
from townsquare.experiments.counterfactual.rerun_simulation import leave_out_of
from townsquare.record.run import Run
from townsquare.scenario.load import load_scenario

TOWN = load_scenario("health-rumor@1")
AGENTS, STEPS, SOURCES = 200, 30, 20
SETS: dict[str, Any] = {
    "graph.kind": "communities",
    "population.taste": True,
    "population.activity_sd": 1.0,
    "time.step_minutes": 60,
    "moderation.strategy": "none",
    "growth.max_per_step": 2,
    "injection.audience": "followers",
    "sources.reliable.count": 8,
    "sources.reliable.posts_per_day": 12,
    "sources.reliable.topical": 0.25,
    "sources.reliable.followed": 3,
    "sources.low_credibility.count": 12,
    "sources.low_credibility.posts_per_day": 12,
    "sources.low_credibility.false_share": 0.7,
    "sources.low_credibility.followed": 2,
    "sources.low_credibility.taste_sd": 1.0,
    "sources.low_credibility.side": 1,
}


def run(out: Path | None = None, seed: int = 3, **more: Any) -> Run:
    sets = SETS | {name.replace("__", "."): value for name, value in more.items()}
    return ts.run("health-rumor@1", agents=AGENTS, steps=STEPS, seed=seed, settings=sets, out=out)


@pytest.fixture(scope="module")
def base() -> Run:
    return run()


def injected(run: Run) -> pl.DataFrame:
    texts = run.table("texts").select("text", "content")
    posts = run.table("posts").filter(pl.col("kind") == PostKind.INJECTED)
    return posts.join(texts, on="text", how="left").sort("post")


def test_the_record_has_all_sources_and_their_posts(base: Run) -> None:
    agents = base.table("agents").filter(pl.col("kind") == AgentKind.SOURCE)
    assert agents["agent"].to_list() == list(range(AGENTS, AGENTS + SOURCES))
    posts = injected(base)
    assert set(posts["author"].to_list()) == set(agents["agent"].to_list())
    assert posts["author"].len() / SOURCES / (STEPS / 24) == pytest.approx(12, rel=0.15)
    assert posts["key"].n_unique() == posts.height > posts["text"].n_unique()
    assert 0.25 < (posts["veracity"] == Veracity.FALSE).mean() < 0.6
    stated = base.table("post_stances")["post"].unique()
    everyday = posts.filter(~pl.col("post").is_in(stated.implode()))
    assert everyday.height > 0.2 * posts.height
    assert set(everyday["veracity"].to_list()) == {Veracity.TRUE}


def test_a_row_that_is_published_again_is_the_same_claim(base: Run) -> None:
    posts, stances = injected(base), base.table("post_stances")
    town = TOWN
    row = town.posts.text.index(posts.join(stances, on="post")["content"][0])
    same = posts.filter(pl.col("content") == town.posts.text[row]).join(stances, on="post")
    assert same["stance"].n_unique() <= 2
    assert same["post"].n_unique() > 1


def test_people_follow_sources_from_the_start_and_newcomers_do(base: Run) -> None:
    follows = base.table("follows").filter(pl.col("followed").is_between(AGENTS, AGENTS + SOURCES - 1))
    first = follows.filter(pl.col("step") == 0)
    reliable = first.join(base.table("agents"), left_on="followed", right_on="agent").filter(
        pl.col("credibility") > 0.5
    )
    assert reliable.height / AGENTS == pytest.approx(2.2, abs=0.4)
    newcomers = base.table("agents").filter((pl.col("kind") == AgentKind.PERSON) & (pl.col("born") > 0))
    joined = follows.join(newcomers, left_on=["follower", "step"], right_on=["agent", "born"])
    assert joined.height / newcomers.height == pytest.approx(first.height / AGENTS, rel=0.5)


def test_arms_share_what_is_published(base: Run) -> None:
    other = run(moderation__strategy="hybrid")
    one, two = injected(base), injected(other)
    assert one.select("step", "author", "key", "content").equals(two.select("step", "author", "key", "content"))
    sources = base.table("follows").filter((pl.col("step") == 0) & (pl.col("followed") >= AGENTS))
    assert sources.equals(other.table("follows").filter((pl.col("step") == 0) & (pl.col("followed") >= AGENTS)))


def test_a_source_and_a_row_can_be_left_out(base: Run) -> None:
    posts, town = injected(base), TOWN
    author = int(posts["author"][0])
    without = injected(run(leave_out__agents=[author]))
    kept = posts.filter(pl.col("author") != author)
    assert without.select("step", "author", "key").equals(kept.select("step", "author", "key"))
    topical = posts.filter(pl.col("content").is_in(list(town.posts.text)))
    row = town.posts.text.index(topical["content"][0])
    without = injected(run(leave_out__posts=[row]))
    kept = posts.filter(pl.col("content") != town.posts.text[row])
    assert kept.height < posts.height - 1
    assert without.select("step", "author", "key").equals(kept.select("step", "author", "key"))


def test_a_counterfactual_leaves_out_every_publication_of_the_row_of_a_post(base: Run) -> None:
    post = injected(base).filter(pl.col("veracity") == Veracity.FALSE).row(0, named=True)
    settings, town = ts.resolve_for("health-rumor@1", sets=SETS, agents=AGENTS, steps=STEPS, seed=3), TOWN
    found = leave_out_of(base, Removal(posts=(post["post"],)), settings, town)
    assert found == {"posts": [town.posts.text.index(post["content"])]}


def test_a_stopped_run_that_goes_on_has_the_same_hash(base: Run, tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(summary: Any) -> None:
        if summary.step == 12:
            raise Stop

    with pytest.raises(Stop):
        ts.run("health-rumor@1", agents=AGENTS, steps=STEPS, seed=3, settings=SETS, out=tmp_path / "run", on_step=stop)
    assert run(tmp_path / "run").content_hash == base.content_hash


def test_sources_that_are_added_can_be_named_in_settings(base: Run) -> None:
    agents = base.table("agents").join(base.table("texts"), left_on="name", right_on="text")
    name = agents.filter(pl.col("agent") == AGENTS + SOURCES - 1)["content"][0]
    message = {"text": "Read this.", "source": name}
    later = run(events=[{"step": 5, "message": message}])
    sent = later.table("posts").filter(pl.col("kind") == PostKind.MESSAGE)
    assert sent["author"].to_list() == [AGENTS + SOURCES - 1]


def test_a_queue_with_audiences_and_no_rates() -> None:
    quiet = {name: 0 for name in SETS if name.endswith("posts_per_day")}
    other = ts.run("health-rumor@1", agents=50, steps=5, settings=SETS | quiet)
    posts = injected(other)
    assert posts["step"].value_counts().sort("step")["count"].to_list() == [4] * 5
    assert np.isin(posts["author"], np.arange(50, 50 + SOURCES)).all()


def test_rates_need_the_length_of_a_step() -> None:
    with raises_error(SettingError, where="sources.reliable.posts_per_day"):
        run(time__step_minutes=None)


def test_a_queue_holds_no_posts_of_sources_that_are_left_out() -> None:
    few = {name: 0 for name in SETS if name.endswith("posts_per_day")} | {"sources.low_credibility.count": 1}
    posts = injected(ts.run("health-rumor@1", agents=50, steps=3, settings=SETS | few))
    assert posts["step"].value_counts().sort("step")["count"].to_list() == [4] * 3
    many: dict[str, Any] = {"events": [{"step": 2, "inject": {"posts": 20, "veracity": "false"}}]}
    with raises_error(SettingError, got="20 posts", allowed="the 7 left"):
        ts.run("health-rumor@1", agents=50, steps=3, settings=SETS | few | many)


def test_many_posts_can_be_injected_late_where_sources_publish(base: Run) -> None:
    many = 20
    other = run(events=[{"step": STEPS, "inject": {"posts": many, "veracity": "false"}}])
    before, after = (injected(one).filter(pl.col("step") == STEPS) for one in (base, other))
    assert after.height == before.height + many
    with raises_error(SettingError, got="1000 posts", allowed=f"the {len(TOWN.posts)} left"):
        run(events=[{"step": STEPS, "inject": {"posts": 1000}}])
