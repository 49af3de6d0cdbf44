"""The scorer ``bridging``: equal to Community Notes' own, and what must not change its results."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from raised_errors import raises_error
from repository import ROOT, SHARED, unpack
from townsquare.cli import main
from townsquare.core.array_types import Array, Float
from townsquare.core.enums import NoteStatus
from townsquare.core.errors import DataError
from townsquare.experiments.note_ratings import check, score_notes
from townsquare.simulation.moderation.note_scorers.bridging import SCORER, NoteResults, Params, RatedNotes, note_results
from townsquare.simulation.moderation.note_scorers.contract import ChosenNoteScorer, NoteRatings, NoteScores
from townsquare.simulation.moderation.note_scorers.factorization import Fit, Penalty, fit

SETS = ("s05_coordinated_attack", "s06_few_ratings", "s07_tags_history")
ALL_SETS = SHARED / "data" / "community_notes_golden"
PENALTY = Penalty(0.15, 0.03)


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made ratings with the scores and statuses that the published scorer (commit 273c895) gives them."""
    folder = tmp_path_factory.mktemp("golden")
    unpack(ROOT / "tests" / "data" / "community-notes.tar.xz", folder)
    return folder


def _is_close(result: dict[str, float | str | None]) -> None:
    found = {name: value for name, value in result.items() if isinstance(value, float)}
    assert found["first_difference"] <= 1e-3
    assert found["first_correlation"] >= 0.9995
    assert found["thresholds_clear"] == 1
    assert found["thresholds"] >= 0.98
    assert found["status"] >= 0.96
    assert found["difference"] <= 0.02


@pytest.mark.parametrize("name", SETS)
def test_scores_and_statuses_are_those_of_the_published_scorer(golden: Path, name: str) -> None:
    _is_close(check(golden / name))


@pytest.mark.skipif(not ALL_SETS.exists(), reason="the other sets are not in the repository")
def test_other_sets_agree_too() -> None:
    for folder in sorted(ALL_SETS.glob("s0[12378]*")):
        _is_close(check(folder))
    assert check(ALL_SETS / "s04_no_polarity")["loss"] == pytest.approx(
        0.11876288, abs=1e-5
    )  # two optima, by loss alone


