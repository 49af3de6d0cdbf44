"""The notes view in a browser: the plane over time, a click on a note, runs without the bridging scorer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import townsquare as ts
from running_viewer import Visit, data, place, record, record_notes
from townsquare.pages.view.serving import serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent: Path = tmp_path_factory.mktemp("runs")
    record_notes(parent / "notes")
    record(parent / "threshold", moderation={"strategy": "community"})
    record(parent / "none", moderation={"strategy": "none"})
    return parent


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with serving(folder) as where:
        yield where


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_the_plane_and_a_note_render_and_fit(browser: Any, url: str, width: int, scheme: str) -> None:
    visit = Visit(browser, url, place("notes", "notes?note=0&step=48"), width, scheme)
    assert visit.page.locator("[data-testid=plane], [data-testid=raters]").count() == 2
    assert visit.page.locator("[data-testid=why-note]").count() == 1
    assert visit.run("document.documentElement.scrollWidth") <= width
    assert visit.heard == []
    visit.close()


def test_a_click_on_a_note_says_why_it_is_shown_or_not(browser: Any, url: str) -> None:
    notes = data(url, "/api/notes-at", run="notes", step=48)["notes"]
    visit = Visit(browser, url, place("notes", "notes?step=48"))
    number = {status: notes["note"][notes["status"].index(status)] for status in set(notes["status"])}
    says = {"shown": "Shown since", "pending": "needs at least", "not_helpful": "Not helpful"}
    for status, start in says.items():
        visit.page.get_by_label("Status").select_option(status)
        visit.page.locator("[data-testid=note-list] button", has_text=re.compile(f"^{number[status]}: ")).click()
        visit.wait(f"location.hash.includes('note={number[status]}')")
        visit.wait(f"document.querySelector('[data-testid=why-note] .sum')?.innerText.includes('{start}')")
    visit.page.locator("[data-testid=why-note] a[href*='post/']").click()
    visit.page.wait_for_selector("[data-testid=post]")
    assert visit.heard == []
    visit.close()


def test_the_latest_note_comes_first_with_the_views_that_had_passed(browser: Any, folder: Path, url: str) -> None:
    run = ts.Run.open(folder / "notes")
    late = run.sql(
        "WITH first AS (SELECT value AS note, min(step) AS shown FROM ts_moderation_log WHERE kind = 2 GROUP BY value) "
        "SELECT n.note, f.shown - p.step AS waited, avg(e.step <= f.shown) AS late, count(*) AS views FROM first f JOIN ts_notes n USING (note) "
        "JOIN ts_posts p ON p.post = n.post JOIN ts_exposures e ON e.root = n.post GROUP BY n.note "
        "ORDER BY waited DESC, n.note"
    ).row(0, named=True)
    visit = Visit(browser, url, place("notes", f"notes?order=late&step={run.last_step}"))
    cells = visit.page.locator("[data-testid=note-list] tbody tr").first.locator("th, td").all_inner_texts()
    assert cells[0].startswith(f"{late['note']}: ")
    assert cells[5:7] == [f"{late['waited']} h", f"{100 * late['late']:.0f}% of {late['views']}"]
    assert visit.heard == []
    visit.close()


def test_a_click_in_the_plane_picks_the_note_under_it(browser: Any, url: str) -> None:
    visit = Visit(browser, url, place("notes", "notes?step=48"))
    box = visit.page.locator("[data-testid=plane]").bounding_box()
    for at in ((x, y) for y in range(20, 380, 7) for x in range(60, int(box["width"]), 7)):
        visit.page.mouse.move(box["x"] + at[0], box["y"] + at[1])
        if visit.run("document.querySelector('[data-testid=plane] > div').style.cursor") == "pointer":
            break
    visit.page.mouse.down()
    visit.page.mouse.up()
    visit.wait("location.hash.includes('note=')")
    visit.close()


def test_runs_without_the_bridging_scorer_say_so(browser: Any, url: str) -> None:
    visit = Visit(browser, url, place("threshold", "notes"))
    assert "does not use the bridging scorer" in visit.page.locator("[data-testid=no-plane]").inner_text()
    assert visit.page.locator("[data-testid=plane]").count() == 0
    assert visit.page.locator("[data-testid=note-list] tbody tr").count() > 0
    visit.open(place("none", "notes"))
    assert "no community notes" in visit.page.locator("[data-testid=no-notes]").inner_text()
    assert visit.heard == []
    visit.close()
