"""A note scorer of another package: matrix factorization, after the way that Community Notes finds helpful notes.

A rating is mu + i_u + i_n + f_u f_n; a note is shown for its intercept i_n, which is what its raters' common camp does
not explain. Alternating ridge fits, from the leading direction of what intercepts leave.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from townsquare.core.enums import NoteStatus
from townsquare.settings.config import MemberParams, setting
from townsquare.simulation.moderation.note_scorers.contract import NoteRatings, NoteScorer, NoteScores

Float = npt.NDArray[np.float64]


class Params(MemberParams):
    """When a note is shown, and when it is found not helpful."""

    ratings_at_least: int = setting(5, "ratings that a note needs", ge=1)
    shown_at: float = setting(0.40, "intercept from which a note is shown")
    not_helpful_at: float = setting(-0.05, "intercept from which it is not helpful, less 0.8 of its factor's size")
    passes: int = setting(40, "passes over raters and notes", ge=1)


def fit(own: npt.NDArray[np.int64], n: int, rest: Float, other: Float) -> tuple[Float, Float]:
    """The ridge fit of (intercept, factor) of each of ``n``, from what is left of ratings and the others' factors."""
    each = own.size / max(1, np.unique(own).size)
    count, with_other, squares, sums, products = (
        np.bincount(own, weights, n) for weights in (np.ones(own.size), other, other**2, rest, rest * other)
    )
    a, d = count + 0.15 * each, squares + 0.03 * each
    determinant = a * d - with_other**2
    return (d * sums - with_other * products) / determinant, (a * products - with_other * sums) / determinant


def score(ratings: NoteRatings, previous: NoteScores, params: Params) -> NoteScores:
    """Fit all ratings anew; notes with too few ratings have no numbers and keep their status."""
    n, status = ratings.n_notes, previous.status.copy()
    none = np.full(n, np.nan)
    raters, rater = np.unique(ratings.rater, return_inverse=True)
    note, value = ratings.note.astype(np.int64), ratings.value
    if not value.size:
        return NoteScores(status, none, none)
    mean = float(value.mean())
    centered = value - mean
    table = np.zeros((raters.size, n))
    table[rater, note] = centered
    f_n = np.linalg.svd(table)[2][0]  # the leading direction, with the sign that the sum of cubes gives
    f_n = f_n * (1.0 if (f_n**3).sum() >= 0 else -1.0)
    i_n = np.zeros(n)
    for _ in range(params.passes):
        i_u, f_u = fit(rater, raters.size, centered - i_n[note], f_n[note])
        i_n, f_n = fit(note, n, centered - i_u[rater], f_u[rater])
    i_n, enough = i_n + mean / 3, np.bincount(note, minlength=n) >= params.ratings_at_least
    bad = i_n <= params.not_helpful_at - 0.8 * np.abs(f_n)
    found = np.select([i_n >= params.shown_at, bad], [NoteStatus.SHOWN, NoteStatus.NOT_HELPFUL], NoteStatus.PENDING)
    status[enough] = found[enough]
    return NoteScores(status, np.where(enough, i_n, np.nan), np.where(enough, f_n, np.nan))


SCORER = NoteScorer("factors", Params, score)
