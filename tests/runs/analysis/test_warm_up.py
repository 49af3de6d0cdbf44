"""The warm-up is recorded and left out of outcomes: each number computed again from the record, in SQL alone."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

import townsquare as ts
from townsquare.experiments.run_answer import answer_run

WARM_UP = 24
PERSONS = "(SELECT agent FROM ts_agents WHERE kind = 0)"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ts.Run:
    folder: Path = tmp_path_factory.mktemp("warm-up") / "run"
    few = {"agents": 200, "steps": 72, "time": {"step_minutes": 60, "warm_up_hours": WARM_UP}}
    return ts.run("health-rumor", settings=few, out=folder)


def test_posts_of_the_warm_up_count_for_no_outcome(run: ts.Run) -> None:
    values = ts.outcomes(run)
    for word, code in (("true", 1), ("false", 2)):
        posts = f"(SELECT post FROM ts_posts WHERE kind = 3 AND veracity = {code} AND step > {WARM_UP})"
        every = f"(SELECT post FROM ts_posts WHERE kind = 3 AND veracity = {code})"
        many, all_posts = (run.sql(f"SELECT count(*) AS n FROM {rows}")["n"][0] for rows in (posts, every))
        acts = run.sql(
            f"SELECT count(*) AS n FROM ts_actions a JOIN ts_posts p ON p.post = a.target "
            f"WHERE a.status = 0 AND a.kind IN (1, 2, 3, 4) AND p.root IN {posts}"
        )["n"][0]
        assert 0 < many < all_posts
        assert values[f"engagement_{word}_per_post"] == pytest.approx(acts / many)
        if word == "false":
            assert values["recall"] == pytest.approx(
                run.sql(f"SELECT count(DISTINCT p.root) AS n FROM ts_verdicts v JOIN ts_posts p ON p.post = v.post "
                        f"WHERE v.verdict = 2 AND p.root IN {posts}")["n"][0] / many
            )  # fmt: skip


def test_change_of_stance_starts_at_the_end_of_the_warm_up(run: ts.Run) -> None:
    name = run.table("propositions")["name"][0]
    rows = run.sql(
        f"SELECT b.agent AS agent, b.step AS step, b.stance AS stance FROM ts_beliefs b "
        f"WHERE b.proposition = 0 AND b.step IN ({WARM_UP}, 72) AND b.agent IN {PERSONS}"
    ).rows()
    at = {(agent, step): stance for agent, step, stance in rows}
    moves = [at[agent, 72] - at[agent, WARM_UP] for agent, step in at if step == WARM_UP]
    values = ts.outcomes(run)
    assert values[f"shift.{name}"] == pytest.approx(statistics.fmean(moves))
    assert values[f"absolute_shift.{name}"] == pytest.approx(statistics.fmean(map(abs, moves)))


def test_the_answer_of_a_run_within_its_warm_up_says_so_and_nothing_else() -> None:
    short = ts.run("health-rumor", agents=60, steps=12)
    assert short.table("actions").height > 0
    text = str(answer_run(short, ts.outcomes(short)))
    assert "warm-up of 3 d: none here" in text
    for said in ("No posts were injected", "took any action", "mean absolute shift", "No published fact"):
        assert said not in text


def test_steps_of_the_warm_up_count_for_no_rate(run: ts.Run) -> None:
    steps = run.sql(f"SELECT sum(online) AS online, sum(exposures) AS shown FROM ts_steps WHERE step > {WARM_UP}")
    assert ts.outcomes(run)["exposures_per_agent_step"] == pytest.approx(steps["shown"][0] / steps["online"][0])
