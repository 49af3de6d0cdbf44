"""``bridging``: a note is shown when raters who usually disagree find it helpful, as Community Notes decides.

A first fit of all ratings (:mod:`.factorization`) gives provisional statuses. Raters who mostly disagree with these
statuses, and authors whose notes were not helpful, are left out of a second fit. Its raters stay as they are while the
notes are fitted once more. Rules turn the result into statuses. Source: Wojcik et al. (2022) and the core model of the
published scorer (``mf_base_scorer.py``, ``scoring_rules.py``, commit 273c895). Left out: the models of topics, groups
and diligence, the filter of tags "incorrect", high-volume and correlated raters, ratings asked for by sampling, and
learned delays.

In a run, a note that becomes helpful is shown once its ratings of ``stable_for`` steps ago found it helpful too, and
raters are fitted every ``raters_every`` steps and notes in every step, as the published scorer separates
"prescoring" from final scoring: between two fits of raters, a note changes its status by its own ratings alone.

The model needs raters who disagree by camp. Without camps the factor has one sign, and statuses mean little.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from townsquare.core.array_types import Array, Bool, Float, Int32
from townsquare.core.enums import NoteStatus
from townsquare.settings.config import MemberParams, Share, setting
from townsquare.simulation.moderation.note_scorers.contract import NoteRatings, NoteScorer, NoteScores
from townsquare.simulation.moderation.note_scorers.factorization import (
    Fit,
    Penalty,
    Scores,
    fit,
    often_enough,
    refit_notes,
)

_LEFT_SIDE, _SIDE_MEAN, _BOTH_MEAN = 3, 0.4, 0.3  # raters of each side; highest mean ratings of a note not helpful
_AUTHOR_COST = 5  # helpful notes that make up for one that is not
SMALL_SIDE = 9  # up to this net count the smaller side has to be a share of all
_TAG_WEIGHT, _TAG_QUANTILE, _NEAR_QUANTILE, _TAG_POWER = 2.5, 0.95, 0.4, 5


class Params(MemberParams):
    """The constants of the published scorer."""

    note_ratings_at_least: int = setting(5, "minimum ratings of a note that gets a status", ge=1)
    rater_ratings_at_least: int = setting(10, "minimum ratings of a rater who counts", ge=1)
    intercept_penalty: float = setting(0.15, "weight of the mean squared intercepts in the loss", gt=0)
    factor_penalty: float = setting(0.03, "weight of the mean squared factors in the loss", gt=0)
    shown_intercept: float = setting(0.40, "minimum intercept of a note that becomes shown")
    shown_margin: float = setting(0.01, "a shown note stays down to `shown_intercept` minus this", ge=0)
    not_helpful_intercept: float = setting(-0.05, "a note with the factor 0 is not helpful up to this intercept")
    not_helpful_factor: float = setting(0.8, "`not_helpful_intercept` is lower by this per unit of |factor|", ge=0)
    not_helpful_bound: float = setting(-0.04, "a note is not helpful if the upper bound of its intercept is lower")
    not_misleading_intercept: float = setting(
        -0.15, "a note that calls its post not misleading is not helpful below this intercept"
    )
    largest_factor: float = setting(0.5, "maximum |factor| of a shown note", ge=0)
    net_helpful_at_least: int = setting(
        4, "minimum, on each side of raters (sign of factor), of helpful minus not helpful ratings", ge=0
    )
    net_helpful_share: Share = setting(
        0.05, "the smaller of these two differences, if it is at most 9, must be at least this share of the ratings of "
        "both sides",
    )  # fmt: skip
    agreement_at_least: Share = setting(0.66, "minimum agreement: share of a rater's ratings that agree with statuses")
    author_mean_at_least: float = setting(0.05, "minimum mean intercept of a rater's own notes")
    rating_window: int | None = setting(
        None, "maximum steps from a note to a rating that counts in the rater's agreement; null: no maximum", ge=0
    )
    lock_after: int | None = setting(None, "age of a note, in steps, from which its status is final; null: never", ge=1)
    stable_for: int = setting(
        3,
        "a note is shown if its ratings up to this many steps ago also find it helpful (published: 30 to 180 minutes)",
        ge=0,
    )
    raters_every: int = setting(
        24, "steps between fits of raters, on all ratings so far; notes are fitted in every step (assumed)", ge=1
    )


@dataclass(frozen=True, slots=True)
class RatedNotes:
    """Ratings and notes, r ratings of n notes, in the terms of the rules.

    Attributes
    ----------
    note, rater : (r,) int32
    value : (r,) float64
        1 helpful, 0.5 somewhat helpful, 0 not helpful.
    timely : (r,) bool
        Whether the rating counts for the agreement of its rater: it came in time, and before the note had a status.
    author : (n,) int32
        A rater's number, or a larger one for someone who never rates.
    misleading : (n,) bool
        Whether the note says that the post is misleading.
    status : (n,) uint8
        :class:`~townsquare.core.enums.NoteStatus` before.
    tagged : (r, k) bool
        Whether the rating gives the k-th reason why the note is not helpful.
    raters : int
    """

    note: Int32
    rater: Int32
    value: Float
    timely: Bool
    author: Int32
    misleading: Bool
    status: Array
    tagged: Bool
    raters: int

    @property
    def notes(self) -> int:
        """The number of notes."""
        return int(self.author.size)

    def some(self, which: Bool) -> RatedNotes:
        """Return the same notes with some of the ratings."""
        names = ("note", "rater", "value", "timely", "tagged")
        return replace(self, **{name: getattr(self, name)[which] for name in names})

    def per_note(self, rows: Bool, weights: Float | None = None) -> Float:
        """Return the sum over some ratings of each note, (n,); their number without weights."""
        given = None if weights is None else weights[rows]
        return np.bincount(self.note[rows], given, self.notes).astype(np.float64)


@dataclass(frozen=True, slots=True)
class RaterFit:
    """What the first two rounds give: their fits, provisional statuses (n,), which raters passed (u,), and sizes.

    ``ratings`` and ``notes`` are how many the second fit has.
    """

    first: Fit
    second: Fit
    provisional: Array
    passed: Bool
    ratings: int
    notes: int

    def sized(self, raters: int, notes: int) -> RaterFit:
        """Return the fit for so many raters and notes: those that came after it have no scores, and did not pass."""
        first, second = (_fit_sized(fit, raters, notes) for fit in (self.first, self.second))
        provisional = _sized(self.provisional, notes, NoteStatus.PENDING)
        return replace(self, first=first, second=second, provisional=provisional, passed=_sized(self.passed, raters, 0))


@dataclass(frozen=True, slots=True)
class NoteResults:
    """All that the rounds give: the fit of raters, final scores of notes, bound and statuses (n,).

    ``by_thresholds`` are statuses without the bound and without tags.
    """

    people: RaterFit
    notes: Scores
    bound: Float
    by_thresholds: Array
    status: Array

    @property
    def smaller_side(self) -> float:
        """Share of raters of the smaller sign of the factor; statuses mean little where it is near 0."""
        factor = self.people.second.raters.factor
        positive = float(np.mean(factor[~np.isnan(factor)] > 0))
        return min(positive, 1 - positive)


@dataclass(frozen=True, slots=True)
class SideVotes:
    """Ratings of each note (n,) by raters who count, of the left side (factor below 0) and of the right side.

    ``left`` and ``right`` are how many, ``left_mean`` and ``right_mean`` their means, ``net`` is the number of helpful
    minus not helpful ones on the side where it is smaller.
    """

    left: Float
    right: Float
    left_mean: Float
    right_mean: Float
    net: Float

    @property
    def both(self) -> Float:
        """Ratings of both sides together."""
        return np.asarray(self.left + self.right)


def _fit_sized(of: Fit, raters: int, notes: int) -> Fit:
    people = Scores(*(_sized(column, raters, np.nan) for column in of.raters))
    rated = Scores(*(_sized(column, notes, np.nan) for column in of.notes))
    return replace(of, raters=people, notes=rated)


def _sized(of: Array, n: int, missing: float) -> Array:
    return np.pad(of[:n], (0, max(0, n - of.size)), constant_values=missing)


def votes_by_side(rows: RatedNotes, passed: Bool, factor: Float) -> SideVotes:
    """Return ratings by side, of raters who passed."""
    right = passed[rows.rater] & (factor[rows.rater] >= 0)
    left = passed[rows.rater] & (factor[rows.rater] < 0)
    n_left, n_right = rows.per_note(left), rows.per_note(right)
    with np.errstate(invalid="ignore"):
        left_mean, right_mean = rows.per_note(left, rows.value) / n_left, rows.per_note(right, rows.value) / n_right
    votes = 1.0 * (rows.value == 1) - (rows.value == 0)
    net = np.minimum(rows.per_note(left, votes), rows.per_note(right, votes))
    return SideVotes(n_left, n_right, left_mean, right_mean, net)


def rater_fit(rows: RatedNotes, c: Params) -> RaterFit | None:
    """Return what the first two rounds give; None where no note has ratings enough to be fitted."""
    penalty = Penalty(c.intercept_penalty, c.factor_penalty)
    least = {"per_note": c.note_ratings_at_least, "per_rater": c.rater_ratings_at_least}
    selected = often_enough(rows.note, rows.rater, **least)
    if not selected.any():
        return None
    n, u = rows.notes, rows.raters
    first = fit(rows.note[selected], rows.rater[selected], rows.value[selected], penalty, notes=n, raters=u)
    count = rows.per_note(np.ones(rows.note.size, np.bool_))
    provisional = _by_scores(rows, c, count, first.notes)
    passed = _passed(rows, c, provisional, first.notes.intercept)
    again = selected & passed[rows.rater]
    if not again.any():
        return None
    second = fit(rows.note[again], rows.rater[again], rows.value[again], penalty, notes=n, raters=u, start=first)
    passed &= ~np.isnan(second.raters.intercept)
    fitted = int(np.count_nonzero(~np.isnan(second.notes.intercept)))
    return RaterFit(first, second, provisional, passed, int(again.sum()), fitted)


def note_results(rows: RatedNotes, c: Params, people: RaterFit | None = None) -> NoteResults | None:
    """Return what all rounds give; None where no note has ratings enough to be fitted.

    ``people`` is an earlier fit of the raters, by default one of these ratings.
    """
    people = rater_fit(rows, c) if people is None else people.sized(rows.raters, rows.notes)
    if people is None:
        return None
    penalty, second, passed = Penalty(c.intercept_penalty, c.factor_penalty), people.second, people.passed
    count = rows.per_note(np.ones(rows.note.size, np.bool_))
    counted = passed[rows.rater] & (count >= c.note_ratings_at_least)[rows.note]
    final = rows.note[counted], rows.rater[counted], rows.value[counted]
    ridges = [penalty.times(ratings / people.notes) for ratings in (people.ratings, people.ratings + people.notes)]
    lowest, factor = np.nanmin(second.raters.intercept), second.raters.factor
    added = [(lowest, end) for end in (np.nanmin(factor), 0.0, np.nanmax(factor))]
    fits = refit_notes(second, *final, ridges[0], notes=rows.notes, added=added, ridge_added=ridges[1])
    notes, bound = fits[0], np.fmax.reduce([scores.intercept for scores in fits])
    rated = rows, c, count, notes, passed, second.raters.factor
    by_thresholds = _statuses(*rated, np.zeros(rows.notes, np.bool_), None)
    status = _statuses(*rated, _tagged(rows, c, second.raters.factor, notes, count), bound)
    return NoteResults(people, notes, bound, by_thresholds, status)


def _by_scores(rows: RatedNotes, c: Params, count: Float, notes: Scores, bound: Float | None = None) -> Array:
    status = np.full(rows.notes, NoteStatus.PENDING, np.uint8)
    enough = count >= c.note_ratings_at_least
    status[enough & rows.misleading & (notes.intercept >= c.shown_intercept)] = NoteStatus.SHOWN
    low = notes.intercept <= c.not_helpful_intercept - c.not_helpful_factor * np.abs(notes.factor)
    status[enough & low] = NoteStatus.NOT_HELPFUL
    if bound is not None:
        status[enough & (bound < c.not_helpful_bound)] = NoteStatus.NOT_HELPFUL
    status[~rows.misleading & (notes.intercept < c.not_misleading_intercept)] = NoteStatus.NOT_HELPFUL
    return status


def _passed(rows: RatedNotes, c: Params, provisional: Array, intercept: Float) -> Bool:
    """Return which raters agree with the provisional statuses and wrote no notes that were not helpful (u,)."""
    decided = provisional[rows.note]
    valid = rows.timely & (rows.value != 0.5) & (decided != NoteStatus.PENDING)
    agrees = valid & ((rows.value == 1) == (decided == NoteStatus.SHOWN))
    judged, right = (np.bincount(rows.rater[of], minlength=rows.raters) for of in (valid, agrees))
    scored = ~np.isnan(intercept) & (rows.author >= 0) & (rows.author < rows.raters)
    authors = rows.author[scored]
    value = 1.0 * (provisional == NoteStatus.SHOWN) - _AUTHOR_COST * (provisional == NoteStatus.NOT_HELPFUL)
    wrote = np.bincount(authors, minlength=rows.raters)
    balance, total = (np.bincount(authors, of[scored], rows.raters) for of in (value, intercept))
    helpful_author = (balance >= 0) & (total >= c.author_mean_at_least * wrote)
    passed: Bool = (judged > 0) & (right >= c.agreement_at_least * judged) & ((wrote == 0) | helpful_author)
    return passed


def _statuses(
    rows: RatedNotes, c: Params, count: Float, notes: Scores, passed: Bool, factor: Float, tagged: Bool,
    bound: Float | None,
) -> Array:  # fmt: skip
    """Apply the rules in their order; later ones overwrite. A rejected note is pending."""
    status = _by_scores(rows, c, count, notes, bound)
    votes = votes_by_side(rows, passed, factor)
    with np.errstate(invalid="ignore"):
        low = (votes.left_mean + votes.right_mean) / 2 <= _BOTH_MEAN
        low &= np.maximum(votes.left_mean, votes.right_mean) <= _SIDE_MEAN
    both = low & (np.minimum(votes.left, votes.right) >= _LEFT_SIDE)
    status[both & (count >= c.note_ratings_at_least)] = NoteStatus.NOT_HELPFUL
    status[~rows.misleading & (notes.intercept < c.not_misleading_intercept)] = NoteStatus.NOT_HELPFUL
    stays = (rows.status == NoteStatus.SHOWN) & (notes.intercept >= c.shown_intercept - c.shown_margin)
    status[stays & rows.misleading & (count >= c.note_ratings_at_least)] = NoteStatus.SHOWN
    few = (votes.net <= SMALL_SIDE) & (votes.net < c.net_helpful_share * votes.both)
    rejected = tagged | (np.abs(notes.factor) > c.largest_factor) | (votes.net < c.net_helpful_at_least) | few
    status[rejected & (status == NoteStatus.SHOWN)] = NoteStatus.PENDING
    return status


def _tagged(rows: RatedNotes, c: Params, factor: Float, notes: Scores, count: Float) -> Bool:
    """Return which notes have more of one reason, weighted by nearness to the rater, than 95% of helpful notes."""
    out = np.zeros(rows.notes, np.bool_)
    helpful = (count >= c.note_ratings_at_least) & rows.misleading & (notes.intercept >= c.shown_intercept)
    known = ~np.isnan(factor[rows.rater]) & ~np.isnan(notes.factor[rows.note])
    differ = all(np.unique(of[~np.isnan(of)]).size > 1 for of in (factor, notes.factor))
    if not (rows.tagged.shape[1] and helpful.any() and known.any() and differ):
        return out
    raters, rated = ((of - np.nanmean(of)) / np.nanstd(of, ddof=1) for of in (factor, notes.factor))
    distance = np.abs(raters[rows.rater] - rated[rows.note])
    weight = 1 / (1 + (distance / np.quantile(distance[known], _NEAR_QUANTILE)) ** _TAG_POWER)
    total = rows.per_note(known, weight)
    for tag in rows.tagged.T:
        given = rows.per_note(known & tag, weight)
        with np.errstate(invalid="ignore"):
            share = given / total
        out |= (given > _TAG_WEIGHT) & (share > np.quantile(share[helpful], _TAG_QUANTILE))
    return out


def rated(ratings: NoteRatings, previous: NoteScores, params: Params) -> RatedNotes:
    """Return ratings and notes of a step in the terms of the rules."""
    settled = np.where(ratings.settled < 0, np.iinfo(np.int32).max, ratings.settled)
    timely = ratings.step <= settled[ratings.note]
    if params.rating_window is not None:
        timely &= ratings.step - ratings.written[ratings.note] <= params.rating_window
    n_raters = int(max(ratings.rater.max(initial=-1), ratings.author.max(initial=-1))) + 1
    return RatedNotes(
        ratings.note, ratings.rater, ratings.value, timely, ratings.author, np.ones(ratings.n_notes, np.bool_),
        previous.status, np.zeros((ratings.note.size, 0), np.bool_), n_raters,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Early:
    """Ratings up to the last fit of raters; equal where ``digest`` is."""

    digest: bytes
    rows: RatedNotes = field(compare=False)


@lru_cache(maxsize=2)
def _fitted(early: _Early, params: Params) -> RaterFit | None:
    """Fit raters once in ``raters_every`` steps: what later steps ask for is what the first of them found."""
    return rater_fit(early.rows, params)


def results_of(ratings: NoteRatings, previous: NoteScores, params: Params) -> NoteResults | None:
    """Return what the rounds give in a step; None before raters have been fitted."""
    rows = rated(ratings, previous, params)
    last_fit = ratings.now - ratings.now % params.raters_every
    early, digest = rows.some(ratings.step <= last_fit), blake2b(digest_size=16)
    for part in (early.note, early.rater, early.value, early.timely, early.author[ratings.written <= last_fit]):
        digest.update(part.tobytes())
    people = _fitted(_Early(digest.digest(), early), params)
    results = None if people is None else note_results(rows, params, people)
    if results is None or not params.stable_for:
        return results
    new = (results.status == NoteStatus.SHOWN) & (previous.status != NoteStatus.SHOWN)
    before = new[rows.note] & (ratings.step <= ratings.now - params.stable_for)
    earlier = note_results(rows.some(before), params, people)
    waits = new if earlier is None else new & (earlier.status != NoteStatus.SHOWN)
    return replace(results, status=np.where(waits, NoteStatus.PENDING, results.status).astype(np.uint8))


def score(ratings: NoteRatings, previous: NoteScores, params: Params) -> NoteScores:
    """Fit all ratings so far, and apply the rules; notes and raters with few ratings stay pending, without numbers."""
    results, n = results_of(ratings, previous, params), ratings.n_notes
    none = np.full(n, np.nan)
    notes = Scores(none, none) if results is None else results.notes
    status = np.full(n, NoteStatus.PENDING, np.uint8) if results is None else results.status
    if params.lock_after is not None:
        locked = (ratings.decided >= 0) & (ratings.now - ratings.written >= params.lock_after)
        status = np.where(locked, previous.status, status).astype(np.uint8)
    return NoteScores(status, notes.intercept, notes.factor)


SCORER = NoteScorer("bridging", Params, score)
