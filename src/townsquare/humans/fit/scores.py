"""Errors of predictions with 95% CIs: Student's t over folds, and a bootstrap over conversations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from townsquare.analysis.statistics import LEVEL, Estimate, mean
from townsquare.core.array_types import Float, Int64

RESAMPLES = 2_000


class Score(NamedTuple):
    """Errors of one method.

    Attributes
    ----------
    rmse, mae : float
        Over all rows, each predicted by a model that did not see its fold.
    sign : float
        Share of final stances other than 0 whose sign is that of the prediction; a prediction of 0 counts half.
    folds : Estimate
        Mean RMSE of the folds, with a t interval over them (as in the paper's Table A7).
    people : Estimate
        RMSE over all rows, with a percentile interval of a bootstrap over conversations.
    """

    rmse: float
    mae: float
    sign: float
    folds: Estimate
    people: Estimate


class Paired(NamedTuple):
    """RMSE of one method less that of another on the same rows; below 0 the first is better."""

    value: float
    folds: Estimate
    people: Estimate


class Scored(NamedTuple):
    """Scores of all methods, and the paired difference of one of them to each other."""

    scores: dict[str, Score]
    paired: dict[str, Paired]
    n: int
    groups: int


def score_all(
    final: Float, predicted: Mapping[str, Float], fold: Int64, group: Int64, method: str, seed: int
) -> Scored:
    """Return scores of every method, and differences of ``method`` to the others.

    Parameters
    ----------
    final : (k,) float64
        What people held.
    predicted : mapping of str to (k,) float64
        What each method says, out of fold.
    fold, group : (k,) int64
        Fold of each row (all 0 where nothing was fitted), and the conversation that is resampled whole.
    method : str
        Which one is compared with the others.
    seed : int
        Of the bootstrap.
    """
    names = list(predicted)
    square = np.stack([(predicted[name] - final) ** 2 for name in names], axis=1)
    sums, counts = sums_by(square, fold)
    by_fold = np.sqrt(sums / counts[:, None])
    drawn = bootstrap(square, group, seed)
    scores = {}
    for at, name in enumerate(names):
        rmse = math.sqrt(float(square[:, at].mean()))
        mae, sign = float(np.abs(predicted[name] - final).mean()), sign_accuracy(final, predicted[name])
        scores[name] = Score(rmse, mae, sign, mean(by_fold[:, at]), Estimate(rmse, *percentiles(drawn[:, at])))
    own = names.index(method)
    paired = {}
    for at, name in enumerate(names):
        if at != own:
            difference = scores[method].rmse - scores[name].rmse
            over = Estimate(difference, *percentiles(drawn[:, own] - drawn[:, at]))
            paired[name] = Paired(difference, mean(by_fold[:, own] - by_fold[:, at]), over)
    return Scored(scores, paired, final.size, np.unique(group).size)


def sums_by(values: Float, group: Int64) -> tuple[Float, Float]:
    """Return sums of (k, m) values by group, in order of the groups' codes, and how many rows each group has."""
    _, code = np.unique(group, return_inverse=True)
    sums = np.stack([np.bincount(code, column) for column in values.T], axis=1)
    return np.asarray(sums, np.float64), np.bincount(code).astype(np.float64)


def resampled(n: int, seed: int, resamples: int = RESAMPLES) -> Float:
    """Return (resamples, n) how often each of n groups is drawn when n are drawn with replacement."""
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1.0 / n), size=resamples).astype(np.float64)


def bootstrap(square: Float, group: Int64, seed: int, resamples: int = RESAMPLES) -> Float:
    """Return (resamples, m) RMSE of m methods when conversations are drawn again with replacement."""
    sums, counts = sums_by(square, group)
    weights = resampled(counts.size, seed, resamples)
    return np.asarray(np.sqrt((weights @ sums) / (weights @ counts)[:, None]))


def percentiles(drawn: Float) -> tuple[float, float]:
    """Return the 95% percentile interval of what a bootstrap drew."""
    low, high = np.percentile(drawn, [100 * (1 - LEVEL) / 2, 100 * (1 + LEVEL) / 2])
    return float(low), float(high)


def sign_accuracy(final: Float, predicted: Float) -> float:
    """Return share of final stances other than 0 with the sign of the prediction; a prediction of 0 counts half.

    >>> sign_accuracy(np.array([1.0, -1.0, 0.0]), np.array([0.2, 0.0, 0.5]))
    0.75
    """
    at = final != 0.0
    if not at.any():
        return math.nan
    agreement = np.sign(predicted[at]) * np.sign(final[at])
    return float((0.5 + 0.5 * agreement).mean())
