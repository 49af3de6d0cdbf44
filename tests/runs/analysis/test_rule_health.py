"""Checks of the belief rule: each is flagged by a run that earns it, and by no bundled one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


def test_a_bundled_run_is_flagged_for_nothing() -> None:
    run = ts.simulate(ts.resolve_for("health-rumor@1", agents=60, steps=8, seed=3))
    found = rule_health(run)
    assert set(found["check"]) == set(CHECKS)
    assert flags(run) == set()


@pytest.mark.parametrize(
    ("beliefs", "expected"),
    [
        ({"rule": "exposure", "pull": 1.0}, {"overshoot", "gain", "at_bounds"}),
        ({"rule": "averaging", "weight_on_others": 0.9}, {"collapse", "gain"}),
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
    assert "trust is saturated" in write_report(run, tmp_path / "report.html").read_text(encoding="utf-8")
    assert main(["inspect", str(folder)]) == 0
    assert "FLAGGED trust_saturated" in capsys.readouterr().out
    assert main(["inspect", str(folder), "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)["health"]["rule"]
    assert any(one["flagged"] for one in checks)


def test_a_run_without_beliefs_has_no_checks() -> None:
    assert rule_health(FrameRun({}, settings(), last_step=0)).is_empty()
