"""Replays of individual people, event by event (Figure 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from townsquare.beliefs.contract import Replayed
from townsquare.core.array_types import Float, Int64
from townsquare.humans.fit.alignment import WEAK, groups_of
from townsquare.humans.fit.predict import predict_cell
from townsquare.humans.fit.replayed import take, whole
from townsquare.humans.fit.stream import replayed
from townsquare.humans.fit.study import Study

LEAST_EVENTS = 3


class Trace(NamedTuple):
    """One person under the profile of its group.

    Attributes
    ----------
    group, participant, proposition : str
        Who and what about.
    x, y : float
        The group's numbers.
    stance : (e + 1,) float64
        Replayed: under the rule before and after each event.
    polarity : (e,) float64
        -1 or +1: where each event pushes (turned for a record that ceased to count).
    initial, final : float
        What the person said.
    reading_at, reading : (r,) float64
        Answers in between: after how many events, and stances.
    """

    group: str
    participant: str
    proposition: str
    x: float
    y: float
    stance: Float
    polarity: Float
    initial: float
    final: float
    reading_at: Float
    reading: Float


def traces_of(study: Study) -> list[Trace]:
    """Return the trace of each group's person of median error, among people with at least three events."""
    people, stream = study.ready.people, study.ready.stream
    spans = whole(people, stream)
    events = np.diff(spans.rows.indptr)
    fitted = {row.group: (row.x, row.y) for row in study.groups}
    out = []
    for name, member in groups_of(spans, study.options.thresholds).items():
        rows = np.flatnonzero(member & (events >= LEAST_EVENTS))
        if name == WEAK or name not in fitted or not rows.size:
            continue
        x, y = fitted[name]
        predictions = predict_cell(spans.rows, study.setup.grid, study.setup.margin, x, y)[rows]
        order = np.argsort(np.abs(predictions - spans.final[rows]), kind="stable")
        out.append(_trace(study, name, int(rows[order[rows.size // 2]]), (x, y)))
    return out


def _trace(study: Study, group: str, row: int, point: tuple[float, float]) -> Trace:
    people, stream = study.ready.people, study.ready.stream
    own = take(stream.rows, np.array([row]))
    stance = predict_cell(_prefixes(own), study.setup.grid, study.setup.margin, *point)
    lo, hi = people.reading_indptr[row], people.reading_indptr[row + 1]
    received = stream.received[slice(*stream.rows.indptr[row : row + 2])]
    after = np.searchsorted(received, people.reading_after[lo:hi], side="right").astype(np.float64)
    who = (group, people.participant[row], people.proposition[row], *point)
    ends = float(people.initial[row]), float(people.final[row])
    return Trace(*who, stance, own.sign * own.polarity, *ends, after, people.reading[lo:hi])


def _prefixes(rows: Replayed) -> Replayed:
    """Return one start with e events as e + 1 starts: with none of them, the first, the first two, and so on."""
    counts: Int64 = np.arange(rows.polarity.size + 1)
    places = np.concatenate([np.arange(count) for count in counts]).astype(np.int64)
    starts, indptr = np.repeat(rows.initial, counts.size), np.concatenate([[0], np.cumsum(counts)])
    return replayed(starts, indptr, *(column[places] for column in rows[2:]))
