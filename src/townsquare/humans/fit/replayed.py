"""Arrays of people and their evidence streams for compiled replays, whole or from reading to reading."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from townsquare.beliefs.arrays import gather, owners
from townsquare.beliefs.contract import Replayed
from townsquare.core.array_types import Float, Int64
from townsquare.humans.fit.stream import Stream, replayed
from townsquare.humans.trajectories import Trajectories


class Spans(NamedTuple):
    """Intervals to predict, k of them: from one reading of a person to a later one.

    Attributes
    ----------
    person : (k,) int64
        Row of the trajectories.
    initial, final : (k,) float64
        Stances at both ends.
    rows : Replayed
        The same starts, with the events in between.
    """

    person: Int64
    initial: Float
    final: Float
    rows: Replayed


def whole(people: Trajectories, stream: Stream) -> Spans:
    """Return each person from the initial to the final stance."""
    return Spans(np.arange(len(people)), people.initial, people.final, stream.rows)


def answers(people: Trajectories) -> tuple[Int64, Float, Int64]:
    """Return every answer of each person in order, the initial and the final one among them.

    Person, stance, and how many messages the person had received before it.
    """
    received = np.diff(people.indptr)
    ends = np.stack([people.reading_indptr[:-1], people.reading_indptr[1:]], axis=1).ravel()
    stance = np.insert(people.reading, ends, np.stack([people.initial, people.final], axis=1).ravel())
    first_and_last = np.stack([np.zeros_like(received), received], axis=1).ravel()
    received_before = np.insert(people.reading_after, ends, first_and_last)
    return np.repeat(np.arange(len(people)), np.diff(people.reading_indptr) + 2), stance, received_before


def by_step(people: Trajectories, stream: Stream) -> Spans:
    """Return stretches from one reading to the next; each starts at the person's answer, not at a prediction.

    A record that an earlier stretch brought and a later one put out counts negative there, as it does in the sum.
    """
    person, stance, received_before = answers(people)
    start = np.flatnonzero(person[1:] == person[:-1])  # all but the last answer of each person
    person = person[start]
    # Events by person and place; a stretch holds those with start < place <= end.
    owner = owners(stream.rows.indptr)
    wide = int(received_before.max(initial=0)) + 2
    key = owner * wide + stream.received
    lo, hi = (np.searchsorted(key, person * wide + received_before[at], side="right") for at in (start, start + 1))
    indptr = np.concatenate([lo, hi[-1:]]).astype(np.int64)
    assert np.array_equal(lo[1:], hi[:-1]), "stretches of a person follow each other"
    return Spans(person, stance[start], stance[start + 1], replayed(stance[start], indptr, *stream.rows[2:]))


def take(rows: Replayed, at: Int64) -> Replayed:
    """Return some of the starts, each with its events."""
    indptr, places = gather(rows.indptr, at)
    return replayed(rows.initial[at], indptr, *(column[places] for column in rows[2:]))


def net_evidence(rows: Replayed) -> Float:
    """Return E = Σ p s of each start's events, (n,)."""
    owner = owners(rows.indptr)
    evidence = rows.sign * rows.polarity * rows.strength
    return np.bincount(owner, evidence, minlength=rows.initial.size).astype(np.float64)  # without events, whole numbers


def mean_shown(rows: Replayed) -> Float:
    """Return mean stance of what began to count among each start's events, (n,); NaN where nothing did."""
    owner = owners(rows.indptr)
    began = rows.sign > 0
    n = np.bincount(owner, began, minlength=rows.initial.size)
    total = np.bincount(owner, np.where(began, rows.shown, 0.0), minlength=rows.initial.size)
    return np.where(n > 0, total / np.maximum(n, 1.0), np.nan)
