"""A measure with its figure from another package: one file and two entry points, used everywhere."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from repository import ROOT
from running_viewer import ask, data
from townsquare.analysis.contract import measure
from townsquare.analysis.outcomes import outcomes
from townsquare.cli import main
from townsquare.core import registry
from townsquare.core.errors import UnknownName
from townsquare.experiments.manifest import Experiment
from townsquare.pages.report.comparison import Comparison
from townsquare.pages.report.comparison_page import comparison_page
from townsquare.pages.view.serving import serving
from townsquare.record.run import Run
from townsquare.testing.measure_conformance import check_measure, check_section

DOCS = ROOT / "docs"
NAME = "followed_share"


def test_the_list_of_measures_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "--list", "--markdown"]) == 0
    says = "run townsquare analyze --list --markdown > docs/measure-list.md"
    assert (DOCS / "measure-list.md").read_text(encoding="utf-8") == capsys.readouterr().out, says


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The page's block as an installed package: a module, and its entry points."""
    page = (DOCS / "adding-a-measure.md").read_text(encoding="utf-8")
    site, info = tmp_path / "site", tmp_path / "site" / "followed_share-1.0.dist-info"
    info.mkdir(parents=True)
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (points,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (site / f"{NAME}.py").write_text(block, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: followed-share\nVersion: 1.0\n")
    lines = [line.replace('"', "") for line in points.splitlines()[1:]]
    (info / "entry_points.txt").write_text("\n".join(["[townsquare.members]", *lines]) + "\n")
    for family in ("measure", "section"):
        monkeypatch.setitem(registry._FAMILIES, family, {**registry._FAMILIES[family]})
    monkeypatch.syspath_prepend(site)
    importlib.invalidate_caches()
    registry.add_installed.cache_clear()
    yield site
    sys.modules.pop(NAME, None)
    registry.add_installed.cache_clear()
    importlib.invalidate_caches()


@pytest.mark.usefixtures("installed")
def test_it_passes_the_public_checks() -> None:
    check_measure(measure(NAME))
    check_section(NAME, registry.get("section", NAME))


@pytest.mark.usefixtures("installed")
def test_every_command_and_the_viewer_take_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "health-rumor@1", "--agents", "20", "--steps", "3", "--all", "--out", "runs/one"]) == 0
    assert "Rows from followed accounts" in capsys.readouterr().out
    run = Run.open("runs/one")
    value = (run.table("exposures")["slot"] == 0).mean()
    assert outcomes(run)[NAME] == value
    page = (tmp_path / "runs/one/report.html").read_text(encoding="utf-8")
    assert "Followed: what comes from accounts that people follow" in page
    assert 'id="followed-share' in page
    assert "people see more posts of accounts that they follow" in page

    assert main(["analyze", "runs/one", "--only", f"{NAME},outcomes"]) == 0
    assert pl.read_csv("runs/one/analysis/followed_share.csv")["step"].to_list() == [1, 2, 3]
    row = pl.read_csv("runs/one/analysis/outcomes.csv").row(by_predicate=pl.col("outcome") == NAME, named=True)
    assert (row["value"], row["direction"]) == (pytest.approx(value), "neither")
    assert main(["analyze", "--list"]) == 0
    assert NAME in capsys.readouterr().out
    with serving(tmp_path / "runs") as url:
        (told,) = [one for one in data(url, "/api/outcomes", run="one")["outcomes"] if one["outcome"] == NAME]
        assert told["value"] == pytest.approx(value)
        status, body, _ = ask(url, "/csv/measure", run="one", name=NAME)
        assert (status, body.decode().splitlines()[0]) == (200, "step,share")
        assert ask(url, "/csv/measure", run="one", name="no_such")[0] == 400


def test_a_comparison_takes_it_and_is_shown_without_it(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(installed), prepend=":")
    words = ["compare", "health-rumor@1", "--agents", "20", "--steps", "2", "--seeds", "1-2", "--out", "both"]
    assert main([*words, "--vary", "feed.others=0,10", "--workers", "1", "--all"]) == 0
    assert "Rows from followed accounts" in capsys.readouterr().out
    runs = json.loads((tmp_path / "both/experiment.json").read_text())["runs"]
    assert all(0 < run["outcomes"][NAME] <= 1 for run in runs)
    found = Comparison.of(Experiment.load(Path("both")))
    assert "Rows from followed accounts" in [one.title for one in comparison_page(found).values["sections"]]

    monkeypatch.delitem(registry._FAMILIES["measure"], NAME)
    without = Comparison.of(Experiment.load(Path("both")))
    assert NAME not in without.outcomes["outcome"]
    assert any(NAME in note for note in without.notes)
    comparison_page(without)
    with pytest.raises(UnknownName):
        measure(NAME)
