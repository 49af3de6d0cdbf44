"""Held-out profiles of the groups of Table A4: Tables 1, A6 and A7."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from townsquare.analysis.statistics import Estimate, mean
from townsquare.core.array_types import Bool, Float
from townsquare.humans.fit.alignment import WEAK, Thresholds, groups_of
from townsquare.humans.fit.baselines import BASELINES
from townsquare.humans.fit.fit import RULE, HeldOut, Setup, choose, fit_rows, predict_all
from townsquare.humans.fit.replayed import Spans
from townsquare.humans.resample import rmse

ALL = "all"
FEWEST = 5


class GroupRow(NamedTuple):
    """One row of Tables 1 and A6.

    ``x`` and ``y`` are fitted to the whole group. Of the errors, ``linear`` is that of the pooled fit, as in the paper;
    ``linear_own`` and ``prior_own`` are fitted to the group as the rule is.
    """

    group: str
    n: int
    mean_change: float
    no_change: float
    linear: float
    rule: float
    gain: float
    prior_own: float
    linear_own: float
    x: float
    y: float


class Robustness(NamedTuple):
    """One row of Table A7: RMSE of the groups' profiles over folds, minus prior-only, minus one profile for all."""

    split: str
    rmse: Estimate
    less_prior: Estimate
    less_global: Estimate
    folds_better: tuple[int, int]
    folds: int


def group_rows(
    spans: Spans, setup: Setup, square: Float, held_out: HeldOut, at: Thresholds
) -> tuple[list[GroupRow], Float]:
    """Return rows of all and of each group, and what the groups' profiles say of each stretch, out of fold (k,).

    Weak-signal stretches are predicted by the profile for all, as they are no profile of the paper's.
    """
    groups = groups_of(spans, at)
    predictions, everyone = held_out.predicted[RULE].copy(), np.ones(spans.final.size, np.bool_)
    rows = [_row(ALL, everyone, spans, setup, square, held_out, held_out.predicted)]
    for name, member in groups.items():
        if member.sum() < FEWEST:
            continue
        own = _held_out(spans, setup, square, held_out, member)
        rows.append(_row(name, member, spans, setup, square, held_out, own))
        if name != WEAK:
            predictions[member] = own[RULE][member]
    return rows, predictions


def _held_out(spans: Spans, setup: Setup, square: Float, held_out: HeldOut, member: Bool) -> dict[str, Float]:
    """Predict members by rule and baselines fitted to other folds; by the profile for all, or NaN, without others."""
    own = {RULE: held_out.predicted[RULE].copy(), **{name: np.full(member.size, math.nan) for name in BASELINES}}
    for number in range(len(held_out.chosen)):
        train, test = member & (held_out.fold != number), member & (held_out.fold == number)
        if train.any() and test.any():
            for name, values in predict_all(spans, setup, *fit_rows(spans, setup, square, train)).items():
                own[name][test] = values[test]
    return own


def _row(
    name: str, member: Bool, spans: Spans, setup: Setup, square: Float, held_out: HeldOut, own: Mapping[str, Float]
) -> GroupRow:
    final = spans.final
    x, y = choose(spans, setup, square, member)
    predicted = (spans.initial, held_out.predicted["linear"], own[RULE], own["prior_only"], own["linear"])
    errors = ((values - final)[member & np.isfinite(values)] for values in predicted)
    no_change, linear, rule, prior_own, linear_own = map(rmse, errors)
    change = float(np.abs(final - spans.initial)[member].mean())
    n, gain = int(member.sum()), linear - rule
    return GroupRow(name, n, change, no_change, linear, rule, gain, prior_own, linear_own, x, y)


def robustness(split: str, final: Float, held_out: HeldOut, predictions: Float) -> Robustness:
    """Return Table A7 for one kind of folds; ``predictions`` is from :func:`group_rows`."""
    methods = predictions, held_out.predicted["prior_only"], held_out.predicted[RULE]
    errors = np.stack([values - final for values in methods], axis=1)
    folds = range(len(held_out.chosen))
    by_fold = np.array([np.sqrt((errors[held_out.fold == number] ** 2).mean(axis=0)) for number in folds])
    less_prior, less_global = by_fold[:, 0] - by_fold[:, 1], by_fold[:, 0] - by_fold[:, 2]
    better = (int((less_prior < 0).sum()), int((less_global < 0).sum()))
    error, over_prior, over_all = (mean(values) for values in (by_fold[:, 0], less_prior, less_global))
    return Robustness(split, error, over_prior, over_all, better, len(held_out.chosen))
