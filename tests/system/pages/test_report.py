"""The pages: whole, safe and honest, whatever a run holds or lacks."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import townsquare as ts
from browser_pages import HOSTILE, Elements, Visit, assert_self_contained
from handwritten_runs import FrameRun, injected, settings, written
from raised_errors import raises_error
from townsquare.analysis import Reads, outcomes
from townsquare.core.actions import ActionKind
from townsquare.core.enums import AgentKind, LogKind, PostKind, Veracity, Verdict
from townsquare.core.errors import RecordError
from townsquare.pages.report import write_report
from townsquare.pages.report.axes import reference
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import SHADES, color

# --- runs ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_run() -> Reads:
    return ts.simulate(ts.resolve_for("health-rumor@1", agents=40, steps=6, seed=3))


def by_hand(*without: str, strategy: str = "hybrid", name: str = "tax", text: str = "Tax it.", **more: Any) -> FrameRun:
    """Three people, a source, two steps of everything; ``without`` names tables to leave empty."""
    people = [{"agent": a, "kind": AgentKind.PERSON, "name": -1} for a in (1, 2, 3)]
    said = ["a true post", text, "my own words", "A source"]
    tables: dict[str, Any] = {
        "propositions": [{"proposition": 0, "name": name, "text": text}],
        "agents": [{"agent": 0, "kind": AgentKind.SOURCE, "name": 3}, *people],
        "texts": [{"text": i, "content": content} for i, content in enumerate(said)],
        "posts": [
            injected(0, Veracity.TRUE, plausibility=0.8),
            injected(1, Veracity.FALSE, plausibility=0.4),
            written(2, PostKind.ORIGINAL, author=2, step=2),
        ],
        "post_stances": [{"post": 0, "proposition": 0, "stance": 0.5}],
        "exposures": [
            {"step": s, "agent": a, "post": p, "root": p, "first_seen": s == 1}
            for s in (1, 2)
            for a in (1, 2, 3)
            for p in (0, 1)
        ],
        "actions": [
            {"step": 1, "agent": 1, "kind": ActionKind.LIKE, "target": 0},
            {"step": 2, "agent": 2, "kind": ActionKind.SHARE, "target": 1},
            {"step": 2, "agent": 2, "kind": ActionKind.POST, "result": 2},
        ],
        "verdicts": [{"post": 1, "step": 1, "verdict": Verdict.FALSE}],
        "moderation_log": [{"post": 1, "step": 2, "kind": LogKind.TAKEDOWN}],
        "beliefs": [
            {"step": s, "agent": a, "stance": (a - 2) * (0.5 - 0.1 * s), "confidence": 0.5}
            for s in (0, 1, 2)
            for a in (1, 2, 3)
        ],
        "steps": [{"step": s, "agents": 3, "online": 3 * (s > 0), "exposures": 6 * (s > 0)} for s in (0, 1, 2)],
    }
    kept = {table: rows for table, rows in tables.items() if table not in without}
    return FrameRun({**kept, **more.pop("tables", {})}, settings(strategy, **more.pop("settings", {})), **more)


def page_of(run: Reads, folder: Path) -> str:
    return write_report(run, folder / "report.html").read_text(encoding="utf-8")


# --- what stands on the page ---------------------------------------------------------------------------------------


def test_a_real_run_has_four_figures_with_sentences_and_tables(real_run: Reads, tmp_path: Path) -> None:
    page = page_of(real_run, tmp_path)
    assert_self_contained(page)
    text = Elements(page).text
    for number in (1, 2, 3, 4):
        assert f"Figure {number}." in text
    for word in (
        "health-rumor@1",
        "exposure-bounded",
        "hybrid",
        "statistical",
        real_run.content_hash,
        real_run.version,
    ):
        assert word in text
    assert page.count("<svg") >= 10
    assert page.count("<details>") >= 5
    assert "does not use the meaning of texts" in text


def test_the_page_is_a_function_of_the_run(real_run: Reads, tmp_path: Path) -> None:
    assert len({page_of(real_run, tmp_path) for _ in range(4)}) == 1


def test_outcomes_are_equal_to_the_last_digit(real_run: Reads) -> None:
    assert len({repr(outcomes(real_run)) for _ in range(5)}) == 1


def test_identifiers_are_unique_and_all_references_resolve(real_run: Reads, tmp_path: Path) -> None:
    page = page_of(real_run, tmp_path)
    names = [a["id"] for _, a in Elements(page).tags if "id" in a]
    assert len(names) == len(set(names))
    pointed = re.findall(r'href="#([^"]+)"', page) + re.findall(r"url\(#([^)]+)\)", page)
    assert set(pointed) <= set(names)


def test_sentences_hold_the_numbers_of_the_run(tmp_path: Path) -> None:
    text = Elements(page_of(by_hand(), tmp_path)).text
    assert "By step 2, each true post had 1.0 likes, dislikes, shares and comments on average" in text
    assert "marked 1 of 1 false post as misleading (recall 1.00)" in text
    assert "The standard deviation is 60% of its initial value" in text
    assert "verdict false in step 1, taken down in step 2" in text
    assert "3 simulated people read, posted and reacted over 2 steps" in text


def test_hostile_text_is_shown_as_text(tmp_path: Path) -> None:
    run = by_hand(name=HOSTILE, text=HOSTILE, strategy=HOSTILE, settings={"scenario": HOSTILE})
    page = page_of(run, tmp_path)
    assert_self_contained(page)
    assert "<script>alert(1)</script>" in Elements(page).text
    assert "{{ 7 * 7 }}" in page
    assert "\x00" not in page
    assert "\x1b" not in page


def test_long_texts_are_cut(tmp_path: Path) -> None:
    assert "x" * 1000 not in page_of(by_hand(text="x" * 100_000), tmp_path)


# --- runs that lack something --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (by_hand(state="stopped", settings={"steps": 50}), "stopped early: 2 of 50 steps"),
        (by_hand(state="running", settings={"steps": 50}), "is still running: 2 of 50 steps"),
        (by_hand("posts", "exposures", "verdicts", "moderation_log"), "No posts were injected"),
        (by_hand("propositions", "beliefs", "post_stances"), "The scenario has no proposition"),
        (by_hand("actions"), "No agent took any action"),
        (by_hand("verdicts", "moderation_log", strategy="none"), "Without moderation, "),
        (by_hand("texts"), "(no text)"),
        (by_hand("agents", "beliefs", tables={"agents": [{"agent": 1}]}), "The run has one person only"),
        (by_hand(tables={"posts": [injected(0, Veracity.TRUE)]}), "Only true posts were injected"),
        (by_hand(tables={"posts": [injected(1, Veracity.FALSE)]}), "Only false posts were injected"),
        (by_hand(last_step=0), "0 of 2 steps"),
        (by_hand(last_step=1), "1 of 2 steps"),
        (FrameRun({}, settings(), last_step=-1, state="stopped"), "Only the configuration was recorded"),
        (FrameRun({}, {}, last_step=0), "No posts were injected"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_run_that_lacks_something_says_so_and_shows_the_rest(run: FrameRun, said: str, tmp_path: Path) -> None:
    page = page_of(run, tmp_path)
    assert_self_contained(page)
    text = Elements(page).text
    assert said in text
    for number in (1, 2, 3, 4):
        assert f"Figure {number}." in text


def test_real_extremes(tmp_path: Path) -> None:
    """One agent; nobody acting; nothing injected: as the simulation itself makes them."""
    for changes in (
        {"agents": 1},
        {"policy": {"name": "silent"}},
        {"injection": {"limit": 0}},
        {"steps": 1},
        {"activation": {"rate": 0.0}},
    ):
        run = ts.run("health-rumor@1", settings={"agents": 12, "steps": 3, "seed": 5, **changes})
        assert_self_contained(page_of(run, tmp_path))


def test_spread_overshoot_and_bounds_are_warned_of(tmp_path: Path) -> None:
    collapsed = [
        {"step": s, "agent": a, "stance": (a - 2) * (1.0 if s == 0 else 0.1)} for s in (0, 1, 2) for a in (1, 2, 3)
    ]
    of_answers = (0.02 / 3 + 0.04) ** 0.5 / (2 / 3 + 0.04) ** 0.5  # stances with noise of 0.2
    page = page_of(by_hand(tables={"beliefs": collapsed}), tmp_path)
    assert f"ended at {of_answers:.0%} (“" in page
    assert "”) of its initial value" in page
    ends = [{"step": s, "agent": a, "stance": 1.0 if a > 1 else -1.0} for s in (0, 1, 2) for a in (1, 2, 3)]
    page = page_of(by_hand(tables={"beliefs": ends}), tmp_path)
    assert "Of all people, 100% (“" in page
    assert "hold the most extreme stance possible" in page
    jump = [{"step": s, "agent": 1, "stance": 0.9 * (s == 1)} for s in (0, 1, 2)]
    pull = [{"step": 1, "agent": 1, "kind": 0, "post": 0, "amount": 0.9}]
    assert "Of all belief changes, " in page_of(by_hand(tables={"beliefs": jump, "trail": pull}), tmp_path)


def test_notes_without_plausibility_are_called_uninformative(tmp_path: Path) -> None:
    plain = [injected(0, Veracity.TRUE), injected(1, Veracity.FALSE)]
    run = by_hand(strategy="community", tables={"posts": plain})
    assert "are not interpretable here" in page_of(run, tmp_path)
    assert "are not interpretable here" not in page_of(by_hand(strategy="community"), tmp_path)


def test_a_page_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    with raises_error(RecordError, where=r"no/report\.html", do="folder that can be written"):
        write_report(by_hand(), tmp_path / "no" / "report.html")


# --- figures -------------------------------------------------------------------------------------------------------


def drawn(draw: Callable[[Any], object], label: str = "label") -> str:
    """A figure as it stands in a page."""
    return Figure("key", "caption", None, lambda axes, _: draw(axes), label).inline()


def test_colors_get_the_class_of_their_role_and_nothing_stays_inline() -> None:
    text = drawn(lambda axes: axes.plot([0, 1], [1, 2], color=color("false")), 'a "label" & <b>')
    assert 'class="stroke-false"' in text
    assert "style" not in text
    assert 'aria-label="a &quot;label&quot; &amp; &lt;b&gt;"' in text
    assert not set(re.findall(r"#[0-9a-f]{6}", text)) - {shade.light for shade in SHADES.values()}


def test_labels_are_no_formulas() -> None:
    assert "$x^2$" in drawn(lambda axes: axes.set(xlabel="$x^2$"))


def test_a_figure_is_a_function_of_what_it_draws() -> None:
    def draw(axes: Any) -> None:
        axes.fill([0, 1, 1], [0, 1, 2], color=color("true"))

    assert drawn(draw) == drawn(draw)


def test_a_figure_is_called_by_its_caption_where_it_has_no_label() -> None:
    assert 'aria-label="caption"' in drawn(lambda axes: axes.set(xlabel="x"), "")


def test_shades_are_distinct_and_two_schemes_each() -> None:
    assert len({shade.light for shade in SHADES.values()}) == len(SHADES)


# --- in a browser --------------------------------------------------------------------------------------------------


CLIPPED = """() => [...document.querySelectorAll('svg.figure')].flatMap(svg => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(text => {
    const at = text.getBoundingClientRect();
    return at.left < box.left - 2 || at.right > box.right + 2 || at.top < box.top - 2 || at.bottom > box.bottom + 2;
  }).map(text => svg.getAttribute('aria-label') + ': ' + text.textContent);
})"""
SMALLEST = """() => Math.min(...[...document.querySelectorAll('svg.figure')].flatMap(svg => {
  const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  return [...svg.querySelectorAll('text')].map(text => parseFloat(getComputedStyle(text).fontSize) * scale);
}))"""


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_fits_and_is_silent(browser: Any, real_run: Reads, tmp_path: Path, width: int, scheme: str) -> None:
    visit = Visit(browser, write_report(real_run, tmp_path / "report.html"), width, scheme)
    assert visit.heard == []
    assert visit.run("document.documentElement.scrollWidth") == width
    assert visit.run(CLIPPED) == []
    assert visit.run(SMALLEST) >= 9
    shade = getattr(SHADES["ink"], scheme)
    wanted = f"rgb({', '.join(str(int(shade[i : i + 2], 16)) for i in (1, 3, 5))})"
    assert visit.run("getComputedStyle(document.querySelector('svg.figure text')).fill") == wanted
    visit.page.close()


@pytest.mark.browser
def test_hostile_text_does_nothing(browser: Any, tmp_path: Path) -> None:
    run = by_hand(name=HOSTILE, text=HOSTILE, strategy=HOSTILE, settings={"scenario": HOSTILE})
    visit = Visit(browser, write_report(run, tmp_path / "report.html"))
    assert visit.heard == []
    assert "<script>alert(1)</script><img src=x onerror=alert(2)>" in visit.run("document.body.innerText")
    assert visit.run("document.querySelectorAll('script, img').length") == 0
    visit.page.close()


@pytest.mark.browser
def test_the_policy_would_stop_what_escaping_missed(browser: Any, tmp_path: Path) -> None:
    """A script and a picture written into the page by hand are refused by its own policy."""
    path = write_report(by_hand(), tmp_path / "report.html")
    page = path.read_text(encoding="utf-8")
    path.write_text(
        page.replace("<main>", "<main><script>document.title = 'run'</script><img src='http://127.0.0.1:9/x'>")
    )
    visit = Visit(browser, path)
    assert visit.page.title() != "run"
    assert any("Content Security Policy" in said for said in visit.heard)
    visit.page.close()


@pytest.mark.browser
def test_the_page_prints(browser: Any, real_run: Reads, tmp_path: Path) -> None:
    visit = Visit(browser, write_report(real_run, tmp_path / "report.html"), scheme="dark")
    assert visit.page.pdf(format="A4").startswith(b"%PDF")
    visit.page.emulate_media(media="print")
    paper = visit.run("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    visit.page.close()


def test_frames_of_the_hand_made_run_are_those_of_the_schema() -> None:
    real = ts.simulate(ts.resolve_for("synthetic:20", agents=10, steps=1, seed=1))
    for table in ("posts", "exposures", "actions", "beliefs", "steps", "agents"):
        assert by_hand().table(table).schema == pl.Schema(real.table(table).schema)


@pytest.mark.parametrize(
    ("course", "end"),
    [
        ([0.51, 0.6, 0.7, 0.7, 0.7, 0.7, 0.6, 0.48, 0.47], "left"),  # what passes above is in nobody's way
        ([0.48, 0.47, 0.6, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7], "right"),
        ([0.49, 0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], "right"),
        ([float("nan")] * 3, "left"),
        ([], "left"),
    ],
)
def test_a_reference_is_named_where_no_course_passes(course: list[float], end: str) -> None:
    courses = pl.Series(range(len(course)), dtype=pl.Float64), pl.Series(course, dtype=pl.Float64)
    text = drawn(lambda axes: reference(axes, 0.5, "half", courses))
    assert re.findall(r'text-anchor="(\w+)"[^>]*>half<', text) == [{"left": "start", "right": "end"}[end]]
