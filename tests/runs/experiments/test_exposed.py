"""Effects on the beliefs of those who see most false posts, against plain Python on recorded runs."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import mean, stdev

import polars as pl
import pytest

import townsquare as ts
from townsquare.experiments.exposed import exposed_effects, exposed_sentences

SETTINGS = {
    "time.warm_up_hours": 0,
    "moderation.strategy": "desk",
    "moderation.caught": 1.0,
    "moderation.delay_median": 0.5,
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], ts.Run]:
    folder = tmp_path_factory.mktemp("exposed")
    return {
        (arm, seed): ts.run(
            "health-rumor", seed=seed, agents=300, steps=60, out=folder / f"{arm}{seed}",
            settings={**SETTINGS, "moderation.response": arm},
        )
        for arm in ("none", "takedown")
        for seed in (2, 3)  # of few people, these seeds have a tenth that sees false posts
    }  # fmt: skip


def test_the_most_exposed_are_those_of_the_baseline(runs: dict[tuple[str, int], ts.Run]) -> None:
    changes = []
    for seed in (2, 3):
        base, arm = runs["none", seed], runs["takedown", seed]
        false = set(base.table("posts").filter(pl.col("veracity") == 2)["post"].to_list())
        seen = dict.fromkeys(range(300), 0)
        for agent, root in base.table("exposures").select("agent", "root").iter_rows():
            seen[agent] += root in false
        people = sorted(seen, key=lambda agent: (-seen[agent], agent))[:30]
        last = [
            {agent: stance for step, agent, proposition, stance in run.table("beliefs").select(
                "step", "agent", "proposition", "stance").iter_rows() if step == 60 and proposition == 0}
            for run in (arm, base)
        ]  # fmt: skip
        changes.append(mean(last[0][agent] - last[1][agent] for agent in people))
    assert all(changes)
    row = (
        exposed_effects(runs, "none").filter(group="most exposed tenth", proposition="vaccine_safe").row(0, named=True)
    )
    assert row["value"] == pytest.approx(mean(changes), abs=1e-12)
    assert row["high"] - row["low"] == pytest.approx(2 * 12.706204736 * stdev(changes) / math.sqrt(2), rel=1e-6)
    assert (row["arm"], row["people"], row["seeds"]) == ("takedown", 30, 2)


def test_a_group_that_one_seed_lacks_is_left_out(runs: dict[tuple[str, int], ts.Run]) -> None:
    few = ts.run("health-rumor", seed=1, agents=100, steps=40, settings={**SETTINGS, "moderation.response": "none"})
    effects = exposed_effects({**runs, ("none", 1): few, ("takedown", 1): few}, "none")
    assert effects["group"].unique().sort().to_list() == ["all people", "most exposed hundredth"]
    assert effects["seeds"].to_list() == [3] * effects.height


def test_the_sentence_names_every_group_and_is_missing_where_everybody_sees_false_posts(
    runs: dict[tuple[str, int], ts.Run], tmp_path: Path
) -> None:
    effects = exposed_effects(runs, "none")
    names = {"vaccine_safe": "Safe.", "campaign_worthwhile": ""}
    (said,) = exposed_sentences(effects, {"takedown": "takedown"}, names, warm_up=True)
    assert all(said.count(group) == 1 for group in ("all people", "the 10% most exposed", "the 1% most exposed"))
    parts = [effects.filter(group="all people").with_columns(value=1e-4, low=0.0, high=2e-4)]
    parts += [effects.filter(pl.col("group") != "all people").with_columns(low=-0.1, high=pl.col("value"))]
    (mixed,) = exposed_sentences(pl.concat(parts), {"takedown": "takedown"}, names, warm_up=True)
    assert "95% CI within ±0.001 in all people; " in mixed
    assert "% of people see no false post after the warm-up." in said
    assert "on the final stance on" in said
    assert ", by exposure after the warm-up in the baseline (not corrected for several tests): " in said
    (plain,) = exposed_sentences(effects, {"takedown": "takedown"}, names, warm_up=False)
    assert plain == said.replace(" after the warm-up", "").replace(" over the whole run", "")
    broadcast = {("none", 1): ts.run("health-rumor@1", agents=40, steps=6, out=tmp_path / "run")}
    assert exposed_effects(broadcast, "none").is_empty()
