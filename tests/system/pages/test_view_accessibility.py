"""Faults of accessibility that axe-core finds in the views: none that is serious or critical."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from running_viewer import VIEWS, Visit, place, record, record_notes
from townsquare.experiments.comparison import compare
from townsquare.pages.view.serving import serving
from townsquare.settings.resolve import layers_for

pytestmark = pytest.mark.browser
PLACES = (
    "#/runs?open=arms",
    "#/comparison/arms",
    "#/comparison/arms/person/5",
    "#/compare?run=first&run=notes",
    *(place("first", view) for view in VIEWS),
    place("first", "network?color=post&agent=3"),
    place("first", "network?color=claim"),
    place("notes", "notes?note=0&step=48"),
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    parent: Path = tmp_path_factory.mktemp("runs")
    record(parent / "first")
    record_notes(parent / "notes")
    layers, _ = layers_for("health-rumor@1", agents=40, steps=4)
    compare(layers, {"moderation.strategy": ["none", "third_party"]}, [1, 2], parent / "arms", workers=1)
    with serving(parent) as where:
        yield where


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_no_view_has_a_serious_fault(browser: Any, url: str, width: int, scheme: str) -> None:
    axe, faults = Axe(), {}
    visit = Visit(browser, url, "#/runs", width, scheme)
    for where in PLACES:
        visit.open(where)
        violations = axe.run(visit.page, options={"resultTypes": ["violations"]}).response["violations"]
        serious = [one["id"] for one in violations if one["impact"] in ("serious", "critical")]
        if serious:
            faults[where] = serious
    visit.close()
    assert faults == {}
