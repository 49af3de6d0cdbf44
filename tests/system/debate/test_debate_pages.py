"""Transcripts and pages of debates: whole, safe, and fit for a phone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from browser_pages import HOSTILE, Elements, Visit, assert_self_contained
from snapshots import assert_worded
from townsquare.debate.measures import Estimate
from townsquare.debate.results import DebateResults
from townsquare.debate.sweep import arms_over, hold_debates
from townsquare.pages.debates.page import write_debates, write_pages
from townsquare.pages.debates.tables import shown
from townsquare.pages.debates.transcript import write_transcript

EVIL = " ".join(HOSTILE.split())
SNAPSHOTS = Path(__file__).with_name("snapshots")


def held_in(folder: Path, over: dict[str, list[Any]], *layers: dict[str, Any]) -> DebateResults:
    return hold_debates([{"rounds": 2, "trials": 2}, *layers], arms_over(over), folder)


def hostile_bank(folder: Path) -> str:
    """A bank whose every argument is an attack, and an agreed lie about what it is called."""
    path = folder / "evil.jsonl"
    rows = [
        {"pool": pool, "side": side, "text": f"{EVIL} {side} {n}", "strength": 0.5, "tag": EVIL[:100]}
        for pool in ("seed", "debate")
        for side in ("pro", "con")
        for n in range(12)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> DebateResults:
    folder = tmp_path_factory.mktemp("hostile")
    layer = {"topic": hostile_bank(folder), "proposition": EVIL, "pro": {"persona": EVIL}, "evidence.own_claims": True}
    held = held_in(folder / "held", {"u": [0.2, 0.4]}, layer)
    write_pages(held)
    return held


def pages_of(held: DebateResults) -> list[Path]:
    return [held.folder / "report.html", *sorted(held.folder.glob("*/transcript.html"))]


def test_texts_are_shown_and_not_run(hostile):
    assert len(pages_of(hostile)) == 3
    for path in pages_of(hostile):
        page = path.read_text(encoding="utf-8")
        assert_self_contained(page)
        assert "<script>alert(1)</script>" in Elements(page).text
        assert "{{ 7 * 7 }}" in Elements(page).text
        assert "49" not in Elements(page).words


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1280])
def test_a_browser_runs_nothing_and_scrolls_one_way(hostile, browser, width):
    for path in pages_of(hostile):
        visit = Visit(browser, path, width)
        assert visit.heard == []
        assert visit.run("document.documentElement.scrollWidth") <= width


def test_a_turn_shows_stances_before_and_after_and_what_moved_them(tmp_path):
    held = held_in(tmp_path, {"u": [0.4]})
    page = Elements(write_transcript(held, held.arms[0]).read_text(encoding="utf-8")).text
    for record in held.records(held.arms[0]):
        for turn in record["turns"]:
            assert " ".join(turn["text"].split()) in page
            seat = turn["moves"][0]["seat"]
            before, after = (f"{turn[when][seat]:+.2f}".replace("-", "\u2212") for when in ("before", "after"))
            assert f"{before} → {after}" in page
        assert record["hash"] in page
    assert "in log odds): accepted" in page
    assert "Argue hard" in page or "Argue for" in page


def test_refused_and_replaced_records_are_told(tmp_path):
    seeds, debate = {"pool": "seed", "strength": 0.5}, {"pool": "debate"}
    copies = [
        row
        for side, again in (("pro", 0.4), ("con", 0.9))
        for n in range(12)
        for row in (
            {**seeds, "side": side, "text": f"{side} seed {n} words"},
            {**debate, "side": side, "text": f"{side} seed {n} words!", "strength": again},
        )
    ]
    path = tmp_path / "copies.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in copies), encoding="utf-8")
    held = held_in(tmp_path / "held", {"u": [0.4]}, {"topic": str(path), "proposition": "Tax it"})
    kinds = set(held.moves()["kind"])
    page = Elements(write_transcript(held, held.arms[0]).read_text(encoding="utf-8")).text
    assert {"refused", "archived"} & kinds
    assert "near-duplicate" in page


def test_baselines_say_that_no_record_moved_them(tmp_path):
    held = held_in(tmp_path, {"debater": ["belief_engine", "prompt_self_update"]})
    page = Elements(write_transcript(held, held.arms[1]).read_text(encoding="utf-8")).text
    assert "revised stance without a record" in page
    assert_worded(write_debates(held), SNAPSHOTS / "baselines.txt")


def test_a_sweep_shows_levels_and_says_whether_they_are_ordered(tmp_path):
    held = held_in(tmp_path, {"u": [0.2, 0.6, 1.0]}, {"preset": "single", "rounds": 6})
    assert_worded(write_debates(held), SNAPSHOTS / "sweep.txt")


def test_a_grid_has_its_table(tmp_path):
    held = held_in(tmp_path, {"topic": ["austerity", "adopt-atheism"], "pairing": ["open/open", "stubborn/stubborn"]})
    assert_worded(write_debates(held), SNAPSHOTS / "grid.txt")


def test_a_folder_without_debates_has_a_page_too(tmp_path):
    held = held_in(tmp_path, {"u": [0.2]})
    for file in tmp_path.glob("*/trial-*.json"):
        file.unlink()
    assert_worded(write_pages(DebateResults.open(tmp_path)), SNAPSHOTS / "nothing.txt")
    assert held.arms


def test_levels_are_compared_trial_by_trial_where_one_failed(tmp_path):
    held = held_in(tmp_path, {"u": [0.2, 0.6]}, {"trials": 4})
    first = held.arms[0]
    held.trial_file(first, 2).unlink()
    held = DebateResults.open(tmp_path)
    ends = [{record["trial"]: record["turns"][-1]["after"][0] for record in held.records(arm)} for arm in held.arms]
    assert [sorted(of_arm) for of_arm in ends] == [[1, 3, 4], [1, 2, 3, 4]]
    page = write_debates(held).read_text(encoding="utf-8")
    assert shown("shift", Estimate.of([ends[1][trial] - ends[0][trial] for trial in ends[0]])) in Elements(page).text
    assert "stances over 2 rounds" in page
