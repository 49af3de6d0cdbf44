"""What the notes view is made of: the plane of a step, raters by side, and why a note is shown or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from running_viewer import ask, data, record, record_notes
from townsquare.core.enums import LogKind, NoteStatus
from townsquare.experiments.note_attack import smaller_side
from townsquare.pages.view.serving import serving
from townsquare.record.run import Run

STEP = 48  # with a fit from a new start, as the view makes it


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("runs")
    record_notes(parent / "notes")
    record(parent / "threshold", moderation={"strategy": "community"})
    return parent


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with serving(folder) as where:
        yield where


@pytest.mark.parametrize("step", [STEP, 72])
def test_the_plane_of_a_step_holds_what_was_recorded_by_then(url: str, folder: Path, step: int) -> None:
    run = Run.open(folder / "notes")
    states = pl.DataFrame(data(url, "/api/notes-at", run="notes", step=step)["notes"], infer_schema_length=None)
    written = run.table("notes").filter(pl.col("step") <= step)
    assert states["note"].to_list() == written["note"].to_list()
    scores = run.table("note_scores").filter(pl.col("step") <= step).group_by("note").last().sort("note")
    drawn = states.drop_nulls("intercept").sort("note")
    recorded = scores.filter(pl.col("intercept").is_not_nan())
    assert drawn["intercept"].to_list() == pytest.approx(recorded["intercept"].to_list(), abs=1e-4)
    words = {word: int(NoteStatus[word.upper()]) for word in ("pending", "shown", "not_helpful")}
    assert [words[status] for status in drawn["status"]] == recorded["status"].to_list()
    ratings = run.table("note_ratings").filter(pl.col("step") <= step)
    assert states.select("helpful", "somewhat", "not_helpful").sum().sum_horizontal().item() == ratings.height


@pytest.mark.parametrize("step", [STEP, 72])
def test_rounds_scored_again_give_the_numbers_and_statuses_of_the_record(url: str, step: int) -> None:
    notes = data(url, "/api/notes-at", run="notes", step=step)["notes"]
    statuses = set()
    for note, status, intercept, factor in zip(
        *(notes[name] for name in ("note", "status", "intercept", "factor")), strict=True
    ):
        why = data(url, "/api/note", run="notes", note=note, step=step)
        if intercept is None:
            continue
        assert why["rounds"]["intercept"] == pytest.approx(intercept, abs=1e-4)
        assert why["rounds"]["factor"] == pytest.approx(factor, abs=1e-4)
        assert why["rounds"]["status"] == status
        assert all(each["holds"] for each in why["conditions"]) == (status == "shown")
        statuses.add(status)
    assert statuses == {"shown", "pending", "not_helpful"}


def test_ratings_by_side_are_all_ratings_of_the_note(url: str, folder: Path) -> None:
    run = Run.open(folder / "notes")
    note = int(run.table("note_ratings")["note"].mode()[0])
    given_to = run.table("note_ratings").filter(pl.col("note") == note)
    why = data(url, "/api/note", run="notes", note=note)
    raters = pl.DataFrame(data(url, "/api/notes-at", run="notes")["raters"])
    sides = {row.pop("side"): row for row in why["sides"]}
    assert sum(sum(row.values()) for row in sides.values()) == given_to.height
    given = given_to.join(raters.filter("passed").with_columns(pl.col("agent").cast(pl.Int32)), on="agent")
    assert sum(sides["left"].values()) == given.filter(pl.col("factor") < 0).height
    assert sides["right"]["helpful"] == given.filter((pl.col("factor") >= 0) & "helpful").height
    known = raters["factor"].drop_nulls()
    left = (known < 0).sum()
    share = min(left, known.len() - left) / known.len()
    assert share == pytest.approx(smaller_side(run), abs=0.1)


def test_the_history_of_a_note_has_each_change_that_the_log_has(url: str, folder: Path) -> None:
    log = Run.open(folder / "notes").table("moderation_log").filter(pl.col("kind") == LogKind.NOTE_SHOWN)
    note = int(log["value"][0])
    history = data(url, "/api/note", run="notes", note=note)["history"]
    shown = [row["step"] for row in history if row["what"] == "note_shown"]
    assert shown == log.filter(pl.col("value") == note)["step"].to_list()
    assert [row["step"] for row in history] == sorted(row["step"] for row in history)


def test_other_scorers_have_no_plane_and_notes_must_exist(url: str) -> None:
    known = data(url, "/api/notes", run="threshold")
    assert (known["scorer"], known["thresholds"]) == ("threshold", None)
    assert data(url, "/api/notes-at", run="threshold")["raters"]["agent"] == []
    assert data(url, "/api/note", run="threshold", note=0, step=4)["rounds"] is None
    assert ask(url, "/api/note", run="notes", note=10_000)[0] == 400
    for name in ("plane", "raters"):
        status, body, _ = ask(url, f"/csv/{name}", run="notes", step=STEP)
        assert status == 200
        assert body.count(b"\n") > 10
