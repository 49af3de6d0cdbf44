"""Figures and tables as files, and the sections that runs may lack the ground for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

import townsquare as ts
from browser_pages import Elements, Visit, assert_self_contained
from small_worlds import run_of, settings_of
from townsquare.analysis.catalog import measures
from townsquare.cli import main
from townsquare.pages.report import attribution, write_report
from townsquare.pages.report.files import write_run_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    treatments = [{"name": "warned", "share": 0.5, "effects": {"labels": "hidden"}}]
    made = tmp_path_factory.mktemp("runs") / "run"
    settings = ts.resolve_for("health-rumor@1", agents=60, steps=5, seed=2, sets={"treatments": treatments})
    ts.simulate(settings, made)
    return made


def test_everything_is_a_file(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folder), "--out", str(tmp_path / "out"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert all(Path(path).is_file() for path in said["files"])
    figures = {path.stem for path in (tmp_path / "out" / "figures").iterdir()}
    assert {"growth-reach", "attribution-veracity-0", "polarization-0", "popularity", "treatment-0-0"} <= figures
    for name in figures:
        png = (tmp_path / "out" / "figures" / f"{name}.png").read_bytes()
        assert png.startswith(b"\x89PNG")
        ElementTree.parse(tmp_path / "out" / "figures" / f"{name}.svg")
    levels = pl.read_csv(tmp_path / "out" / "figures" / "levels.csv")
    assert {"step", "true", "false", "gap", "ratio"} <= set(levels.columns)
    tables = {path.stem for path in (tmp_path / "out" / "tables").iterdir()}
    assert tables >= {one.name for one in measures() if one.table}
    course = pl.read_csv(tmp_path / "out" / "tables" / "polarization_course.csv")
    assert course.height == 12
    assert {"protocol.md", "protocol.html"} <= {path.name for path in (tmp_path / "out").iterdir()}
    assert "[protocol.md](protocol.md)" in (tmp_path / "out" / "methods.md").read_text(encoding="utf-8")
    assert 'href="protocol.html"' in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    effects = pl.read_csv(tmp_path / "out" / "tables" / "treatment_effects.csv")
    assert set(effects["estimate"]) == {"difference", "direct", "spillover", "total"}


@pytest.mark.browser
def test_the_page_shows_the_new_figures(folder: Path, browser: Any, tmp_path: Path) -> None:
    page = write_report(ts.Run.open(folder), tmp_path / "report.html")
    text = page.read_text(encoding="utf-8")
    assert_self_contained(text)
    for title in ("Diffusion", "Polarization and convergence", "Attribution", "Treatments", "Influence"):
        assert f". {title}" in Elements(text).text
    for width, scheme in ((1280, "light"), (400, "dark")):
        visit = Visit(browser, page, width, scheme)
        assert visit.heard == []
        assert visit.run("document.documentElement.scrollWidth <= innerWidth")


LACKING: dict[str, dict[str, Any]] = {
    "no trail": {"record": {"trail": False}},
    "nobody acts": {"policy": "silent"},
    "no rule": {"beliefs": {"rule": "no_change"}},
    "one person": {"agents": 1, "graph": {"m": 1}, "growth": {"max_per_step": 0}},
    "no post": {"injection": {"posts_per_step": 0}},
    "one step": {"steps": 1},
    "few treated": {
        "agents": 8,
        "graph": {"m": 2},
        "treatments": [{"name": "t", "share": 0.5, "effects": {"others": 1}}],
    },
}


@pytest.mark.parametrize("what", LACKING)
def test_a_run_that_lacks_something_says_so_and_shows_the_rest(what: str, tmp_path: Path) -> None:
    run = run_of(settings_of({"agents": 20, "steps": 3}, LACKING[what]))
    text = Elements(write_report(run, tmp_path / "report.html").read_text(encoding="utf-8")).text
    said = {
        "no trail": "recorded without a trail",
        "nobody acts": "No agent took any action",
        "no rule": "nothing to attribute",
        "one person": "one person only",
        "no post": "cascades cannot be compared",
        "one step": "Figure 1",
        "few treated": "too few treated",
    }[what]
    assert said in text


def test_tables_of_a_run_without_a_trail_leave_attribution_out(tmp_path: Path) -> None:
    run = run_of(settings_of(agents=1, steps=1, graph={"m": 1}, record={"trail": False}))
    written = {path.stem for path in write_run_files(run, tmp_path)}
    assert "belief_course" in written
    assert not any(name.startswith("attribution") for name in written)


def test_a_large_trail_is_summed_in_part_or_not_at_all(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit, said in (("MOST_JOINED", "For a run of this size"), ("MOST_ROWS", "The trail has")):
        monkeypatch.setattr(attribution, limit, 10)
        text = Elements(write_report(ts.Run.open(folder), tmp_path / "report.html").read_text(encoding="utf-8")).text
        assert said in text
