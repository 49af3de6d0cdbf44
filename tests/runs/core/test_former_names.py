"""Names of earlier versions still work, and say what they are called now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import townsquare as ts
from townsquare.cli import main
from townsquare.core import registry
from townsquare.core.former_names import FormerName
from townsquare.experiments.manifest import ArmRun

EARLIER_DIGESTS = {
    "health-rumour": "f0f51a6ee3d6109ff443dd8c36f304e92c4031aff9dc61ecfeb53e396883e48c",
    "made:60": "a10dc9a31028794e13b12d3c80a59b4e0aa1e0aa2e132be1a48b236b1b5f9214",
}


@pytest.mark.parametrize(("name", "now"), [("health-rumour", "health-rumor@1"), ("made:60", "synthetic:60")])
def test_the_former_scenario_name_gives_the_scenario_as_earlier_runs_recorded_it(name: str, now: str) -> None:
    with pytest.warns(FormerName, match="is now called"):
        former = ts.load_scenario(name)
    current = ts.load_scenario(now)
    assert former.digest == EARLIER_DIGESTS[name]
    assert former.posts.text == current.posts.text
    old, _, _ = name.partition(":")
    assert former.name.startswith(old)
    assert former.name != current.name


def test_a_run_under_the_former_name_has_the_same_content() -> None:
    small = ["agents=20", "steps=2"]
    with pytest.warns(FormerName):
        former = ts.simulate(ts.resolve_for("health-rumour", seed=3, sets=small))
    assert former.content_hash == ts.simulate(ts.resolve_for("health-rumor@1", seed=3, sets=small)).content_hash


def test_the_command_line_notes_a_former_name_on_stderr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "health-rumour", "--agents", "12", "--steps", "1", "--out", "out", "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err.count("note: scenario 'health-rumour' is now called 'health-rumor@1'") == 1
    assert json.loads(printed.out.splitlines()[-1])


def test_former_outcome_names_are_read() -> None:
    with pytest.warns(FormerName, match="true_labeled"):
        former = registry.get("measure", "true_labelled")
    assert former == registry.get("measure", "true_labeled")
    stored = ArmRun("none", 1, "none/seed-1", "00", outcomes={"true_labelled": 2.0, "f1": 0.5})
    assert ArmRun.of(stored.plain()).outcomes == {"true_labeled": 2.0, "f1": 0.5}
