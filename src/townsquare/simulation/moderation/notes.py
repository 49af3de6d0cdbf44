"""Shows and withdraws community notes by the scores of the chosen scorer, and records these."""

from __future__ import annotations

import numpy as np

from townsquare.core import schema
from townsquare.core.actions import ActionKind
from townsquare.core.array_types import Bool, Float, Int64
from townsquare.core.enums import LogKind, NoteStatus
from townsquare.simulation.moderation.log import joined, logged
from townsquare.simulation.moderation.note_scorers.contract import ChosenNoteScorer, NoteRatings, NoteScores
from townsquare.simulation.world import World

NOTE_KINDS = frozenset({ActionKind.ADD_NOTE, ActionKind.RATE_NOTE})


def review_notes(world: World, scorer: ChosenNoteScorer) -> schema.ByTable:
    """Log rows for notes that the scorer shows, and for shown ones that it no longer does; and rows of note_scores.

    Notes from outside the simulated public (author -1) have no ratings; they stay as they are.

    A note has a row of note_scores when its status, intercept or factor changed. It has none where it got no number,
    had none, and went from pending to shown or back: the log says that.
    """
    ratings, before = rated_notes(world), scores_before(world)
    scores = _without_outside(scorer.scores(ratings, before), before, world.notes["author"] < 0)
    shown = scores.status == NoteStatus.SHOWN
    changed = np.flatnonzero(shown != (before.status == NoteStatus.SHOWN))
    kinds = np.where(shown[changed], LogKind.NOTE_SHOWN, LogKind.NOTE_WITHDRAWN)
    reasons = _reasons(world, scores, changed)
    log = logged(world, world.notes["post"][changed], kinds, reasons, changed.astype(np.float64))
    return joined(log, _recorded(world, before, scores))


def _without_outside(scores: NoteScores, before: NoteScores, outside: Bool) -> NoteScores:
    """Return scores in which notes from outside are as before."""
    if not outside.any():
        return scores
    names = ("status", "intercept", "factor")
    return NoteScores(*(np.where(outside, getattr(before, name), getattr(scores, name)) for name in names))


def rated_notes(world: World) -> NoteRatings:
    """Return every note and rating of the world, as a scorer takes them."""
    given, notes = world.note_ratings, world.notes
    return NoteRatings(
        given["note"], given["agent"], given["rating"], given["step"], notes["author"], notes["step"],
        notes["decided"], notes["settled"], notes["helpful"], notes["not_helpful"], world.step + 1,
    )  # fmt: skip


def scores_before(world: World) -> NoteScores:
    """Return the scores of notes from the step before."""
    return NoteScores(*(world.notes[name] for name in ("status", "intercept", "factor")))


def _recorded(world: World, before: NoteScores, scores: NoteScores) -> schema.ByTable:
    changed = scores.status != before.status
    says_more = (scores.status == NoteStatus.NOT_HELPFUL) | (before.status == NoteStatus.NOT_HELPFUL)
    for old, new in ((before.intercept, scores.intercept), (before.factor, scores.factor)):
        changed |= _differ(old, new)
        says_more |= ~np.isnan(old) | ~np.isnan(new)
    note = np.flatnonzero(changed & says_more)
    columns = {name: getattr(scores, name)[note] for name in ("status", "intercept", "factor")}
    rows = schema.rows("note_scores", note.size, step=world.step + 1, note=note, **columns)
    return {"note_scores": rows} if note.size else {}


def _differ(old: Float, new: Float) -> Bool:
    """Return where two columns hold different numbers, NaN being equal to NaN."""
    return np.asarray((old != new) & ~(np.isnan(old) & np.isnan(new)))


def _reasons(world: World, scores: NoteScores, notes: Int64) -> list[str]:
    """Return the reasons that the log gives for showing notes, or for withdrawing them."""
    columns = [world.notes[name][notes].tolist() for name in ("helpful", "somewhat", "not_helpful")]
    reasons = []
    for helpful, somewhat, not_helpful, intercept in zip(*columns, scores.intercept[notes].tolist(), strict=True):
        parts = [f"{helpful} helpful", f"{somewhat} somewhat" * (somewhat > 0), f"{not_helpful} not helpful"]
        parts.append("" if np.isnan(intercept) else f"intercept {intercept:.2f}")
        reasons.append(", ".join(filter(None, parts)))
    return reasons
