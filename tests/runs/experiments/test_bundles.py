"""A study frozen in a file: what it holds, and that nothing can be changed unseen."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import townsquare as ts
from raised_errors import raises_error
from townsquare.cli import main
from townsquare.core.errors import RecordError, SettingError, UnknownName
from townsquare.experiments.bundle import Bundle, check, freeze, planned, recorded
from townsquare.experiments.comparison import compare
from townsquare.record.run import Run

BASE = {"scenario": "synthetic:20", "agents": 30, "steps": 3}
VARY = {"moderation.strategy": ["none", "third_party"]}
HYPOTHESES = """hypotheses:
  - {outcome: exposures_false, arm: moderation.strategy=third_party, expect: lower, why: posts come down}
  - {outcome: actions_per_agent_step, arm: moderation.strategy=third_party, expect: no difference}
"""


def failed(findings: list[Any]) -> list[str]:
    return [one.what for one in findings if one.state == "FAILED"]


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    ts.simulate(ts.resolve_for("health-rumor@1", agents=15, steps=2, seed=1), tmp_path / "run")
    return tmp_path / "run"


def test_a_recorded_run_is_frozen_and_comes_out_again(run_folder: Path, tmp_path: Path) -> None:
    made = freeze(recorded(run_folder, tmp_path))
    made.save(tmp_path / "bundle.json")
    read = Bundle.load(tmp_path / "bundle.json")
    assert read == made
    assert not read.preregistration
    entry = read.entries[0]
    assert (entry.folder, entry.content_hash) == ("run", Run.open(run_folder).content_hash)
    found = check(read, tmp_path)
    assert failed(found) == []
    assert any(one.result == "equal to the last bit" for one in found)


def test_a_bundle_that_was_changed_is_found(run_folder: Path, tmp_path: Path) -> None:
    made = freeze(recorded(run_folder, tmp_path))
    assert failed(check(replace(made, notes="it was foreseen"), tmp_path, sample=0)) == ["bundle"]
    other = replace(made, entries=(replace(made.entries[0], content_hash="0" * 64),))
    assert failed(check(other, tmp_path)) == ["bundle", "single run, seed 1", "single run, seed 1, executed again"]


def test_a_run_that_was_changed_or_is_gone_is_found(run_folder: Path, tmp_path: Path) -> None:
    made = freeze(recorded(run_folder, tmp_path))
    shutil.rmtree(run_folder)
    assert failed(check(made, tmp_path, sample=0)) == ["single run, seed 1"]
    ts.simulate(ts.resolve_for("health-rumor@1", agents=16, steps=2, seed=1), run_folder)
    assert failed(check(made, tmp_path, sample=0)) == ["single run, seed 1"]


def test_versions_are_noted(run_folder: Path, tmp_path: Path) -> None:
    made = freeze(recorded(run_folder, tmp_path))
    other = replace(made, environment={**made.environment, "numpy": "1.0"})
    notes = [one.result for one in check(other, tmp_path, sample=0) if one.state == "note"]
    assert any("numpy 1.0, here" in said for said in notes)


@pytest.mark.slow
def test_a_preregistration_and_the_comparison_made_of_it(tmp_path: Path) -> None:
    (tmp_path / "h.yaml").write_text(HYPOTHESES, encoding="utf-8")
    plan = planned(ts.resolve_for("synthetic:20", agents=30, steps=3), VARY, [1, 2, 3])
    made = freeze(plan, tmp_path / "h.yaml", plan[0].arm)
    assert made.preregistration
    assert {entry.state for entry in made.entries} == {"planned"}
    assert failed(check(made, tmp_path)) == []
    compare([BASE], VARY, [1, 2, 3], tmp_path / "out", workers=2)
    found = check(made, tmp_path, runs=[tmp_path / "out"])
    assert failed(found) == []
    assert any(one.result == "all 6 planned runs were executed, and no others" for one in found)
    told = [one for one in found if one.what.startswith("hypothesis")]
    assert len(told) == 2
    assert all("Holm" in one.result for one in told)
    compare([BASE], VARY, [1, 2, 3, 4, 5], tmp_path / "out", workers=2)
    again = check(made, tmp_path, 0, [tmp_path / "out"])
    assert [one for one in again if one.what.startswith("hypothesis")] == told, (
        "unplanned seeds count for no hypothesis"
    )
    fewer = check(replace(made, entries=made.entries[:-1]), tmp_path, 0, [tmp_path / "out"])
    assert any("not planned" in one.result for one in fewer)
    more = freeze([*plan, *planned(ts.resolve_for("synthetic:20", agents=31, steps=3), {}, [1])])
    assert "plan" in failed(check(more, tmp_path, 0, [tmp_path / "out"]))
    record = freeze(recorded(tmp_path / "out", tmp_path), tmp_path / "h.yaml", plan[0].arm)
    assert failed(check(record, tmp_path, sample=2)) == []


def test_hypotheses_name_what_there_is(tmp_path: Path) -> None:
    plan = planned(ts.resolve_for("synthetic:20", agents=30, steps=3), VARY, [1])
    for old, new, error in (
        ("exposures_false", "exposures_fals", UnknownName),
        ("expect: lower", "expect: fewer", SettingError),
        ("third_party, expect: lower", "both, expect: lower", SettingError),
        ("expect: lower, ", "", SettingError),
        ("hypotheses:\n", "", SettingError),
        ("hypotheses:", "hypothesis:", SettingError),
    ):
        (tmp_path / "h.yaml").write_text(HYPOTHESES.replace(old, new), encoding="utf-8")
        with pytest.raises(error):
            freeze(plan, tmp_path / "h.yaml")
    (tmp_path / "h.yaml").write_text(HYPOTHESES, encoding="utf-8")
    assert len(freeze(plan, tmp_path / "h.yaml").hypotheses) == 2
    with raises_error(SettingError, got="several runs of one arm and seed"):
        freeze([*plan, *planned(ts.resolve_for("synthetic:20", agents=31, steps=3), VARY, [1])], tmp_path / "h.yaml")
    (tmp_path / "h.md").write_text("We expect less.", encoding="utf-8")
    assert freeze(plan, tmp_path / "h.md").notes == "We expect less."
    with raises_error(SettingError, got="no run"):
        freeze([])


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    for text in ("", "{}", '{"format": 9}', "[]"):
        (tmp_path / "x.json").write_text(text, encoding="utf-8")
        with pytest.raises(RecordError):
            Bundle.load(tmp_path / "x.json")


def test_the_commands(run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bundle.json"
    assert main(["bundle", str(run_folder), "--out", str(out), "--json"]) == 0
    digest = json.loads(capsys.readouterr().out)["digest"]
    assert main(["bundle", str(run_folder), "--out", str(out)]) == 2
    assert main(["verify", str(out), "--digest", digest]) == 0
    assert "All checks passed" in capsys.readouterr().out
    assert main(["verify", str(out), "--digest", "0" * 64, "--sample", "0", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["state"] == "FAILED"
    plan = tmp_path / "plan.json"
    given = ["health-rumor@1", "--vary", "moderation.strategy=none,hybrid", "--seeds", "2", "--steps", "3"]
    assert main(["bundle", *given, "--out", str(plan)]) == 0
    assert "preregistration" in capsys.readouterr().out
    assert len(Bundle.load(plan).entries) == 4
    assert main(["verify", str(plan)]) == 0
    assert "4 runs are planned" in capsys.readouterr().out


def test_a_plan_has_the_settings_of_the_comparison_that_executes_it(tmp_path: Path) -> None:
    vary = "moderation.strategy=none,hybrid"  # the scenario says hybrid: an arm without it has no settings of it
    given = ["health-rumor@1", "--vary", vary, "--seeds", "1", "--agents", "20", "--steps", "1"]
    plan, study = str(tmp_path / "plan.json"), str(tmp_path / "study")
    assert main(["bundle", *given, "--out", plan]) == 0
    assert main(["compare", *given, "--out", study, "--workers", "1", "--rules", "one", "--quiet"]) == 0
    assert main(["verify", plan, "--runs", study, "--sample", "0"]) == 0
