"""The desk in whole runs: every response is recorded, resumed, reported, inspected, exported and shown."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from townsquare.analysis.moderation import added_kinds, labels, moderation, moderation_events
from townsquare.cli import main
from townsquare.core.enums import LogKind, Verdict
from townsquare.pages.report.moderation import moderation_section
from townsquare.pages.view import post_queries
from townsquare.record.run import Run

RESPONSES = ("label", "note", "takedown", "downrank")
EVENT = {"label": "verdict false", "note": "note shown", "takedown": "taken down", "downrank": "downranked"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("desk")


@pytest.fixture(scope="module")
def runs(folder: Path) -> dict[str, Run]:
    """One run with each response, over the same seed."""
    for response in RESPONSES:
        given = {
            "agents": 60, "steps": 12, "moderation.strategy": "desk", "moderation.response": response,
            "moderation.delay_median": 4,
        }  # fmt: skip
        words = [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
        assert main(["run", "health-rumor@1", *words, "--out", str(folder / response), "--quiet"]) == 0
    return {response: Run.open(folder / response) for response in RESPONSES}


def test_all_responses_hit_the_same_posts_in_the_same_steps(runs: dict[str, Run]) -> None:
    def ruled(response: str) -> set[tuple[int, int]]:
        log, posts = runs[response].table("moderation_log"), runs[response].table("posts").select("post", "key")
        kind = LogKind.VERDICT if response in ("label", "takedown") else LogKind[f"{response.upper()}ED"]
        return set(log.filter(pl.col("kind") == kind).join(posts, on="post").select("key", "step").rows())

    assert ruled("label") == ruled("takedown") == ruled("downrank")
    assert ruled("label")
    noted = runs["note"].table("notes").join(runs["note"].table("posts").select("post", "key"), on="post")
    assert set(noted.select("key", "step").rows()) == ruled("label")


@pytest.mark.parametrize("response", RESPONSES)
def test_the_record_verifies_and_the_report_names_what_was_done(
    response: str, runs: dict[str, Run], folder: Path
) -> None:
    run = runs[response]
    assert run.verify() == run.content_hash
    assert EVENT[response] in moderation_events(run)["event"].to_list()
    assert moderation(run)["tp"].item() == labels(run).filter("positive", veracity="false").height > 0
    assert moderation(run)["fp"].item() == 0
    assert added_kinds(run) == frozenset()
    text = " ".join(moderation_section(run).says)
    assert "Moderation (desk) marked" in text
    assert (folder / response / "report.html").exists()


def test_only_a_label_and_a_takedown_show_verdicts(runs: dict[str, Run]) -> None:
    for response in ("note", "downrank"):
        assert runs[response].table("verdicts").height == 0
        assert (runs[response].table("exposures")["verdict"] == Verdict.NONE).all()
    assert (runs["label"].table("exposures")["verdict"] == Verdict.FALSE).any()
    assert (runs["note"].table("exposures")["note"] >= 0).any()
    assert (runs["downrank"].table("exposures")["weight"] == 1).all()
    for run in runs.values():
        assert (run.table("exposures")["offered"] == -1).all()


@pytest.mark.parametrize("response", RESPONSES)
def test_inspect_and_export_read_it(
    response: str, runs: dict[str, Run], folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(folder / response)
    assert main(["inspect", path, "--verify"]) == 0
    assert "desk" in capsys.readouterr().out
    assert main(["export", path, "--to", "csv", "--out", str(tmp_path / "csv")]) == 0
    assert main(["resume", path]) == 0


def test_the_view_of_notes_names_no_author_from_outside(runs: dict[str, Run]) -> None:
    rows = runs["note"].sql("SELECT DISTINCT author_id FROM community_notes").rows()
    assert rows == [(None,)]


def test_the_viewer_shows_a_note_without_an_author(runs: dict[str, Run]) -> None:
    run = runs["note"]
    root = int(run.table("notes")["post"][0])
    rows = post_queries.notes_of(run, root)
    assert rows.select("author", "shown", "status").rows() == [(-1, True, "shown")]
    assert rows["content"].item()
    assert rows["who"].to_list() == ["outside the simulated public"]
