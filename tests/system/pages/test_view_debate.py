"""Debates in the viewer: transcript, stances, what moved whom, and texts that would like to be markup."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from running_viewer import Visit, ask, data
from townsquare.debate.record import content_hash
from townsquare.debate.resolve import layers_for_debates
from townsquare.debate.results import DebateResults
from townsquare.debate.sweep import hold_debates
from townsquare.experiments.arms import arms_of
from townsquare.pages.view.serving import serving

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("runs")
    hold_debates(layers_for_debates("compulsory-voting", (), trials=2, seed=1), arms_of({}), parent / "talk", 1)
    return parent


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with serving(folder) as where:
        yield where


def test_a_folder_of_debates_is_no_broken_run(url: str) -> None:
    listing = data(url, "/api/runs")
    assert (listing["runs"], listing["debates"]) == ([], ["talk"])


def test_moves_of_a_turn_sum_to_the_change(url: str, folder: Path) -> None:
    found = data(url, "/api/debate", debate="talk", trial=2)
    record = DebateResults.open(folder / "talk").records(DebateResults.open(folder / "talk").arms[0])[1]
    assert [turn["text"] for turn in found["turns"]] == [turn["text"] for turn in record["turns"]]
    for turn in found["turns"]:
        for seat, side in enumerate(("pro", "con")):
            moved = [move["stance"] for move in turn["moves"] if move["side"] == side]
            assert sum(moved) == pytest.approx(turn["after"][seat] - turn["before"][seat], abs=1e-12)


def test_tables_and_what_is_not_there(url: str) -> None:
    for name, start in (("turns", b"arm,trial,turn"), ("moves", b"arm,trial,turn"), ("sides", b"arm,trial,side")):
        status, body, _ = ask(url, f"/csv/{name}", debate="talk")
        assert status == 200
        assert body.startswith(start)
    for query, status in (
        ({"debate": "no"}, 404),
        ({"debate": "talk", "trial": 9}, 400),
        ({"debate": "talk", "arm": "x"}, 400),
    ):
        assert ask(url, "/api/debate", **query)[0] == status


@pytest.mark.browser
def test_the_transcript_is_shown_and_runs_nothing(browser: Any, tmp_path: Path, folder: Path) -> None:
    held = DebateResults.open(folder / "talk")
    file = held.trial_file(held.arms[0], 1)
    record = json.loads(file.read_text(encoding="utf-8"))
    for turn in record["turns"]:
        turn["text"] = HOSTILE + turn["text"]
    for claim in record["claims"]:
        claim["text"] = HOSTILE + claim["text"]
    record["hash"] = content_hash(record)
    file.write_text(json.dumps(record), encoding="utf-8")
    with serving(folder) as where:
        for width in (1280, 400):
            visit = Visit(browser, where, "#/debate/talk", width)
            assert visit.page.locator("[data-testid=transcript] > li").count() == len(record["turns"])
            assert HOSTILE in visit.page.locator("[data-testid=transcript]").inner_text()
            assert visit.run("document.documentElement.scrollWidth") <= width
            assert visit.heard == []
            visit.close()
