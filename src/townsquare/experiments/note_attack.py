"""How many coordinated raters flip a helpful note: recorded ratings of runs, scored again with raters added.

A ring rates one shown note not helpful. Before, each of its members rated other notes as most raters did, so that it
counts as a rater. Everybody else's ratings stay as recorded, and both scorers start from the same ratings.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import polars as pl

from townsquare.analysis.contract import Reads, columns, setting
from townsquare.core.array_types import Array, Bool, Int64
from townsquare.core.enums import NoteStatus
from townsquare.core.schema import NONE
from townsquare.simulation.moderation.note_scorers import bridging, threshold
from townsquare.simulation.moderation.note_scorers.contract import NoteRatings, NoteScores

FEW_ON_ONE_SIDE = 0.15  # of raters: below it, statuses of the bridging scorer mean little
SHARES = (0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3)
RECORD = 12  # notes that a member rated before the attack


def ratings_of(run: Reads) -> bridging.RatedNotes:
    """Return all ratings that people of a run gave, as the rules of the bridging scorer take them."""
    given, author = run.table("note_ratings"), run.table("notes")["author"].to_numpy()
    note, rater = given["note"].to_numpy(), given["agent"].to_numpy()
    value = given["rating"].fill_nan(None).fill_null(given["helpful"].cast(pl.Float64)).to_numpy()
    raters = int(max(rater.max(initial=NONE), author.max(initial=NONE))) + 1
    misleading, status = np.ones(author.size, np.bool_), np.zeros(author.size, np.uint8)
    timely, tags = np.ones(note.size, np.bool_), np.zeros((note.size, 0), np.bool_)
    return bridging.RatedNotes(note, rater, value, timely, author, misleading, status, tags, raters)


def smaller_side(run: Reads) -> float | None:
    """Return the share of raters on the smaller side of the factor; None without the bridging scorer or ratings."""
    if setting(run, "moderation", "note_scorer") != "bridging":
        return None
    results = bridging.note_results(ratings_of(run), bridging.Params())
    return None if results is None else results.smaller_side


def attack(runs: Iterable[Reads], shares: Iterable[float] = SHARES) -> pl.DataFrame:
    """Return which shown notes of runs a ring of each size flips, one row per run, scorer, note and size.

    Returns
    -------
    DataFrame
        ``run`` (number), ``scorer``, ``note``, ``share`` (of the rater base), ``ring`` (raters), ``flipped`` (bool).
    """
    rows = []
    for number, run in enumerate(runs):
        before = ratings_of(run)
        base = int(np.unique(before.rater).size)
        for scorer, shown_of in (("threshold", _by_threshold), ("bridging", _by_bridging)):
            shown = shown_of(before)
            start = replace(before, status=np.where(shown, NoteStatus.SHOWN, NoteStatus.PENDING).astype(np.uint8))
            for note in np.flatnonzero(shown).tolist():
                stays = True
                for share in shares:
                    ring = max(1, round(share * base))
                    stays = stays and bool(shown_of(_attacked(start, note, ring))[note])
                    rows.append((number, scorer, note, share, ring, not stays))
    schema = columns("run:row scorer:str note:row share ring:row") | {"flipped": pl.Boolean()}
    return pl.DataFrame(rows, schema, orient="row")


def _attacked(before: bridging.RatedNotes, note: int, ring: int) -> bridging.RatedNotes:
    """Return the ratings with those of a ring, whose members have a record of ratings as most raters gave."""
    everything = np.ones(before.note.size, np.bool_)
    mean = before.per_note(everything, before.value) / np.maximum(before.per_note(everything), 1)
    others = np.flatnonzero((before.per_note(everything) > 0) & (np.arange(before.notes) != note))
    members = np.arange(ring)
    at = (members[:, None] * RECORD + np.arange(min(RECORD, others.size))) % max(1, others.size)
    rated = np.column_stack([np.full(ring, note), others[at]]) if others.size else np.full((ring, 1), note)
    value = np.where(mean[rated] >= 0.5, 1.0, 0.0)
    value[:, 0] = 0.0
    rater = np.repeat(before.raters + members, rated.shape[1])
    return replace(
        before, note=_with(before.note, rated.ravel()), rater=_with(before.rater, rater),
        value=np.r_[before.value, value.ravel()], timely=np.r_[before.timely, np.ones(rater.size, np.bool_)],
        tagged=np.zeros((before.note.size + rater.size, 0), np.bool_), raters=before.raters + ring,
    )  # fmt: skip


def _with(first: Array, second: Int64) -> Array:
    joined: Array = np.r_[first, second].astype(np.int32)
    return joined


def _by_threshold(rows: bridging.RatedNotes) -> Bool:
    helpful, not_helpful = (rows.per_note(rows.value == value).astype(np.int32) for value in (1, 0))
    step, none = np.zeros(rows.note.size, np.int32), np.full(rows.notes, np.nan)
    written, rated = np.zeros(rows.notes, np.int32), (rows.note, rows.rater, rows.value, step)
    ratings = NoteRatings(*rated, rows.author, written, written, written, helpful, not_helpful, 1)
    scores = threshold.score(ratings, NoteScores(rows.status, none, none), threshold.Params())
    return np.asarray(scores.status == NoteStatus.SHOWN)


def _by_bridging(rows: bridging.RatedNotes) -> Bool:
    results = bridging.note_results(rows, bridging.Params())
    return np.zeros(rows.notes, np.bool_) if results is None else np.asarray(results.status == NoteStatus.SHOWN)