def _town(seed: int, raters: int = 80, notes: int = 30, per_rater: int = 14) -> RatedNotes:
    """Two camps: a third of the notes please both, a third one camp, a third nobody."""
    rng = np.random.default_rng(seed)
    note = np.concatenate([rng.choice(notes, per_rater, replace=False) for _ in range(raters)]).astype(np.int32)
    rater = np.repeat(np.arange(raters, dtype=np.int32), per_rater)
    camp, kind = rater % 2, note % 3
    liking = np.select([kind == 0, kind == 1], [0.95, np.where(camp == note // 3 % 2, 0.95, 0.05)], 0.05)
    value = np.where(rng.random(note.size) < liking, 1.0, 0.0)
    everything, none = np.ones(note.size, np.bool_), np.zeros((note.size, 0), np.bool_)
    author = np.full(notes, raters, np.int32)
    return RatedNotes(
        note, rater, value, everything, author, np.ones(notes, np.bool_), np.zeros(notes, np.uint8), none, raters
    )


def _results(rows: RatedNotes) -> NoteResults:
    found = note_results(rows, Params())
    assert found is not None
    return found


def test_notes_that_both_camps_find_helpful_are_shown_and_no_others() -> None:
    found = _results(_town(1))
    shown = np.flatnonzero(found.status == NoteStatus.SHOWN)
    assert shown.size >= 8
    assert set(shown % 3) == {0}
    assert set(np.flatnonzero(found.status == NoteStatus.NOT_HELPFUL) % 3) == {2}
    assert 0.4 < found.smaller_side <= 0.5


def _loss(values: Float, rows: RatedNotes) -> float:
    """The loss as the paper states it and the code weighs it, in plain sums."""
    u, n = rows.raters, rows.notes
    mean, i_u, f_u, i_n, f_n = values[0], *np.split(values[1:], np.cumsum([u, u, n]))
    squares = [
        (rows.value[k] - mean - i_u[r] - i_n[m] - f_u[r] * f_n[m]) ** 2
        for k, (m, r) in enumerate(zip(rows.note.tolist(), rows.rater.tolist(), strict=True))
    ]
    intercepts = mean**2 + sum(i_u**2) / u + sum(i_n**2) / n
    return float(sum(squares) / len(squares) + 0.15 * intercepts + 0.03 * (sum(f_u**2) / u + sum(f_n**2) / n))


def test_the_fit_is_an_optimum_of_the_stated_loss() -> None:
    rows = _town(2, raters=12, notes=8, per_rater=6)
    found = fit(rows.note, rows.rater, rows.value, PENALTY, notes=rows.notes, raters=rows.raters)
    values = np.concatenate([[found.mean], *found.raters, *found.notes])
    assert _loss(values, rows) == pytest.approx(found.loss, abs=1e-12)
    better = scipy.optimize.minimize(_loss, values, args=(rows,), method="L-BFGS-B", options={"maxiter": 30})
    assert better.fun > found.loss - 1e-7


def _fit(rows: RatedNotes, rater: np.ndarray | None = None) -> Fit:
    return fit(
        rows.note, rows.rater if rater is None else rater, rows.value, PENALTY, notes=rows.notes, raters=rows.raters
    )


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_camps_that_change_names_change_signs_and_nothing_else(seed: int) -> None:
    rows = _town(3)
    renamed = np.random.default_rng(seed).permutation(rows.raters).astype(np.int32)
    first, second = _fit(rows), _fit(rows, renamed[rows.rater])
    np.testing.assert_allclose(first.notes.intercept, second.notes.intercept, atol=1e-5)
    np.testing.assert_allclose(np.abs(first.notes.factor), np.abs(second.notes.factor), atol=1e-5)
    np.testing.assert_allclose(first.raters.intercept, second.raters.intercept[renamed], atol=1e-5)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_the_order_of_ratings_has_no_effect(seed: int) -> None:
    rows = _town(4)
    order = np.random.default_rng(seed).permutation(rows.note.size)
    mixed = replace(
        rows, note=rows.note[order], rater=rows.rater[order], value=rows.value[order], timely=rows.timely[order],
        tagged=rows.tagged[order],
    )  # fmt: skip
    first, second = _results(rows), _results(mixed)
    assert first.status.tolist() == second.status.tolist()
    assert first.notes.intercept.tolist() == second.notes.intercept.tolist()


def test_a_rater_who_rates_all_notes_alike_moves_them_alike() -> None:
    rows = _town(5)
    n = rows.notes
    more = replace(
        rows, note=np.r_[rows.note, np.arange(n, dtype=np.int32)],
        rater=np.r_[rows.rater, np.full(n, rows.raters, np.int32)], value=np.r_[rows.value, np.ones(n)],
        timely=np.r_[rows.timely, np.ones(n, np.bool_)], tagged=np.zeros((rows.note.size + n, 0), np.bool_),
        raters=rows.raters + 1,
    )  # fmt: skip
    before, after = _results(rows), _results(more)
    assert before.status.tolist() == after.status.tolist()
    moved = after.notes.intercept - before.notes.intercept
    assert np.ptp(moved) < 0.03


@pytest.mark.parametrize(
    ("ratings", "where", "got"),
    [
        ("rater,note\n1,2\n", "ratings.csv", "no column 'helpfulness'"),
        ("rater,note,helpfulness\n1,2,often\n", "row 1, column 'helpfulness'", "'often'"),
        ("rater,note,helpfulness\n1,2,1\n1,3,0.7\n", "row 2, column 'helpfulness'", "'0.7'"),
        ("rater,note,helpfulness\n1,2,1\n1,2,0\n", "row 2", "a second rating"),
        ("rater,note,helpfulness\n1,2,1\n", "ratings.csv", "1 ratings"),
    ],
)
def test_wrong_tables_of_ratings(tmp_path: Path, ratings: str, where: str, got: str) -> None:
    (tmp_path / "ratings.csv").write_text(ratings)
    with raises_error(DataError, where=where, got=got):
        score_notes(tmp_path)


def test_a_note_that_is_described_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("rater,note,helpfulness\n1,2,1\n")
    (tmp_path / "notes.csv").write_text("note,author\n2,1\n3,1\n2,4\n")
    with raises_error(DataError, where=r"notes\.csv, row 3", allowed="one row per note"):
        score_notes(tmp_path)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("raters", "notes"), [(0, 0), (0, 3), (1, 1), (1, 12), (12, 1), (12, 12)])
def test_ratings_that_say_little_give_pending_notes_or_one_status_and_no_warning(
    raters: int, notes: int, value: float
) -> None:
    rater, note = (grid.ravel().astype(np.int32) for grid in np.indices((raters, notes)))
    n, author = rater.size, np.full(notes, raters, np.int32)
    rows = RatedNotes(
        note, rater, np.full(n, value), np.ones(n, np.bool_), author, np.ones(notes, np.bool_),
        np.zeros(notes, np.uint8), np.ones((n, 1), np.bool_), raters,
    )  # fmt: skip
    for least in (1, 5):
        found = note_results(rows, Params(note_ratings_at_least=least, rater_ratings_at_least=least))
        assert found is None or len(set(found.status.tolist())) <= 1


def test_a_locked_note_stays_as_it_is_when_too_few_ratings_count() -> None:
    nobody, note, decided = np.zeros(0, np.int32), np.zeros(2, np.int32), np.array([1, 9], np.int32)
    ratings = NoteRatings(nobody, nobody, np.zeros(0), nobody, note, note, decided, decided, note, note, now=10)
    previous = NoteScores(np.full(2, NoteStatus.SHOWN, np.uint8), np.full(2, 0.5), np.zeros(2))
    found = ChosenNoteScorer(SCORER, Params(lock_after=8)).scores(ratings, previous)
    assert found.status.tolist() == [NoteStatus.SHOWN] * 2
    found = ChosenNoteScorer(SCORER, Params(lock_after=11)).scores(ratings, previous)
    assert found.status.tolist() == [NoteStatus.PENDING] * 2


def _scores_at(rows: RatedNotes, step: Array, now: int, stable_for: int = 0) -> NoteScores:
    """Return the scores of a step from the ratings up to it."""
    given, pending = step <= now, np.full(rows.notes, -1, np.int32)
    value, note = rows.value[given], rows.note[given]
    helpful, low = (np.bincount(note[value == of], minlength=rows.notes).astype(np.int32) for of in (1, 0))
    ratings = NoteRatings(
        note, rows.rater[given], value, step[given], rows.author, np.zeros(rows.notes, np.int32), pending, pending,
        helpful, low, now,
    )  # fmt: skip
    before = NoteScores(rows.status, *np.full((2, rows.notes), np.nan))
    return ChosenNoteScorer(SCORER, Params(raters_every=10, stable_for=stable_for)).scores(ratings, before)


def test_between_two_fits_of_raters_a_note_moves_by_its_own_ratings_alone() -> None:
    rows = _town(5)
    late = (rows.note == 0) & (rows.rater >= 40)  # half of the ratings of note 0 come after the fit at step 10
    more = replace(
        rows, note=np.r_[rows.note, 1].astype(np.int32), rater=np.r_[rows.rater, rows.raters].astype(np.int32),
        value=np.r_[rows.value, 0.0], timely=np.ones(rows.note.size + 1, np.bool_), raters=rows.raters + 1,
        tagged=np.zeros((rows.note.size + 1, 0), np.bool_),
    )  # fmt: skip
    step = np.r_[np.where(late, 11, 9), 11].astype(np.int32)
    at_fit, between, next_fit = (_scores_at(more, step, now) for now in (10, 12, 20))
    assert (at_fit.intercept[0], at_fit.factor[0]) != (between.intercept[0], between.factor[0])
    assert np.array_equal(at_fit.intercept[1:], between.intercept[1:])  # a new rater does not count yet
    assert np.array_equal(at_fit.status[1:], between.status[1:])
    assert np.array_equal(next_fit.intercept, note_results(more, Params()).notes.intercept)  # type: ignore[union-attr]
    for now, found in ((10, at_fit), (12, between)):  # what was fitted before does not matter
        assert np.array_equal(_scores_at(more, step, now).intercept, found.intercept)


def test_a_note_is_shown_once_its_ratings_have_found_it_helpful_for_a_while() -> None:
    rows = _town(7)
    shown = np.flatnonzero(_scores_at(rows, np.full(rows.note.size, 10, np.int32), 10).status == NoteStatus.SHOWN)
    note = int(shown[0])
    helpful = (rows.note == note) & (rows.value == 1)
    step = np.where(helpful & (np.cumsum(helpful) > 4), 12, 10).astype(np.int32)  # most of its praise comes at step 12
    for stable_for, first in ((0, 12), (3, 15)):
        seen = [
            now for now in range(10, 18) if _scores_at(rows, step, now, stable_for).status[note] == NoteStatus.SHOWN
        ]
        assert seen == list(range(first, 18))
    kept = replace(rows, status=np.full(rows.notes, NoteStatus.SHOWN, np.uint8))
    assert _scores_at(kept, step, 12, 3).status[note] == NoteStatus.SHOWN  # a shown note stays without waiting


def test_nothing_is_scored_before_the_first_fit_of_raters() -> None:
    rows = _town(6)
    found = _scores_at(rows, np.full(rows.note.size, 1, np.int32), 9)
    assert np.isnan(found.intercept).all()
    assert set(found.status.tolist()) == {NoteStatus.PENDING}


def test_published_column_names_and_levels_are_understood(golden: Path, tmp_path: Path) -> None:
    levels = {"1.0": "HELPFUL", "0.5": "SOMEWHAT_HELPFUL", "0.0": "NOT_HELPFUL"}
    lines = (golden / "s06_few_ratings" / "ratings.csv").read_text().splitlines()[1:]
    cells = [line.split(",") for line in lines]
    head = "noteId\traterParticipantId\thelpfulnessLevel\tcreatedAtMillis"
    table = "\n".join([head, *(f"{note}\t{rater}\t{levels[value]}\t{time}" for rater, note, value, time, *_ in cells)])
    (tmp_path / "public.tsv").write_text(table)
    ours = score_notes(golden / "s06_few_ratings").results.people.first.notes.intercept
    theirs = score_notes(tmp_path / "public.tsv").results.people.first.notes.intercept
    np.testing.assert_allclose(np.sort(theirs[~np.isnan(theirs)]), np.sort(ours[~np.isnan(ours)]), atol=1e-6)


def test_the_command_scores_and_compares(golden: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["notes", "score", str(golden / SETS[1]), "--out", str(tmp_path / "scored")]) == 0
    assert "on the smaller side" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "scored").iterdir()} == {"notes.csv", "raters.csv"}
    assert main(["notes", "score", str(golden), "--check", "--json"]) == 0
    assert [row["folder"] for row in json.loads(capsys.readouterr().out)] == list(SETS)


def test_a_check_without_ratings_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "public.csv").write_text("rater,note,helpfulness\na,1,1\n")
    for path in (tmp_path, tmp_path / "public.csv"):
        assert main(["notes", "score", str(path), "--check"]) == 2
        assert "no ratings.csv" in capsys.readouterr().err
