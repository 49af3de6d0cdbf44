"""The viewer in a browser: every view renders, on every width, by keyboard, from its link; live while a run goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import townsquare as ts
from running_viewer import RECORDS, VIEWS, Visit, place, record
from townsquare.core.enums import TrailKind
from townsquare.pages.view.serving import serving
from townsquare.record.run import Run

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("runs")
    record(parent / "arms" / "first")
    record(parent / "second run", moderation={"strategy": "none"})
    record(parent / "records", agents=120, steps=6, **RECORDS)
    planted = {"kind": "block", "n_blocks": 3, "homophily": 0.9, "mean_followed": 20}
    record(parent / "blocks", graph=planted)
    record(parent / "trait", graph={"kind": "block", "by": "gender"})
    return parent


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with serving(folder) as where:
        yield where


RUN = "arms/first"
MOST_FILES = (
    "Math.max(0, ...[...document.querySelectorAll('.card')].map((one) => one.querySelectorAll('a.csv').length))"
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_every_view_renders_and_fits(browser: Any, url: str, width: int, scheme: str) -> None:
    visit = Visit(browser, url, "#/runs", width, scheme)
    for where in ("#/runs", *(place(RUN, view) for view in VIEWS)):
        visit.open(where)
        assert not visit.page.locator("[data-testid=problem]").count(), where
        assert visit.run("document.documentElement.scrollWidth") <= width, where
        assert visit.run(MOST_FILES) <= 1, where
        if "network" in where:
            visit.page.wait_for_selector("[data-testid=network][data-ready]")
    assert visit.heard == []
    visit.close()


def test_controls_have_labels_and_are_reached_by_keyboard(browser: Any, url: str) -> None:
    visit = Visit(browser, url, "#/runs")
    unlabeled = """[...document.querySelectorAll('a, button, input, select')].filter((one) => {
        const named = one.getAttribute('aria-label') || one.textContent.trim() || (one.labels && one.labels.length);
        return !named || one.tabIndex < 0;
    }).map((one) => one.outerHTML)"""
    for where in ("#/runs", *(place(RUN, view) for view in VIEWS)):
        visit.open(where)
        assert visit.run(unlabeled) == [], where
    visit.open(place(RUN, "overview"))
    visit.page.locator("[data-testid=step]").focus()
    visit.page.keyboard.press("ArrowLeft")
    visit.wait("location.hash.includes('step=3')")
    visit.close()


def test_a_link_restores_the_view(browser: Any, url: str) -> None:
    where = place(RUN, "agent/7") + "?step=2&p=campaign_worthwhile"
    visit = Visit(browser, url, where)
    assert visit.run("document.querySelector('[data-testid=step]').value") == "2"
    assert visit.run("document.querySelector('select').value") == "campaign_worthwhile"
    assert "step 2" in visit.page.locator("[data-testid=waterfall]").locator("..").inner_text()
    visit.close()


def test_the_bars_sum_to_the_change_that_is_shown(browser: Any, url: str) -> None:
    visit = Visit(browser, url, place(RUN, "agent/7") + "?step=3")
    more = visit.page.get_by_role("button", name="smaller contributions")
    if more.count():
        more.click()
    bars = visit.page.locator("[data-testid=bar] .amount").all_inner_texts()
    shown = [float(text.replace("\u2212", "-")) for text in bars]
    sums = visit.page.locator("[data-testid=sum]")
    change = float(sums.get_attribute("data-change"))
    assert float(sums.get_attribute("data-sum")) == pytest.approx(change, abs=1e-12)
    assert sum(shown) == pytest.approx(change, abs=1e-5 * len(shown))
    assert "they are equal" in sums.inner_text()
    visit.page.get_by_role("button", name="Belief without this row").first.click()
    visit.page.wait_for_selector("[data-testid=without] .stance")
    assert "exactly" in visit.page.locator("[data-testid=without]").inner_text()
    visit.close()


def test_records_put_aside_are_grey_and_each_can_be_left_out(browser: Any, url: str, folder: Path) -> None:
    run = Run.open(folder / "records")
    gone = run.table("trail").filter((pl.col("kind") == TrailKind.ARCHIVED) & (pl.col("proposition") == 0))
    remembers = run.table("agent_memories").filter(pl.col("step") == 1).select("agent")
    agent, step = gone.join(remembers, on="agent", how="semi").sort("step", "agent").select("agent", "step").row(-1)
    visit = Visit(browser, url, place("records", f"agent/{agent}") + f"?step={step}&all=1&records=all")
    sums = visit.page.locator("[data-testid=sum]")
    assert "log odds" in sums.inner_text()
    assert "they are equal" in sums.inner_text()
    archived = visit.page.locator("[data-testid=bar].gone")
    assert archived.count() >= 1
    assert "Record archived" in archived.first.inner_text()
    aside = visit.page.locator("[data-testid=records] .archived").first.inner_text()
    assert "adds nothing" in aside
    visit.page.locator("[data-testid=records]").get_by_role("button", name="Belief without this record").first.click()
    visit.page.wait_for_selector("[data-testid=without-record] .stance")
    visit.wait("location.hash.includes('record=')")
    assert visit.page.locator("[data-testid=memories] li").count() > 0
    restored = Visit(browser, url, visit.run("location.hash"))
    restored.page.wait_for_selector("[data-testid=without-record] .stance")
    assert restored.heard == visit.heard == []
    restored.close()
    visit.close()


def test_what_is_switched_off_stands_in_the_link(browser: Any, url: str) -> None:
    visit = Visit(browser, url, place(RUN, "overview"))
    visit.page.get_by_role("checkbox", name="individual agents").uncheck()
    visit.wait("location.hash.includes('lines=0')")
    visit.open(place(RUN, "overview?bands=0"))
    assert not visit.page.get_by_role("checkbox", name="bands").is_checked()
    assert visit.page.get_by_role("checkbox", name="individual agents").is_checked()
    visit.open(place(RUN, "network"))
    visit.page.get_by_label("Size").select_option("moved")
    visit.wait("document.querySelector('.beside h3').innerText === 'Largest influence on others'")
    visit.wait("location.hash.includes('size=moved')")
    visit.open("#/runs?run=arms%2Ffirst&run=second+run")
    assert visit.page.locator(".run-line.chosen").count() == 2
    assert visit.heard == []
    visit.close()


def test_who_saw_a_post_is_listed(browser: Any, url: str) -> None:
    visit = Visit(browser, url, place(RUN, "post/1"))
    visit.page.locator("summary").filter(has_text="Agents shown this post").click()
    visit.page.locator("[data-testid=seen-by] a").first.click()
    visit.page.wait_for_selector("[data-testid=feed]")
    assert visit.heard == []
    visit.close()


def test_the_network_moves_with_the_slider_and_opens_an_agent(browser: Any, url: str) -> None:
    visit = Visit(browser, url, place(RUN, "network"))
    visit.page.wait_for_selector("[data-testid=network][data-step='4']")
    visit.page.locator("[data-testid=step]").fill("1")
    visit.page.wait_for_selector("[data-testid=network][data-step='1']")
    picture = visit.page.locator("[data-testid=network]").bounding_box()
    for place_ in ((x, y) for y in range(-9, 10) for x in range(-9, 10)):  # some agent stands under one of them
        at = [picture[side] + picture[size] / 2 for side, size in (("x", "width"), ("y", "height"))]
        visit.page.mouse.move(at[0] + 13 * place_[0], at[1] + 13 * place_[1])
        if visit.run("document.querySelector('[data-testid=network]').style.cursor") == "pointer":
            break
    visit.page.mouse.down()
    visit.page.mouse.up()
    visit.wait("location.hash.includes('agent=')")
    visit.page.get_by_role("button", name="Clear").click()
    visit.page.locator(".beside ol button").first.click()
    visit.page.get_by_role("link", name="What moved this belief").click()
    visit.page.wait_for_selector("[data-testid=waterfall]")
    assert visit.heard == []
    visit.close()


def test_agents_stand_in_communities_and_are_colored_by_what_is_chosen(browser: Any, url: str) -> None:
    visit = Visit(browser, url, place("blocks", "network"))
    visit.page.wait_for_selector("[data-testid=network][data-discs='4']")  # the three planted blocks, and sources
    assert "Louvain" in visit.page.locator("[data-testid=key]").inner_text()
    sizes = visit.page.locator("[data-testid=communities] li .muted").all_inner_texts()
    assert len(sizes) == 3
    assert min(map(int, sizes)) > 50
    visit.page.get_by_label("Color", exact=True).select_option("post")
    visit.wait("document.querySelector('.legend')?.innerText.includes('shared it')")
    visit.page.get_by_label("Color", exact=True).select_option("claim")
    visit.wait("document.querySelector('.legend')?.innerText.includes('saw none')")
    visit.wait("location.hash.includes('color=claim')")
    visit.open(place("trait", "network"))
    visit.page.wait_for_selector("[data-testid=network][data-ready]")
    assert "gender" in visit.page.locator("[data-testid=key]").inner_text()
    assert visit.heard == []
    visit.close()


def test_selected_runs_are_drawn_over_one_another(browser: Any, url: str) -> None:
    visit = Visit(browser, url)
    for name in ("arms/first", "second run"):
        visit.page.get_by_role("checkbox", name=f"Compare {name}").check()
    visit.page.get_by_role("link", name="Compare").click()
    visit.page.wait_for_selector("[data-testid=overlay]")
    visit.settle()
    cards = visit.page.locator("[data-testid=overlay] > section")
    assert cards.count() == 6  # reach, labels, precision and recall of notes, two propositions
    assert cards.locator("a.csv").count() == 6
    visit.page.get_by_label("Show", exact=True).select_option("difference")
    visit.wait("location.hash.includes('show=difference')")
    visit.page.get_by_role("button", name="second run").click()
    visit.wait("location.hash.includes('hide=second+run')")
    assert visit.page.locator("[data-testid=compared] tbody tr").count() == 2
    assert visit.heard == []
    visit.close()


def test_a_run_is_followed_while_it_goes_on(browser: Any, tmp_path: Path) -> None:
    seen, enough = threading.Event(), threading.Event()

    def on_step(mark: Any) -> None:
        if mark.step == 3:
            seen.set()
        if mark.step >= 3:
            enough.wait(0.2)

    settings = ts.resolve_for("health-rumor@1", agents=40, steps=40, seed=1)
    running = threading.Thread(target=ts.simulate, args=(settings, tmp_path / "run"), kwargs={"on_step": on_step})
    running.start()
    seen.wait()
    with serving(tmp_path) as where:
        visit = Visit(browser, where, place("run", "overview"))
        progress = visit.page.locator("[data-testid=progress]")
        first = progress.inner_text()
        visit.wait(f"document.querySelector('[data-testid=progress]').innerText !== {first!r}")
        assert "running" in visit.page.locator("[data-testid=facts]").inner_text()
        enough.set()
        visit.wait("document.querySelector('[data-testid=facts]').innerText.includes('finished')")
        visit.wait("document.querySelector('[data-testid=step]').max === '40'")
        assert "step 40 of 40" in progress.inner_text()
        assert visit.heard == []
        visit.close()
    running.join()


@pytest.mark.slow
def test_every_view_renders_ten_thousand_agents(browser: Any, tmp_path: Path) -> None:
    record(tmp_path / "large", agents=10_000, steps=2)
    with serving(tmp_path) as where:
        visit = Visit(browser, where)
        visit.page.set_default_timeout(120_000)
        for view in VIEWS:
            visit.open(place("large", view))
            assert not visit.page.locator("[data-testid=problem]").count(), view
            if view == "network":
                visit.page.wait_for_selector("[data-testid=network][data-ready]")
        assert visit.heard == []
        visit.close()
