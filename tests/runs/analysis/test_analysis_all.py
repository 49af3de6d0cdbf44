"""Every analysis on ordinary runs and on those that have nothing for some; the command that writes them."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl
import pytest

import repository
from handwritten_runs import FrameRun, settings
from raised_errors import raises_error
from repository import ROOT
from small_worlds import run_of, settings_of
from townsquare import Run, simulate, synthetic_scenario
from townsquare.analysis import contract
from townsquare.analysis.catalog import analyze, measures
from townsquare.analysis.follow_graph import measured_steps
from townsquare.analysis.statistics import tidy
from townsquare.cli import main
from townsquare.core.enums import Veracity
from townsquare.core.errors import UnknownName
from townsquare.core.extras import MissingExtra, library

SHARED = repository.SHARED / "data" / "mosaic"


PAIRED = {one.name for one in measures() if one.paired}
ANALYSES = {one.name for one in measures() if one.table}


@cache
def ordinary() -> Run:
    made = synthetic_scenario(60)
    stated = tuple(replace(proposition, veracity=Veracity.TRUE) for proposition in made.propositions)
    return run_of(settings_of({"moderation": {"strategy": "hybrid"}}), replace(made, propositions=stated))


@cache
def frames() -> dict[str, pl.DataFrame]:
    plain = run_of(settings_of({"moderation": {"strategy": "none"}}))
    return {name: frame for name, frame in analyze(ordinary(), without=plain) if isinstance(frame, pl.DataFrame)}


@cache
def edge(name: str) -> Run | FrameRun:
    """A run that has nothing of something."""
    if name == "nothing recorded":
        return FrameRun({}, settings(), last_step=-1)
    if name == "stopped at once":
        return run_of(settings_of({"steps": 1}))
    if name == "no proposition":
        return run_of(
            settings_of({"beliefs": {"rule": "no_change"}}), synthetic_scenario(30, propositions=0, arguments=0)
        )
    if name == "one agent":
        return run_of(settings_of({"agents": 1, "steps": 3, "graph": {"m": 1}}))
    if name == "no actions":
        return run_of(settings_of({"policy": {"name": "silent"}, "steps": 3}))
    if name == "no injected posts":
        return run_of(settings_of({"steps": 3, "injection": {"posts_per_step": 0}}))
    raise KeyError(name)


EDGES = ("nothing recorded", "stopped at once", "no proposition", "one agent", "no actions", "no injected posts")


def test_every_analysis_has_rows_but_those_of_reasons() -> None:
    found = frames()
    assert set(found) == ANALYSES | PAIRED
    empty = {name for name, frame in found.items() if not frame.height}
    assert {name for name in empty if not name.startswith("reasoning_")} <= {
        "refusals",
        "cascades",
        "treatment_effects",
        "treatment_effects_by_group",
    }
    assert "cascades" not in empty


@pytest.mark.parametrize("name", EDGES)
def test_a_run_without_something_gives_the_same_columns(name: str) -> None:
    ordinary_frames = frames()
    found = dict(analyze(edge(name)))
    assert set(found) == ANALYSES
    for analysis, frame in found.items():
        assert isinstance(frame, pl.DataFrame)
        assert frame.schema == ordinary_frames[analysis].schema, analysis


def test_a_run_on_disk_gives_what_one_in_memory_does(tmp_path: Path) -> None:
    given = settings_of({"moderation": {"strategy": "hybrid"}, "steps": 3})
    simulate(given, tmp_path / "run", scenario=synthetic_scenario(60))
    stored = dict(analyze(Run.open(tmp_path / "run")))
    for name, frame in analyze(run_of(given)):
        assert isinstance(frame, pl.DataFrame)
        other = stored[name]
        assert isinstance(other, pl.DataFrame)
        assert frame.drop("seconds", strict=False).equals(other.drop("seconds", strict=False)), name


def test_intervals_hold_their_value() -> None:
    for name, frame in frames().items():
        of_null_graphs = name in {"homophily", "network_over_time"}
        if of_null_graphs or not {"value", "low", "high"} <= set(frame.columns):
            continue
        known = frame.filter(pl.col("low").is_not_nan() & pl.col("value").is_not_nan())
        assert (known["low"] <= known["value"] + 1e-9).all(), name
        assert (known["high"] >= known["value"] - 1e-9).all(), name


def test_names_are_checked() -> None:
    with raises_error(UnknownName, do="did you mean 'homophily'"):
        list(analyze(ordinary(), ["homophili"]))
    with raises_error(UnknownName, do="paired run"):
        list(analyze(ordinary(), ["implied_truth"]))
    assert [name for name, _ in analyze(ordinary(), ["cascades", "labels", "cascades"])] == ["cascades", "labels"]


def test_a_missing_library_leaves_out_its_analyses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    with raises_error(MissingExtra, do=r"townsquare\[analysis\]"):
        library("igraph")
    found = dict(analyze(ordinary(), ["homophily", "cascades"]))
    assert isinstance(found["homophily"], MissingExtra)
    assert isinstance(found["cascades"], pl.DataFrame)


def test_large_tables_are_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "MOST_KEPT", 10)
    [(_, frame)] = analyze(ordinary(), ["echo_chambers"])
    assert isinstance(frame, pl.DataFrame)
    assert frame.equals(frames()["echo_chambers"])


def test_steps_that_networks_are_measured_at() -> None:
    assert measured_steps(FrameRun({}, {}, last_step=2)) == [0, 1, 2]
    assert measured_steps(FrameRun({}, {}, last_step=-1)) == []
    assert len(measured_steps(FrameRun({}, {}, last_step=500))) == 6
    assert tidy([], {"a": pl.Int64}).height == 0


def test_the_command_writes_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert main(["run", "health-rumor@1", "--agents", "40", "--steps", "3", "--out", str(folder), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["analyze", str(folder), "--only", "engagement_gaps,cascades"]) == 0
    assert "cascades" in capsys.readouterr().out
    written = pl.read_csv(folder / "analysis" / "engagement_gaps.csv")
    assert written["step"].to_list() == [1, 2, 3]
    assert main(["analyze", str(folder), "--only", "cascades", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["analyses"]["cascades"]
    assert all(row["structural_virality"] is None or math.isfinite(row["structural_virality"]) for row in shown)
    assert main(["analyze", str(folder), "--only", "nothing"]) == 2
    assert main(["analyze"]) == 2
    assert main(["analyze", "--list"]) == 0
    assert "homophily" in capsys.readouterr().out


def test_the_page_of_reproductions_is_what_the_script_writes() -> None:
    if not SHARED.is_dir():
        pytest.skip(f"MOSAIC's data are not at {SHARED}")
    command = [sys.executable, str(ROOT / "scripts" / "reproduction.py"), str(SHARED), "--check"]
    assert subprocess.run(command, check=False).returncode == 0, "make docs/reproduction.md anew"
