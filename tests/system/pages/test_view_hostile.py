"""Texts of strangers, and records that are damaged, in the viewer."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from running_viewer import RECORDS, VIEWS, Visit, data, place, record, record_notes
from townsquare.pages.view.serving import serving

pytestmark = pytest.mark.browser

CORPUS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "<svg onload=alert(3)>",
    "\"'><iframe srcdoc='<script>parent.alert(4)</script>'>",
    '<a href="javascript:alert(5)">here</a>',
    "javascript:alert(6)",
    "{{ constructor.constructor('alert(7)')() }} ${alert(8)} `alert(9)`",
    "</style><style>@import 'http://192.0.2.1/x.css';</style>",
    "<link rel=stylesheet href=http://192.0.2.1/y.css><img src=http://192.0.2.1/z.png>",
    "<form action=http://192.0.2.1><input autofocus onfocus=alert(10)>",
    "{a|red} {marker|x}\n\u202egnp.exe\u2066 \x1b[31m \x00 \ufffe",
    "__proto__ constructor toString " + "w" * 400,
)


def poison(folder: Path) -> None:
    """Put the corpus into every text of a record: posts, notes, reasons, explanations, personas, names, statements."""
    every = " ".join(CORPUS)
    with closing(sqlite3.connect(folder / "run.db")) as connection, connection:
        connection.execute("UPDATE ts_texts SET content = ? || content", (every,))
        connection.execute("UPDATE ts_actions SET reasoning = text WHERE text >= 0")
        connection.execute("UPDATE ts_actions SET reasoning = 0 WHERE reasoning < 0")
        connection.execute("UPDATE ts_agents SET name = 0 WHERE agent < 20")
        connection.execute("UPDATE ts_trait_values SET answer = ?, label = label || ?", (every, CORPUS[1]))
        connection.execute("UPDATE ts_propositions SET text = ?, name = name || ?", (every, CORPUS[1]))
        connection.execute("UPDATE ts_moderation_log SET reason = ?", (every,))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    parent = tmp_path_factory.mktemp("runs")
    for name, more in ((NAME, {}), ("records", RECORDS)):
        poison(record(parent / name, agents=60, steps=4, **more))
    with serving(parent) as where:
        yield where


NAME = "<img src=x onerror=alert(11)>"


@pytest.mark.parametrize("run", ["records", "<img src=x onerror=alert(11)>"])
def test_texts_of_strangers_run_nothing(browser: Any, url: str, run: str) -> None:
    posts = data(url, "/api/posts", run=run, sort="flags")["rows"][:2]
    visit = Visit(browser, url)
    for view in (*VIEWS, *(f"post/{post['root']}" for post in posts)):
        visit.open(place(run, view))
        assert not visit.page.locator("[data-testid=problem]").count(), view
        assert visit.page.locator("main script, main iframe, main img, main form, main style, main link").count() == 0
        assert visit.page.locator("a[href^='javascript']").count() == 0
        assert visit.run("document.documentElement.scrollWidth") <= 1280, view
        charts = visit.page.locator(".chart")
        for nth in range(charts.count()):
            charts.nth(nth).hover()
    agent = 7
    if run == "records":
        asked = ((one, data(url, "/api/agent-step", run=run, agent=one, step=2)) for one in range(60))
        agent = next(one for one, found in asked if found["memories"])
    visit.open(place(run, f"agent/{agent}?step=2"))
    assert CORPUS[0] in visit.page.locator("[data-testid=persona]").inner_text()
    if run == "records":
        assert CORPUS[0] in visit.page.locator("[data-testid=memories]").inner_text()
    for button in visit.page.get_by_role("button", name=re.compile("^Belief without")).all()[:2]:
        button.click()
    visit.settle()
    assert "<script>alert(1)</script>" in visit.page.locator("main").inner_text()
    assert visit.heard == []
    visit.close()


def test_texts_of_notes_and_posts_run_nothing_in_the_plane_and_the_network(browser: Any, tmp_path: Path) -> None:
    poison(record_notes(tmp_path / "notes"))
    with serving(tmp_path) as where:
        visit = Visit(browser, where)
        for width in (1280, 400):
            visit.page.set_viewport_size({"width": width, "height": 900})
            for view in ("notes?note=0&step=48", "network?color=post"):
                visit.open(place("notes", view))
                assert not visit.page.locator("[data-testid=problem]").count(), view
                assert visit.page.locator("main script, main iframe, main img, main form, main style").count() == 0
                assert visit.run("document.documentElement.scrollWidth") <= width, view
                assert CORPUS[0] in visit.page.locator("main").inner_text()
        assert visit.heard == []
        visit.close()


def test_addresses_of_strangers_run_nothing(browser: Any, url: str) -> None:
    visit = Visit(browser, url)
    for where in ("#/run/%3Cscript%3Ealert(1)%3C%2Fscript%3E/overview", "#/run/x/<svg onload=alert(1)>", "#/compare?run=<b>&run=%",
                  "#/run/%E0%A4%A/overview", place(NAME, "agent/999999"), place(NAME, "post/1?step=<b>"), "#//"):  # fmt: skip
        visit.open(where)
        assert visit.page.locator("main script, main b").count() == 0
    told = [line for line in visit.heard if "status of 40" not in line]  # the browser's own word on refused questions
    assert told == []
    visit.close()


DAMAGES = {
    "begun": None,
    "empty": b"",
    "garbage": b"this is no database" * 100,
}


def test_a_record_that_cannot_be_read_says_so(browser: Any, tmp_path: Path) -> None:
    for name, content in DAMAGES.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.lock").write_bytes(b"")
        if content is not None:
            (tmp_path / name / "run.db").write_bytes(content)
    whole = record(tmp_path / "half", agents=40, steps=3)
    size = (whole / "run.db").stat().st_size
    with (whole / "run.db").open("r+b") as file:
        file.truncate(size // 2)
    with serving(tmp_path) as where:
        visit = Visit(browser, where)
        assert visit.page.locator(".run-line .warn-text").count() >= len(DAMAGES)
        for name in (*DAMAGES, "half"):
            visit.open(place(name, "overview"))
            assert "cannot be shown" in visit.page.locator("[data-testid=problem]").first.inner_text(), name
        assert [line for line in visit.heard if "status of 404" not in line] == []
        visit.close()


def test_a_folder_without_runs_says_so(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as where:
        visit = Visit(browser, where)
        assert "No runs yet" in visit.page.locator("main").inner_text()
        visit.close()
