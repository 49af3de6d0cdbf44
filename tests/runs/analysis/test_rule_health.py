"""Checks of the belief rule: each is flagged by a run that earns it, and by no bundled one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import townsquare as ts
from handwritten_runs import FrameRun, settings
from small_worlds import run_of, settings_of
from townsquare.analysis.health import CHECKS, rule_health
from townsquare.cli import main
from townsquare.pages.report import write_report


def flags(run: Any) -> set[str]:
    return set(rule_health(run).filter("flagged")["check"])


def test_the_flagship_is_flagged_for_nothing() -> None:
    run = ts.simulate(ts.resolve_for("health-rumor", agents=220, steps=120, seed=1))
    found = rule_health(run)
    assert set(found["check"]) == set(CHECKS) - {"overshoot", "trust_saturated"}, "not of a rule in log odds"
    assert flags(run) == set()


@pytest.mark.parametrize(
    ("rule", "least"), [("exposure", {"spread", "reversion"}), ("social_log_odds", {"sides", "reversion"})]
)
def test_rules_that_move_people_unlike_panels_are_flagged(rule: str, least: set[str]) -> None:
    run = ts.simulate(ts.resolve_for("health-rumor@1", agents=200, steps=40, seed=1, sets={"beliefs": rule}))
    assert least <= flags(run)


def test_a_rule_that_moves_nobody_is_not_blamed_for_the_noise_of_answers() -> None:
    run = ts.simulate(ts.resolve_for("mosaic-appendix-f", agents=200, steps=2, seed=1))
    assert "reversion" not in set(rule_health(run)["check"])


def test_what_panels_say_is_checked_against_plain_numbers() -> None:
    stances = [0.5, 0.3, -0.4, 0.05, -0.2]
    ends = [0.4, -0.1, -0.5, -0.05, -0.3]
    beliefs = [
        {"step": s, "agent": a, "stance": float(both[s])}
        for a, both in enumerate(zip(stances, ends, strict=True))
        for s in (0, 1)
    ]
    named = [{"proposition": 0, "name": "tax", "text": "Tax it."}]
    agents = [{"agent": a} for a in range(5)]
    run = FrameRun({"agents": agents, "beliefs": beliefs, "propositions": named}, settings(), last_step=1)
    found = {row["check"]: row for row in rule_health(run).iter_rows(named=True)}
    assert (found["sides"]["value"], found["sides"]["flagged"]) == (0.25, True), "one of four with a side"
    assert found["spread"]["value"] == pytest.approx(
        float(np.hypot(np.std(ends), 0.2) / np.hypot(np.std(stances), 0.2))
    )
    assert "reversion" not in found, "too few people"


@pytest.mark.parametrize(
    ("beliefs", "expected"),
    [
        ({"rule": "exposure", "pull": 1.0}, {"overshoot", "gain", "at_bounds"}),
        ({"rule": "averaging", "weight_on_others": 0.9}, {"spread", "gain"}),
        ({"rule": "exposure-bounded", "pull": 0.005, "trust_rate": 1.0}, {"trust_saturated"}),
        ({"rule": "bounded_confidence", "tolerance": 0.0}, {"frozen"}),
    ],
)
def test_a_rule_driven_too_hard_is_flagged(beliefs: dict[str, Any], expected: set[str]) -> None:
    run = run_of(settings_of(agents=30, steps=8, beliefs=beliefs))
    assert expected <= flags(run)


def test_flips_are_flagged() -> None:
    beliefs = [{"step": s, "agent": a, "stance": (-1.0) ** s * 0.5} for s in range(5) for a in range(3)]
    agents = [{"agent": a} for a in range(3)]
    named = [{"proposition": 0, "name": "tax", "text": "Tax it."}]
    run = FrameRun({"agents": agents, "beliefs": beliefs, "propositions": named}, settings(), last_step=4)
    found = rule_health(run).filter(pl.col("check") == "flips").row(0, named=True)
    assert (found["value"], found["flagged"]) == (3.0, True)


def test_report_and_inspect_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    beliefs = {"rule": "exposure-bounded", "pull": 0.005, "trust_rate": 1.0}
    run = ts.simulate(ts.resolve_for("health-rumor@1", agents=20, steps=8, seed=1, sets={"beliefs": beliefs}), folder)
    assert "Trust is saturated" in write_report(run, tmp_path / "report.html").read_text(encoding="utf-8")
    assert main(["inspect", str(folder)]) == 0
    assert "WARNING: trust_saturated" in capsys.readouterr().out
    assert main(["inspect", str(folder), "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)["health"]["rule"]
    assert any(one["flagged"] for one in checks)


def test_a_run_without_beliefs_has_no_checks() -> None:
    assert rule_health(FrameRun({}, settings(), last_step=0)).is_empty()
