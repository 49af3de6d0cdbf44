"""Matrix factorization of ratings with one factor, as Community Notes fits it.

A rating is predicted by ``mean + rater intercept + note intercept + rater factor * note factor``. The loss is the mean
squared error + 0.15 (mean² + mean of squared rater intercepts + mean of squared note intercepts) + 0.03 (mean of
squared rater factors + mean of squared note factors): means, not sums, of the penalized values. Source: Wojcik et al.
(2022) and the published scorer, ``matrix_factorization.py``, whose loss this is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from townsquare.core.array_types import Bool, Float, Int32, Int64

_PASSES, _INTERCEPT_PASSES, _POWER_STEPS, _TOLERANCE = 2_000, 10, 30, 1e-7


class Penalty(NamedTuple):
    """Weights of squared intercepts and of squared factors in the loss."""

    intercept: float
    factor: float

    def times(self, ratings: float) -> Penalty:
        """Return ridge weights for ``ratings`` per penalized value."""
        return Penalty(self.intercept * ratings, self.factor * ratings)


class Scores(NamedTuple):
    """An intercept and a factor for each rater or each note; NaN for those without ratings in the fit."""

    intercept: Float
    factor: Float


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted model: ``mean``, scores of raters and notes, and the loss."""

    mean: float
    raters: Scores
    notes: Scores
    loss: float


class _Rows(NamedTuple):
    """Ratings in groups by rater or by note: where each group starts, and who or what is at the other end."""

    group: Int64
    start: Int64
    size: Int64
    other: Int64
    value: Float


class _Sums(NamedTuple):
    """Sums over the ratings of each group: 1, factor, factor², residual, residual * factor."""

    n: Float
    f: Float
    ff: Float
    e: Float
    ef: Float

    def solved(self, ridge: Penalty) -> Scores:
        """Return the ridge regression of residuals on a constant and the factor, in each group."""
        a, c = self.n + ridge.intercept, self.ff + ridge.factor
        determinant = a * c - self.f * self.f
        intercept = (c * self.e - self.f * self.ef) / determinant
        return Scores(intercept, (a * self.ef - self.f * self.e) / determinant)


def fit(
    note: Int32, rater: Int32, value: Float, penalty: Penalty, *, notes: int, raters: int, start: Fit | None = None
) -> Fit:
    """Fit the model to ratings by alternating least squares, until no note intercept changes by more than 1e-7.

    Parameters
    ----------
    note, rater : (r,) int32
        0 to ``notes - 1`` and 0 to ``raters - 1``; the order of ratings has no effect.
    value : (r,) float64
        0 to 1.
    penalty : Penalty
    start : Fit, optional
        An earlier fit of mostly the same ratings. By default the factors start at the leading singular vectors of the
        residuals of a fit without factors.

    Returns
    -------
    Fit
        Factors have the sign that gives most raters a negative one. At least one rating is required.
    """
    (known_notes, note_at), (known_raters, rater_at) = _numbered(note, notes), _numbered(rater, raters)
    by_rater, by_note = _grouped(rater_at, note_at, value), _grouped(note_at, rater_at, value)
    rater_ridge = penalty.times(value.size / known_raters.size)
    note_ridge = penalty.times(value.size / known_notes.size)
    if start is None:
        mean = float(value.mean()) / 3
        rated = Scores(np.full(known_notes.size, mean), np.zeros(known_notes.size))
    else:
        mean, before = start.mean, Scores(start.notes.intercept[known_notes], start.notes.factor[known_notes])
        rated = Scores(np.where(np.isnan(before.intercept), mean, before.intercept), np.nan_to_num(before.factor))
    people = Scores(np.full(known_raters.size, mean), np.zeros(known_raters.size))
    for step in range(_PASSES):
        if start is None and step == _INTERCEPT_PASSES:
            rated = rated._replace(factor=_leading_factor(by_rater, by_note, mean, people, rated))
        people = _sums(by_rater, mean, rated).solved(rater_ridge)
        after = _sums(by_note, mean, people).solved(note_ridge)
        mean, people, after = _balanced(mean, people, after)
        largest = float(np.abs(after.intercept - rated.intercept).max())
        rated = after
        if largest < _TOLERANCE and (start is not None or step > _INTERCEPT_PASSES):
            break
    if np.mean(people.factor > 0) > 0.5:
        people, rated = (Scores(scores.intercept, -scores.factor) for scores in (people, rated))
    error = by_rater.value - _predicted(by_rater, mean, people, rated)
    squares = mean**2 + np.mean(people.intercept**2) + np.mean(rated.intercept**2)
    factors = np.mean(people.factor**2) + np.mean(rated.factor**2)
    loss = float(np.mean(error**2) + penalty.intercept * squares + penalty.factor * factors)
    return Fit(mean, _spread(people, known_raters, raters), _spread(rated, known_notes, notes), loss)


