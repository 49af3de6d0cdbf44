"""Comparisons in the viewer: the list of runs and arms, courses over one another, a person in every arm."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from running_viewer import Visit, ask, data
from townsquare.experiments.answer import title_of
from townsquare.experiments.comparison import compare
from townsquare.experiments.courses import bands, differences
from townsquare.experiments.extracts import KINDS, Extract
from townsquare.experiments.manifest import FILE, Experiment
from townsquare.experiments.paired import t_interval
from townsquare.pages.report import write_comparison
from townsquare.pages.view.comparison import arm_labels
from townsquare.pages.view.serving import serving
from townsquare.record.run import Run
from townsquare.settings.resolve import layers_for

pytestmark = pytest.mark.browser
ARMS = ["none", "third_party"]
HYBRID = "moderation.strategy=third_party"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("runs")
    layers, _ = layers_for("health-rumor@1", agents=40, steps=4)
    made = compare(layers, {"moderation.strategy": ARMS}, [1, 2, 3], parent / "arms", workers=1)
    write_comparison(made, parent / "arms" / "report.html")
    return parent


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with serving(folder) as where:
        yield where


PLACES = (
    "#/runs?open=arms",
    "#/comparison/arms",
    "#/comparison/arms?show=difference&all=1",
    "#/comparison/arms/person/5",
)


def test_a_single_arm_has_the_title_of_the_scenario(tmp_path: Path) -> None:
    layers, _ = layers_for("health-rumor@1", agents=20, steps=2)
    made = compare(layers, {}, [1], tmp_path / "alone", workers=1)
    assert arm_labels(made) == {"all": title_of(Run.open(made.folder / made.finished[0].folder))}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_every_view_of_a_comparison_renders_and_fits(browser: Any, url: str, width: int, scheme: str) -> None:
    visit = Visit(browser, url, "#/runs", width, scheme)
    for where in PLACES:
        visit.open(where)
        assert not visit.page.locator("[data-testid=problem]").count(), where
        assert visit.run("document.documentElement.scrollWidth") <= width, where
    assert visit.heard == []
    visit.close()


def test_the_list_groups_sorts_and_filters(browser: Any, url: str) -> None:
    visit = Visit(browser, url, "#/runs")
    visit.wait("!document.querySelector('[data-testid=counted]').innerText.includes('reading')")
    assert visit.page.locator("tr.arm").count() == 2
    assert visit.page.locator(".run-line").count() == 0
    visit.page.get_by_role("button", name="Show 6 runs").click()
    assert visit.page.locator(".run-line").count() == 6
    visit.page.get_by_label("Group by").select_option("none")
    visit.page.get_by_role("button", name="Outcome").click()
    visit.page.get_by_role("button", name="Outcome").click()
    visit.wait("document.querySelector('th[aria-sort=descending]')?.innerText.startsWith('Outcome')")
    shown = [float(text) for text in visit.page.locator(".run-line td:nth-child(9)").all_inner_texts()]
    assert shown == sorted(shown, reverse=True)
    assert len(shown) == 6
    visit.page.get_by_label("Search").fill("fact-checking 2")
    visit.wait("document.querySelectorAll('.run-line').length === 1")
    restored = Visit(browser, url, visit.run("location.hash"))
    assert restored.page.locator(".run-line").count() == 1
    restored.close()
    visit.close()


def test_the_same_person_stands_in_every_arm(browser: Any, url: str) -> None:
    visit = Visit(browser, url, "#/comparison/arms")
    visit.page.get_by_label("The same person in every arm").fill("5")
    visit.page.get_by_role("button", name="Show", exact=True).click()
    visit.page.wait_for_selector("[data-testid=in-arms]")
    visit.settle()
    assert visit.page.locator("[data-testid=in-arms] tbody tr").count() == 2
    assert visit.page.locator("[data-testid=columns] [data-testid=waterfall]").count() == 2
    assert visit.heard == []
    visit.close()


def test_arms_have_the_means_and_differences_of_the_report(url: str, folder: Path) -> None:
    made = Experiment.load(folder / "arms")
    (listed,) = data(url, "/api/runs")["comparisons"]
    values = made.outcomes.filter(arm=HYBRID)[made.primary].to_numpy()
    compared = made.paired().filter(outcome=made.primary, arm=HYBRID).row(0, named=True)
    arm = listed["arms"][1]
    assert (listed["primary"], listed["report"], listed["finished"]) == (made.primary, True, 6)
    assert [arm[name] for name in ("mean", "low", "high")] == pytest.approx(t_interval(values)[:3])
    for name in ("difference", "low", "high"):
        assert arm["effect"][name] == pytest.approx(compared[name])
    member = listed["members"]["arms/strategy-third_party/seed-2"]
    assert member["value"] == made.outcomes.filter(arm=HYBRID, seed=2)[made.primary][0]


def test_courses_are_those_of_the_report_and_paired_by_seed(url: str, folder: Path) -> None:
    made = Experiment.load(folder / "arms")
    every = made.courses()
    found = {row["course"]: row for row in data(url, "/api/courses", comparison="arms")["courses"]}
    assert found.keys() == set(every["course"])
    for name, row in found.items():
        arm = next(each for each in row["level"] if each["arm"] == HYBRID)
        drawn = bands(every).filter(course=name, arm=HYBRID).sort("at")
        assert arm["value"] == pytest.approx(drawn["value"].to_list())
        assert arm["low"] == pytest.approx(drawn["low"].to_list())
        (less,) = row["difference"]
        at = less["at"][-1]
        here = every.filter(course=name, arm=HYBRID, at=at).sort("seed")["value"]
        base = every.filter(course=name, arm=made.baseline, at=at).sort("seed")["value"]
        mean, low, high, *_ = t_interval((here - base).to_numpy())
        assert [less[end][-1] for end in ("value", "low", "high")] == pytest.approx([mean, low, high], abs=1e-9)
    assert differences(every, made.baseline)["arm"].unique().to_list() == [HYBRID]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.file)
def test_extracts_of_the_runs_are_read_and_made_anew_where_they_are_damaged(kind: Extract, folder: Path) -> None:
    made, file = Experiment.load(folder / "arms"), folder / "arms" / kind.file
    good, written = made.extracts(kind), file.stat().st_mtime_ns  # as the processes of the runs made them
    assert made.extracts(kind).keys() == good.keys()
    assert file.stat().st_mtime_ns == written
    file.write_bytes(b"no parquet")
    again = made.extracts(kind)
    assert len(good) == 6
    assert all(again[content].equals(frame) for content, frame in good.items())
    assert pl.read_parquet(file)["run"].n_unique() == 6


def test_reports_run_nothing_and_only_those_of_the_folder_are_given(url: str, folder: Path) -> None:
    status, body, headers = ask(url, "/report", of="arms")
    assert (status, body) == (200, (folder / "arms" / "report.html").read_bytes())
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert policy.endswith("sandbox")
    for name in ("../arms", "arms/..", "", "no such"):
        assert ask(url, "/report", of=name)[0] == 404


def test_a_manifest_that_names_runs_elsewhere_is_left_out(tmp_path: Path, folder: Path) -> None:
    values = json.loads((folder / "arms" / FILE).read_text())
    values["runs"][0]["folder"] = "../../other"
    (tmp_path / "stranger").mkdir()
    (tmp_path / "stranger" / FILE).write_text(json.dumps(values))
    with serving(tmp_path) as where:
        assert data(where, "/api/runs")["comparisons"] == []
        assert ask(where, "/api/courses", comparison="stranger")[0] == 404


def test_every_table_and_the_facts_of_a_comparison_are_answered(url: str) -> None:
    for name in ("courses", "effects", "person", "facts"):
        status, body, _ = ask(url, f"/csv/{name}", comparison="arms", agent=5, seed=1)
        assert status == 200, body
        assert body.count(b"\n") > 3
    assert data(url, "/api/answer", comparison="arms")["sentences"]
    assert data(url, "/api/facts", comparison="arms", arm=HYBRID)["answer"]
    assert ask(url, "/api/facts", comparison="arms", arm="no such")[0] == 400
    assert ask(url, "/api/person", comparison="arms", agent=5, seed=9)[0] == 400
