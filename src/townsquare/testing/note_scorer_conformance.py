"""Conformance check of note scorers, for anyone's scorer."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from townsquare.core.array_types import Float, Int32, Int64
from townsquare.core.enums import NoteStatus
from townsquare.core.schema import NONE
from townsquare.core.threads import threads_for
from townsquare.settings.config import MemberParams
from townsquare.simulation.moderation.note_scorers.contract import (
    FAMILY,
    ChosenNoteScorer,
    NoteRatings,
    NoteScorer,
    NoteScores,
)
from townsquare.simulation.moderation.notes import rated_notes
from townsquare.testing.busy_world import busy_world
from townsquare.testing.member_calls import MemberUnderTest

CLOSE = 1e-6
"""How far numbers may differ where sums are taken in another order."""


@threads_for(0)
def check_note_scorer(scorer: NoteScorer, params: MemberParams | None = None, seed: int = 0) -> None:
    """Raise if a note scorer breaks its contract.

    Checked, without notes, on a busy world and on 60 raters of two camps, where each result is the ``previous`` of a
    second call with more ratings: one known status, and one finite number or NaN, a note; the same call gives the same;
    the order of ratings and the numbers of notes have no effect (numbers within 1e-6); nothing is written to.

    Parameters
    ----------
    scorer : NoteScorer
        Registered or not.
    params : MemberParams, optional
        Its settings; the defaults if not given.
    seed : int
        Of the ratings.

    Raises
    ------
    ContractError
        For the first thing that broke.
    """
    test = MemberUnderTest.of(FAMILY, scorer, params)
    chosen = ChosenNoteScorer(test.member, test.params)
    rng = np.random.default_rng(seed)
    for ratings in (*(rated_notes(busy_world(seed, steps).world) for steps in (0, 5)), _two_camps(rng)):
        n = ratings.n_notes
        previous = NoteScores(np.full(n, NoteStatus.PENDING, np.uint8), np.full(n, np.nan), np.full(n, np.nan))
        for now in (ratings.now - 1, ratings.now):
            earlier = ratings.step < now if now < ratings.now else np.ones(ratings.note.size, np.bool_)
            given = replace(_rows(ratings, np.flatnonzero(earlier)), now=now)
            previous = _check_scores(test, chosen, given, previous, rng)


def _check_scores(
    test: MemberUnderTest, chosen: ChosenNoteScorer, given: NoteRatings, previous: NoteScores, rng: np.random.Generator
) -> NoteScores:
    """Check one call, and return what it gave."""
    for array in (*_columns(given).values(), *_columns(previous).values()):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    scores, again = (chosen.scores(given, previous) for _ in range(2))
    test.check_same("the same call twice gives other", _columns(scores), _columns(again), "a pure function")
    other_order = chosen.scores(_rows(given, rng.permutation(given.note.size)), previous)
    _check_close(test, scores, other_order, "ratings in another order")
    new_number = rng.permutation(given.n_notes)  # of note k now
    renumbered = chosen.scores(_renumbered(given, new_number), _taken(previous, np.argsort(new_number)))
    _check_close(test, scores, _taken(renumbered, new_number), "notes with other numbers")
    return scores


def _check_close(test: MemberUnderTest, first: NoteScores, second: NoteScores, what: str) -> None:
    differs = first.status != second.status
    for a, b in ((first.intercept, second.intercept), (first.factor, second.factor)):
        differs |= ~np.isclose(a, b, rtol=0, atol=CLOSE, equal_nan=True)
    if differs.any():
        at = int(np.argmax(differs))
        was, now = (f"{s.status[at]}, {s.intercept[at]:.6g}, {s.factor[at]:.6g}" for s in (first, second))
        raise test.broken(f"{what} give note {at} another score: {now} for {was}", f"the same, within {CLOSE:g}")


def _columns(given: NoteRatings | NoteScores) -> dict[str, object]:
    return {column.name: getattr(given, column.name) for column in fields(given)}


def _rows(ratings: NoteRatings, rows: Int64) -> NoteRatings:
    """Return some ratings of the same notes."""
    some = {name: getattr(ratings, name)[rows] for name in ("note", "rater", "value", "step")}
    helpful, not_helpful = _counted(some["note"], some["value"], ratings.n_notes)
    return replace(ratings, **some, helpful=helpful, not_helpful=not_helpful)


def _counted(note: Int32, value: Float, n: int) -> tuple[Int32, Int32]:
    """Return helpful and not helpful ratings of each note."""
    helpful, not_helpful = (np.bincount(note[value == rating], minlength=n).astype(np.int32) for rating in (1.0, 0.0))
    return helpful, not_helpful


def _renumbered(ratings: NoteRatings, new_number: Int64) -> NoteRatings:
    """Return the same notes, of which the k-th is now the one at ``place[k]``."""
    order = np.argsort(new_number)
    names = ("author", "written", "decided", "settled", "helpful", "not_helpful")
    notes = {name: getattr(ratings, name)[order] for name in names}
    return replace(ratings, note=new_number[ratings.note].astype(np.int32), **notes)


def _taken(scores: NoteScores, rows: Int64) -> NoteScores:
    return NoteScores(scores.status[rows], scores.intercept[rows], scores.factor[rows])


def _two_camps(rng: np.random.Generator, raters: int = 60, notes: int = 30) -> NoteRatings:
    """Return ratings by two camps: a third of the notes please both, a third one, a third neither; two have none."""
    rater, note = (each.ravel() for each in np.mgrid[:raters, : notes - 2])
    rated = rng.random(note.size) < 0.6
    rater, note = rater[rated], note[rated]
    camp, kind = rater % 2, note % 3
    liking = np.select([kind == 0, kind == 1], [0.85, np.where(camp == note // 3 % 2, 0.9, 0.1)], 0.15)
    u = rng.random(note.size)
    value = np.where(u < liking, 1.0, np.where(u < liking + 0.1, 0.5, 0.0))
    none = np.full(notes, NONE, np.int32)
    return NoteRatings(
        note.astype(np.int32), rater.astype(np.int32), value, rng.integers(1, 5, note.size, dtype=np.int32),
        rng.integers(0, raters, notes, dtype=np.int32), np.zeros(notes, np.int32), none, none,
        *_counted(note, value, notes), 24,
    )  # fmt: skip