def refit_notes(
    of: Fit,
    note: Int32,
    rater: Int32,
    value: Float,
    ridge: Penalty,
    *,
    notes: int,
    added: Sequence[tuple[float, float]] = (),
    ridge_added: Penalty | None = None,
) -> list[Scores]:
    """Fit notes alone to ratings, with the mean and the raters of an earlier fit; and again for each rater added.

    Parameters
    ----------
    of : Fit
    note, rater : (r,) int32
        Every rater is in the fit.
    value : (r,) float64
    ridge : Penalty
        Weights of the squares beside the *sum* of squared errors.
    added : sequence of (float, float)
        Intercepts and factors of raters who find every note helpful, each as one more rating of a fit of its own.
    ridge_added : Penalty, optional
        The weights of those fits.

    Returns
    -------
    list of Scores
        (notes,); NaN for notes without ratings.
    """
    known, at = _numbered(note, notes)
    sums = _sums(_grouped(at, rater, value), of.mean, of.raters)
    fits = [sums.solved(ridge)]
    for intercept, factor in added:
        residual = 1 - of.mean - intercept
        more = (1.0, factor, factor**2, residual, residual * factor)
        again = _Sums(*(total + added_to for total, added_to in zip(sums, more, strict=True)))
        fits.append(again.solved(ridge if ridge_added is None else ridge_added))
    return [_spread(scores, known, notes) for scores in fits]


def often_enough(note: Int32, rater: Int32, *, per_note: int, per_rater: int) -> Bool:
    """Return which ratings stay: drop notes with few ratings, then raters with few, then notes again (r,)."""
    keep = np.ones(note.size, np.bool_)
    for ends, least in ((note, per_note), (rater, per_rater), (note, per_note)):
        keep &= np.bincount(ends[keep], minlength=int(ends.max(initial=-1)) + 1)[ends] >= least
    return keep


def _numbered(ends: Int32, n: int) -> tuple[Int64, Int64]:
    """Return which of ``n`` occur, and the place of each end among them."""
    occurs = np.bincount(ends, minlength=n) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[ends]


def _grouped(own: Int64, other: Int64 | Int32, value: Float) -> _Rows:
    """Sort ratings by own end and then by the other, so that their order has no effect: by counting, in linear time."""
    shape = int(own.max(initial=-1)) + 1, int(other.max(initial=-1)) + 1
    table = sparse.coo_array((np.arange(1, value.size + 1, dtype=np.int32), (own, other)), shape).tocsc().tocsr()
    size = np.bincount(own)
    group, start = np.repeat(np.arange(size.size), size), np.cumsum(size) - size
    if table.nnz == value.size:
        return _Rows(group, start, size, table.indices.astype(np.int64), value[table.data - 1])
    order = np.lexsort((other, own))  # somebody rated a note twice
    return _Rows(group, start, size, other[order].astype(np.int64), value[order])


def _sums(rows: _Rows, mean: float, other: Scores) -> _Sums:
    x, e = other.factor[rows.other], rows.value - mean - other.intercept[rows.other]
    return _Sums(rows.size.astype(np.float64), *(np.add.reduceat(part, rows.start) for part in (x, x * x, e, e * x)))


def _balanced(mean: float, people: Scores, notes: Scores) -> tuple[float, Scores, Scores]:
    """Shift intercepts and scale factors to the smallest penalty that leaves all predictions unchanged."""
    rater_mean, note_mean = people.intercept.mean(), notes.intercept.mean()
    shared = float(mean + rater_mean + note_mean) / 3
    sizes = np.mean(people.factor**2), np.mean(notes.factor**2)
    scale = (sizes[1] / sizes[0]) ** 0.25 if min(sizes) > 0 else 1.0
    people = Scores(people.intercept + (shared - rater_mean), people.factor * scale)
    return shared, people, Scores(notes.intercept + (shared - note_mean), notes.factor / scale)


def _predicted(rows: _Rows, mean: float, own: Scores, other: Scores) -> Float:
    at, to = rows.group, rows.other
    return mean + own.intercept[at] + other.intercept[to] + own.factor[at] * other.factor[to]


def _leading_factor(by_rater: _Rows, by_note: _Rows, mean: float, people: Scores, notes: Scores) -> Float:
    """Return the leading singular vector of the residuals on the side of notes, with a root mean square of 0.5."""
    of_raters = by_rater.value - _predicted(by_rater, mean, people, notes)
    of_notes = by_note.value - _predicted(by_note, mean, notes, people)
    rated: Float = np.add.reduceat(of_notes**3, by_note.start)  # does not depend on how raters and notes are numbered
    for _ in range(_POWER_STEPS):
        of_people = np.add.reduceat(of_raters * rated[by_rater.other], by_rater.start)
        rated = np.add.reduceat(of_notes * of_people[by_note.other], by_note.start)
        size = np.sqrt(np.mean(rated**2))
        if not size > 0:
            return np.zeros(rated.size)
        rated = rated * (0.5 / size)
    return rated


def _spread(scores: Scores, known: Int64, n: int) -> Scores:
    """Return scores of ``n``, NaN for those that are not known."""
    out = Scores(np.full(n, np.nan), np.full(n, np.nan))
    for all_of, some in zip(out, scores, strict=True):
        all_of[known] = some
    return out
