"""Presets: listed, documented, runnable, what their pages say, and two of them side by side in reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import townsquare as ts
from raised_errors import raises_error
from repository import ROOT
from townsquare.cli import main
from townsquare.core.enums import PostKind, Scorer, Veracity
from townsquare.core.errors import SettingError
from townsquare.scenario.load import list_scenarios
from townsquare.scenario.settings import resolve_for
from townsquare.settings.presets import list_presets, preset_names, read_preset
from townsquare.settings.resolve import Settings

DOCS = ROOT / "docs" / "presets"


def short(name: str, steps: int = 3, **flags: Any) -> Settings:
    return resolve_for(name, steps=steps, **flags)


def test_every_preset_has_a_page_and_a_name_of_its_own() -> None:
    assert preset_names() == ("mosaic-appendix-f", "mosaic-main", "simswarm")
    assert not set(preset_names()) & {line.name for line in list_scenarios()}
    for name in preset_names():
        page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# Preset `{name}`\n")
        for heading in ("reproduce", "## Contradictions"):
            assert heading in page
    assert {path.stem for path in DOCS.glob("*.md")} == set(preset_names())


def test_presets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenarios"]) == 0
    shown = capsys.readouterr().out
    assert main(["scenarios", "--json"]) == 0
    listed = [line for line in json.loads(capsys.readouterr().out) if line["kind"] == "preset"]
    for line, heard in zip(list_presets(), listed, strict=True):
        assert line.name in shown
        assert (heard["name"], heard["scenario"]) == (line.name, line.scenario)
        assert len(line.title) > 20


@pytest.mark.parametrize("name", ["simswarm", "mosaic-main", "mosaic-appendix-f"])
def test_every_setting_of_a_preset_holds_and_every_preset_runs(name: str) -> None:
    values, places = read_preset(name)
    plain = resolve_for(name).plain()
    assert places["agents"].startswith(f"preset {name}, line ")

    def check(given: dict[str, Any], found: dict[str, Any]) -> None:
        for key, value in given.items():
            if isinstance(value, dict):
                check(value, found[key])
            else:
                assert found[key] == value, key

    check(values, plain)
    run = ts.simulate(short(name, agents=20))
    assert run.state == "finished"
    assert run.table("actions").height > 10


def test_options_and_files_go_on_top_of_a_preset(tmp_path: Path) -> None:
    found = resolve_for("mosaic-main", None, ["feed.followed=3"], agents=9)
    assert (found.config.agents, found.config.feed.followed, found.config.steps) == (9, 3, 50)
    file = tmp_path / "mine.yaml"
    file.write_text("scenario: mosaic-main\nagents: 12\ninjection: {limit: 30}\n")
    found = resolve_for(None, file, steps=7)
    assert (found.config.scenario, found.config.agents, found.config.steps) == ("synthetic:500", 12, 7)
    assert (found.config.injection.limit, found.config.injection.posts_per_step) == (30, 10)
    assert resolve_for("mosaic-appendix-f", file).config.scenario == "synthetic:20"
    file.write_text("scenario: mosaic-main\nagents: 12\ninjection: {limit: -1}\n")
    with raises_error(SettingError, where=r"injection\.limit \(.*mine\.yaml, line 3\)", got="-1"):
        resolve_for(None, file)


def test_mosaic_main_is_the_experiment_of_the_main_text() -> None:
    settings = resolve_for("mosaic-main")
    assert settings.params["graph"].model_dump() == {"m": 3}
    run = ts.simulate(settings)
    injected = run.table("posts").filter(pl.col("kind") == PostKind.INJECTED)
    assert injected.height == 500
    false = injected.with_row_index().filter(pl.col("veracity") == Veracity.FALSE)
    assert false["index"].to_list() == list(range(9, 500, 10))
    assert injected.group_by("step").len()["len"].unique().to_list() == [10]
    born = run.table("agents").filter((pl.col("kind") == 0) & (pl.col("born") > 0)).group_by("born").len()
    assert set(born["len"]) == {1, 2}
    assert not run.table("posts").filter(pl.col("kind") == PostKind.ORIGINAL).height
    stances = run.table("beliefs").join(run.table("agents"), on="agent").group_by("agent")
    assert stances.agg(pl.col("stance").n_unique())["stance"].max() == 1
    texts = ts.simulate(resolve_for("mosaic-main", steps=40))
    prefix = run.table("actions").filter(pl.col("step") <= 40)
    assert texts.table("actions").equals(prefix)


def test_mosaic_appendix_f_is_that_of_the_appendix() -> None:
    run = ts.simulate(short("mosaic-appendix-f", steps=21))
    persons = run.table("agents").filter(pl.col("kind") == 0)
    assert (persons.height, persons["born"].max()) == (204, 0)
    follows = run.table("follows")
    assert set(follows["step"]) == {0}
    assert abs(follows.height / (204 * 203) - 0.1) < 0.01
    injected = run.table("posts").filter(pl.col("kind") == PostKind.INJECTED)
    assert (injected.height, injected.filter(pl.col("veracity") == Veracity.FALSE).height) == (20, 2)


def test_simswarm_collapses_as_simswarm_does() -> None:
    """The figures of its page: everybody agrees, nobody's confidence moves, everybody trusts everybody."""
    run = ts.simulate(resolve_for("simswarm"))
    beliefs = run.table("beliefs")
    assert set(beliefs["confidence"]) == {0.5}
    assert beliefs.filter(pl.col("step") == 0)["stance"].to_list() == [0.0] * 20
    last = beliefs.filter(pl.col("step") == 100)["stance"].to_numpy()
    assert 0.01 < np.std(last) < 0.06
    trust = run.table("trail").filter((pl.col("step") == 100) & pl.col("trust").is_not_nan())["trust"]
    assert trust.mean() > 0.95  # type: ignore[operator]
    assert set(run.table("post_stances")["scorer"]) == {Scorer.TEXT}
    posts = run.table("exposures").filter((pl.col("step") > 5) & (pl.col("under") < 0))
    readers = posts.group_by("step", "agent").len()
    assert readers["len"].mean() > 18  # type: ignore[operator]


def test_a_run_of_a_preset_is_called_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "mosaic-main", "--agents", "20", "--steps", "2", "--quiet"]) == 0
    assert capsys.readouterr().out.strip() == "runs/mosaic-main-seed1-1"


def test_two_presets_side_by_side_in_one_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "both"
    command = ["compare", "--vary", "scenario=mosaic-main,mosaic-appendix-f", "--seeds", "2", "--out", str(out)]
    assert main([*command, "--agents", "20", "--steps", "3", "--workers", "1", "--quiet"]) == 0
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "mosaic-main" in page
    assert "mosaic-appendix-f" in page
    text = (DOCS / "mosaic-appendix-f.md").read_text(encoding="utf-8")
    assert "townsquare compare --vary scenario=mosaic-main,mosaic-appendix-f" in text
    folders = [str(out / arm / "seed-1") for arm in ("scenario-mosaic-main", "scenario-mosaic-appendix-f")]
    assert main(["report", *folders]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 2
