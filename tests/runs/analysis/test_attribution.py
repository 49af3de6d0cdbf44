"""Contributions of posts, authors, veracity and labels: they sum to the recorded change, for every rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

import townsquare as ts
from handwritten_runs import FrameRun, injected, settings
from raised_errors import raises_error
from small_worlds import run_of, settings_of
from townsquare.analysis import belief_change
from townsquare.analysis.causes.attribution import BY, attribution, attribution_error
from townsquare.analysis.causes.contributions import changes, contributions
from townsquare.analysis.causes.why import why
from townsquare.cli import main
from townsquare.core import registry
from townsquare.core.enums import AgentKind, TrailKind, Veracity, Verdict
from townsquare.core.errors import RecordError, SettingError, UnknownName

WITH_TRAIL = [name for name in registry.names("beliefs") if name != "no_change"]


def lively(rule: str, seed: int, **beliefs: Any) -> ts.Run:
    """A small run with newcomers, labels that weigh, own posts that count, and anchors, where a rule has them."""
    given = {"rule": rule, **beliefs}
    moderation = {"strategy": "hybrid", "posts_per_step": 20}
    layers = {"agents": 25, "steps": 4, "seed": seed, "beliefs": given, "growth": {"max_per_step": 2}}
    return run_of(settings_of(layers, {"moderation": moderation}))


@pytest.mark.parametrize("rule", WITH_TRAIL)
@given(seed=st.integers(0, 10**6), strong=st.booleans())
@profile(deadline=None, max_examples=3)
def test_contributions_sum_to_the_change_of_each_person(rule: str, seed: int, strong: bool) -> None:
    exposure = rule.startswith("exposure")
    run = lively(rule, seed, **({"pull": 0.9, "anchor": 0.1, "own_pull": 0.3} if exposure and strong else {}))
    assert attribution_error(run) < 1e-9
    assert (changes(run)["change"] != 0).any()


@pytest.mark.parametrize("rule", WITH_TRAIL)
def test_however_they_are_grouped_they_sum_to_the_mean_change(rule: str) -> None:
    run = lively(rule, 1)
    shift = belief_change(run).sort("proposition")["shift"].to_list()
    for by in BY:
        sums = attribution(run, by).group_by("proposition").agg(pl.col("per_person").sum()).sort("proposition")
        assert sums["per_person"].to_list() == pytest.approx(shift, abs=1e-9), by


def test_of_one_person() -> None:
    run = lively("exposure-bounded", 2)
    mine = attribution(run, "post", agent=3)
    whole = changes(run).filter(pl.col("agent") == 3).sort("proposition")["change"].to_list()
    sums = mine.group_by("proposition").agg(pl.col("amount").sum()).sort("proposition")["amount"].to_list()
    assert sums == pytest.approx(whole, abs=1e-9)
    assert set(mine["agents"]) == {1}


def by_hand(amounts: tuple[float, float] = (-0.02, 0.08), rule: str = "exposure") -> FrameRun:
    """Person 1 sees a false post labeled by both, and a true one that person 2 passed on; then an anchor pulls."""
    tables: dict[str, Any] = {
        "propositions": [{"proposition": 0, "name": "tax", "text": "Tax it."}],
        "agents": [{"agent": 0, "kind": AgentKind.SOURCE, "name": 2}]
        + [{"agent": a, "kind": AgentKind.PERSON, "name": -1} for a in (1, 2)],
        "texts": [{"text": i, "content": said} for i, said in enumerate(["true", "<b>false</b>", "Herald"])],
        "posts": [
            injected(0, Veracity.TRUE, author=0),
            injected(1, Veracity.FALSE, author=0),
            {"post": 2, "kind": 1, "author": 2, "root": 0, "step": 1, "text": 0},
        ],
        "post_stances": [{"post": 0, "stance": 1.0}, {"post": 1, "stance": -1.0}],
        "exposures": [
            {"step": 1, "agent": 1, "rank": 0, "post": 1, "root": 1, "author": 0, "verdict": Verdict.FALSE, "note": 4},
            {"step": 1, "agent": 1, "rank": 1, "post": 2, "root": 0, "author": 2, "note": -1},
        ],
        "trail": [
            {"step": 1, "agent": 1, "kind": TrailKind.EXPOSURE, "rank": 0, "post": 1, "amount": amounts[0]},
            {"step": 1, "agent": 1, "kind": TrailKind.EXPOSURE, "rank": 1, "post": 2, "amount": amounts[1]},
            {"step": 2, "agent": 1, "kind": TrailKind.ANCHOR, "rank": -1, "post": -1, "amount": -0.01},
        ],
        "beliefs": [
            {"step": s, "agent": a, "stance": [0.0, 0.06, 0.05][s] * (a == 1), "confidence": 0.5}
            for s in (0, 1, 2)
            for a in (1, 2)
        ],
    }
    return FrameRun(tables, settings(beliefs={"rule": rule}))


def test_records_that_cancel_out_are_contributions_of_a_size_that_makes_sense() -> None:
    run = by_hand((-1.0, 1.0 + 1e-12), "log_odds")
    (row, *_) = contributions(run).filter(pl.col("step") == 1).collect()["amount"].to_list()
    (cause, *_) = (cause for cause in why(run, 1, step=1).moves[0].causes if cause.recorded < 0)
    assert row == cause.amount == pytest.approx(-0.5)


def grouped(by: str) -> dict[str, float]:
    frame = attribution(by_hand(), by)
    return {row["what"]: row["amount"] for row in frame.iter_rows(named=True)}


def test_by_hand() -> None:
    assert attribution_error(by_hand()) < 1e-15
    assert grouped("veracity") == pytest.approx({"true": 0.08, "false": -0.02, "anchor": -0.01})
    assert grouped("label") == pytest.approx({"none": 0.08, "verdict false, note": -0.02, "anchor": -0.01})
    assert grouped("author") == pytest.approx({"agent 2": 0.08, "Herald": -0.02, "anchor": -0.01})
    assert grouped("writer") == pytest.approx({"Herald": 0.06, "anchor": -0.01})
    assert grouped("post") == pytest.approx({"true": 0.08, "<b>false</b>": -0.02, "anchor": -0.01})
    assert grouped("cause") == pytest.approx({"shown": 0.06, "anchor": -0.01})
    assert grouped("step") == pytest.approx({"step 1": 0.06, "step 2": -0.01})
    first = attribution(by_hand(), "veracity").row(0, named=True)
    assert (first["rows"], first["agents"], first["per_person"]) == (1, 1, pytest.approx(0.04))


def test_what_cannot_be_told_is_refused() -> None:
    run = by_hand()
    with raises_error(UnknownName, allowed="author"):
        attribution(run, "autor")
    with raises_error(SettingError, where="agent"):
        attribution(run, "post", agent=0)
    untold = FrameRun(run.tables, settings(record={"trail": False}))
    with raises_error(RecordError, where="trail"):
        attribution(untold, "post")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    ts.simulate(ts.resolve_for("health-rumor@1", agents=20, steps=2, seed=1), folder)
    assert main(["attribute", str(folder), "--by", "veracity"]) == 0
    said = capsys.readouterr().out
    assert "recorded change" in said
    assert "anchor" in said
    assert main(["attribute", str(folder), "--by", "step", "--all"]) == 0
    of_steps = capsys.readouterr().out
    assert "step 2 (posts)" in of_steps
    assert "step 2 (anchor)" in of_steps
    assert main(["attribute", str(folder), "--by", "post", "--agent", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["largest_difference"] < 1e-9
    assert {"key", "what", "amount"} <= found["groups"][0].keys()
    assert main(["attribute", str(folder), "--proposition", "vaccine"]) == 2
