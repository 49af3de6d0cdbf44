"""The rule on the page "Adding a belief rule" is a whole one: typed, checked, and installed it serves every command."""

from __future__ import annotations

import csv
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import townsquare as ts
from belief_blocks import new, shown, step
from repository import ROOT
from running_viewer import data
from townsquare.beliefs.contract import Authors, BeliefInputs, BeliefRule, no_own
from townsquare.cli import main
from townsquare.core import registry
from townsquare.core.draws import Draws, Stage
from townsquare.pages.view.serving import serving
from townsquare.record.run import Run
from townsquare.testing.belief_conformance import check_belief_rule

PAGE = ROOT / "docs" / "adding-a-belief-rule.md"
OPENNESS, HOLD = 0.4, 0.1


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the rule of the page and the entry point that the page names: a package as installed."""
    folder, text = tmp_path_factory.mktemp("package"), PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (point,) = re.findall(r'"(beliefs\.followed)" = "(followed_rule:RULE)"', text)
    (folder / "followed_rule.py").write_text(block, encoding="utf-8")
    about = folder / "followed_rule-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: followed-rule\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{registry.ENTRY_POINTS}]\n{point[0]} = {point[1]}\n")
    return folder


@pytest.fixture(scope="module")
def rule(package: Path) -> Iterator[BeliefRule]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(package)
        registry.add_installed.cache_clear()
        yield registry.get("beliefs", "followed")
    registry.add_installed.cache_clear()
    sys.modules.pop("followed_rule", None)
    importlib.invalidate_caches()


@pytest.mark.parametrize("seed", range(5))
def test_it_passes_the_public_check(rule: BeliefRule, seed: int) -> None:
    check_belief_rule(rule, seed)


def test_it_does_what_it_says(rule: BeliefRule) -> None:
    state = new(rule, [[0.0], [0.0]])
    rows = shown([{"stance": 1.0}, {"stance": -1.0}, {"stance": 0.5}], [{"stance": -1.0}])
    authors = Authors({"tie": np.array([1.0, 0.0, 1.0, 0.0])})
    params = {"openness": np.full(2, 0.5), "hold": np.zeros(2)}
    inputs = BeliefInputs(0, rows, no_own(2, 1), authors=authors)
    after, trail = rule.step(state, inputs, params, Draws(1, 1)(Stage.BELIEF))
    assert after.stance[:, 0].tolist() == [0.375, 0.0]
    assert trail.amount.tolist() == [0.25, 0.0, 0.125, 0.0]
    with pytest.raises(LookupError, match="add 'ties' to the rule's needs"):
        step(rule, state, rows)


# --- the commands --------------------------------------------------------------------------------------------------

RUN = [
    "run", "health-rumor@1", "--agents", "60", "--steps", "5", "--seed", "3", "--quiet",
    "--set", "beliefs.rule=followed", "--set", f"beliefs.openness={OPENNESS}", "--set", f"beliefs.hold={HOLD}",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run recorded by the command line, in a process of its own that knows the package by its entry point alone."""
    folder = tmp_path_factory.mktemp("runs") / "first"
    paths = os.pathsep.join([str(package), str(ROOT / "src")])
    made = subprocess.run(
        [sys.executable, "-m", "townsquare", *RUN, "--out", str(folder)], env={**os.environ, "PYTHONPATH": paths},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return folder


def moves(run: Run) -> list[dict[str, Any]]:
    """Rows of the trail that a post moved somebody by, the largest first."""
    trail = run.table("trail")
    return trail.filter((trail["rank"] >= 0) & (trail["amount"] != 0)).sort("amount", descending=True).to_dicts()


@pytest.mark.usefixtures("rule")
def test_only_what_followed_authors_pass_on_moves(folder: Path) -> None:
    run = Run.open(folder)
    changes = run.table("follows").select("step", "follower", "followed", "change").rows()
    author = run.table("posts")["author"].to_list()
    found = moves(run)
    assert len(found) > 100
    for row in found:
        pair = (row["agent"], author[row["post"]])
        assert sum(change for step, *who, change in changes if step <= row["step"] and tuple(who) == pair) == 1


@pytest.mark.usefixtures("rule")
def test_it_is_stopped_and_resumed_and_replayed(folder: Path, tmp_path: Path) -> None:
    whole = Run.open(folder)
    half = tmp_path / "half"

    def stop(summary: Any) -> None:
        if summary.step == 2:
            raise KeyboardInterrupt

    sets = ["beliefs.rule=followed", f"beliefs.openness={OPENNESS}", f"beliefs.hold={HOLD}"]
    with pytest.raises(KeyboardInterrupt):
        ts.simulate(ts.resolve_for("health-rumor@1", None, sets, agents=60, steps=5, seed=3), half, on_step=stop)
    assert Run.open(half).last_step == 2
    assert main(["resume", str(half), "--quiet"]) == 0
    assert Run.open(half).content_hash == whole.content_hash
    assert main(["replay", str(folder)]) == 0


@pytest.mark.usefixtures("rule")
def test_why_and_counterfactual_and_the_viewer_know_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = moves(Run.open(folder))[0]
    assert main(["why", str(folder), "--agent", str(row["agent"]), "--step", str(row["step"]), "--json"]) == 0
    (move, *_) = [one for one in json.loads(capsys.readouterr().out)["moves"] if one["change"]]
    assert move["agrees"]
    assert main(["counterfactual", str(folder), "--without", f"post={row['post']}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["reproduces_the_record"]
    name = Run.open(folder).table("propositions")["name"][row["proposition"]]
    with serving(folder.parent) as url:
        place = {"run": "first", "agent": row["agent"], "step": row["step"], "proposition": name}
        assert data(url, "/api/agent", **place)
        answer = data(url, "/api/without", **place, rank=row["rank"], post=row["post"])
        assert answer["method"] == "exact"
        assert abs(answer["stance"] - answer["recorded"]) > 1e-4


def people(file: Path, *, ties: bool) -> Path:
    """Eighty people whom messages of followed authors moved, and the others did not."""
    draw, rows = np.random.default_rng(2), []
    for person in range(80):
        start = stance = float(draw.uniform(-0.8, 0.8))
        said = [(f"a{draw.integers(9)}", int(draw.choice([-1, 1])), int(draw.integers(2))) for _ in range(6)]
        for _, side, tie in said:
            stance += (1 - HOLD) * OPENNESS * (side - stance) * tie + HOLD * (start - stance)
        final = float(np.clip(stance + draw.normal(0, 0.03), -1, 1))
        for author, side, tie in said:
            rows.append(
                [f"p{person}", f"g{person // 4}", "Tea is good.", start, final, author, side, *([tie] if ties else [])]
            )
    with file.open("w", newline="", encoding="utf-8") as out:
        head = ["participant", "conversation", "proposition", "initial", "final", "author", "side"]
        csv.writer(out).writerows([[*head, "tie"] if ties else head, *rows])
    return file


@pytest.mark.usefixtures("rule")
def test_it_is_fitted_to_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = people(tmp_path / "people.csv", ties=True)
    assert main(["fit", str(known), "--rule", "followed", "--out", str(tmp_path / "fit"), "--no-figures"]) == 0
    fit = json.loads((tmp_path / "fit" / "fit.json").read_text(encoding="utf-8"))
    assert fit["names"] == ["openness", "hold"]
    assert fit["point"] == {"x": OPENNESS, "y": HOLD}
    capsys.readouterr()
    assert main(["fit", str(known), "--apply", str(tmp_path / "fit")]) == 0
    assert main(["fit", str(known), "--rule", "followed", "--continuous", "--json"]) == 0
    unknown = people(tmp_path / "unknown.csv", ties=False)
    assert main(["fit", str(unknown), "--rule", "followed"]) != 0
    assert "480 of 480 messages without a tie to their author, which 'followed' needs" in capsys.readouterr().err
