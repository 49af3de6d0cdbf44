"""What kernels read of people and their evidence streams, whole or step by step."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from townsquare.beliefs.arrays import read_only
from townsquare.humans.fit.stream import Stream
from townsquare.humans.trajectories import Float, Int, Trajectories


class Replayed(NamedTuple):
    """n starts with the e events that follow each; columns as in :class:`townsquare.humans.fit.stream.Stream`."""

    initial: Float
    indptr: Int
    polarity: Float
    strength: Float
    sign: Float
    shown: Float
    author: Int
    back: Int


class Spans(NamedTuple):
    """What is predicted: stretches from one reading of a person to a later one, k of them.

    Attributes
    ----------
    person : (k,) int64
        Row of the trajectories.
    initial, final : (k,) float64
        Stances at both ends.
    number : (k,) int64
        Which stretch of the person it is, from 0.
    rows : Replayed
        The same starts, with the events in between.
    """

    person: Int
    initial: Float
    final: Float
    number: Int
    rows: Replayed


def whole(people: Trajectories, stream: Stream) -> Spans:
    """Each person from the initial to the final stance."""
    n = len(people)
    return Spans(
        np.arange(n),
        people.initial,
        people.final,
        np.zeros(n, np.int64),
        _replayed(people.initial, stream, stream.indptr),
    )


def by_step(people: Trajectories, stream: Stream) -> Spans:
    """Each person from one reading to the next; the start of each stretch is what the person said, not a prediction.

    A record that an earlier stretch brought and a later one put out counts negative there, as it does in the sum.
    """
    readings = np.diff(people.reading_indptr)
    person = np.repeat(np.arange(len(people)), readings + 1)
    first = people.reading_indptr[:-1] + np.arange(len(people))  # where each person's stretches begin
    number = np.arange(person.size) - first[person]
    received = np.diff(people.indptr)
    start, after = np.empty(person.size), np.zeros(person.size, np.int64)
    end, until = np.empty(person.size), np.empty(person.size, np.int64)
    is_first, is_last = number == 0, number == readings[person]
    earlier = people.reading_indptr[person] + number - 1
    start[is_first], start[~is_first] = people.initial[person[is_first]], people.reading[earlier[~is_first]]
    after[~is_first] = people.reading_after[earlier[~is_first]]
    end[is_last], end[~is_last] = people.final[person[is_last]], people.reading[earlier[~is_last] + 1]
    until[is_last], until[~is_last] = received[person[is_last]], people.reading_after[earlier[~is_last] + 1]
    owner = np.repeat(np.arange(len(people)), np.diff(stream.indptr))
    # Events by person and place; a stretch holds those with after < place <= until.
    wide = int(received.max(initial=0)) + 2
    key = owner * wide + stream.place
    lo = np.searchsorted(key, person * wide + after, side="right")
    hi = np.searchsorted(key, person * wide + until, side="right")
    indptr = np.concatenate([lo, hi[-1:]]).astype(np.int64)
    assert np.array_equal(lo[1:], hi[:-1]), "stretches of a person follow each other"
    return Spans(person, start, end, number, _replayed(start, stream, indptr))


def _replayed(initial: Float, stream: Stream, indptr: Int) -> Replayed:
    return Replayed(
        read_only(initial, np.float64),
        read_only(indptr, np.int64),
        read_only(stream.polarity, np.float64),
        read_only(stream.strength, np.float64),
        read_only(stream.sign, np.float64),
        read_only(stream.shown, np.float64),
        read_only(stream.author, np.int64),
        read_only(stream.back, np.int64),
    )


def take(rows: Replayed, at: Int) -> Replayed:
    """Some of the starts, each with its events."""
    counts = rows.indptr[at + 1] - rows.indptr[at]
    indptr = np.zeros(at.size + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    places = np.arange(indptr[-1]) - np.repeat(indptr[:-1], counts) + np.repeat(rows.indptr[at], counts)
    return Replayed(
        read_only(rows.initial[at], np.float64),
        read_only(indptr, np.int64),
        *(read_only(column[places], column.dtype) for column in rows[2:]),
    )


def net_evidence(rows: Replayed) -> Float:
    """E = Σ p s of each start's events, (n,)."""
    owner = np.repeat(np.arange(rows.initial.size), np.diff(rows.indptr))
    found = np.bincount(owner, rows.sign * rows.polarity * rows.strength, minlength=rows.initial.size)
    return found.astype(np.float64)  # without events NumPy counts in whole numbers


def mean_shown(rows: Replayed) -> Float:
    """Mean stance of what began to count among each start's events, (n,); NaN where nothing did."""
    owner = np.repeat(np.arange(rows.initial.size), np.diff(rows.indptr))
    began = rows.sign > 0
    n = np.bincount(owner, began, minlength=rows.initial.size)
    total = np.bincount(owner, np.where(began, rows.shown, 0.0), minlength=rows.initial.size)
    return np.where(n > 0, total / np.maximum(n, 1.0), np.nan)


# Authors of one person's events, numbered: where each stands in a small table of trust.


@nb.njit(cache=True, error_model="numpy")
def author_slots(rows: Replayed, i: int, slot: Int) -> int:
    """Write the number of the author of each event of person ``i``, from 0 as they appear; how many there are."""
    first, n = rows.indptr[i], 0
    for x in range(first, rows.indptr[i + 1]):
        slot[x - first] = -1
        for y in range(first, x):
            if rows.author[y] == rows.author[x]:
                slot[x - first] = slot[y - first]
                break
        if slot[x - first] < 0:
            slot[x - first] = n
            n += 1
    return n
