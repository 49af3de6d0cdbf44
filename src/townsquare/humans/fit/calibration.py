"""What a simulator must get right: effects by arm, their calibration, and proper scores with a noise ceiling.

Errors of single answers are mostly answer noise. An arm is everyone whose messages were, in sum, for the proposition,
against it, or neither; the effect is the mean change of stance. A predictive distribution is normal around the
prediction, with the spread that the other folds show; for kinds of people, a mixture of normals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import special

from townsquare.analysis.statistics import Estimate
from townsquare.beliefs.equation import stances_of, start_log_odds
from townsquare.core.array_types import Float, Int64
from townsquare.humans.fit.baselines import OF_CONTROLS
from townsquare.humans.fit.fit import RULE
from townsquare.humans.fit.kinds import Mixture
from townsquare.humans.fit.prepared import Prepared
from townsquare.humans.fit.replayed import net_evidence
from townsquare.humans.resample import estimate, ratio, sums

CEILING = "noise ceiling"
_SMALLEST = 1e-3
"""Of the spread of a predictive distribution."""


class ArmEffect(NamedTuple):
    """Mean change of stance in one arm: observed, by the rule, and by the prior alone; out of fold."""

    arm: str
    n: int
    observed: Estimate
    rule: float
    prior: float


class ProperScore(NamedTuple):
    """Mean log score (larger is better) and CRPS (smaller is better) of a method's predictive distribution.

    ``gain`` is the log score minus that of the rule, over the same rows.
    """

    method: str
    log_score: Estimate
    gain: Estimate
    crps: Estimate


class Calibration(NamedTuple):
    """Effects by arm, the slope of observed on predicted moves beyond the prior (1 is right), and proper scores.

    ``prior`` is the prior that moves are counted from: that of controls where there are enough.
    """

    prior: str
    arms: tuple[ArmEffect, ...]
    slope: Estimate
    scores: tuple[ProperScore, ...]


def of_controls(ready: Prepared, margin: float) -> dict[str, Float]:
    """Return what the prior of control conversations says of every stretch; nothing without enough controls."""
    a = ready.floor.anchoring
    return {} if math.isnan(a) else {OF_CONTROLS: stances_of(start_log_odds(ready.spans.initial, a, margin))}


def calibrate(
    ready: Prepared, predicted: Mapping[str, Float], mixtures: Mapping[str, Mixture], fold: Int64
) -> Calibration:
    """Return effects and proper scores of out-of-fold predictions.

    Parameters
    ----------
    ready : Prepared
    predicted : mapping of str to (k,) float64
        What each method says of every stretch.
    mixtures : mapping of str to Mixture
        What methods with a distribution of their own say.
    fold : (k,) int64
    """
    initial, final, rule = ready.spans.initial, ready.spans.final, predicted[RULE]
    name = OF_CONTROLS if OF_CONTROLS in predicted else "prior_only"
    prior, evidence = predicted[name], net_evidence(ready.spans.rows)
    arms = []
    for arm, at in (("for", evidence > 0), ("against", evidence < 0), ("mixed", evidence == 0)):
        if at.any():
            observed = estimate(ratio, sums(ready.group[at], np.ones(at.sum()), (final - initial)[at]))
            moves = (float((prediction - initial)[at].mean()) for prediction in (rule, prior))
            arms.append(ArmEffect(arm, int(at.sum()), observed, *moves))
    x, y = rule - prior, final - prior
    table = sums(ready.group, np.ones(x.size), x, y, x * x, x * y)
    slope = estimate(lambda t: (t[:, 4] - t[:, 1] * t[:, 2] / t[:, 0]) / (t[:, 3] - t[:, 1] ** 2 / t[:, 0]), table)
    normals = {method: _normal(prediction, final, fold) for method, prediction in predicted.items()}
    both = {method: proper_scores(final, mixture) for method, mixture in (normals | dict(mixtures)).items()}
    of_rule = both[RULE][0]
    scores = [
        ProperScore(method, *(_mean(score, ready.group) for score in (log_score, log_score - of_rule, crps)))
        for method, (log_score, crps) in both.items()
    ]
    if math.isfinite(ready.floor.spread):
        spread = max(ready.floor.spread, _SMALLEST)
        log_score = -0.5 - math.log(spread * math.sqrt(2 * math.pi))
        known = (Estimate(value, math.nan, math.nan) for value in (log_score, math.nan, spread / math.sqrt(math.pi)))
        scores.append(ProperScore(CEILING, *known))
    return Calibration(name, tuple(arms), slope, tuple(scores))


def _normal(prediction: Float, final: Float, fold: Int64) -> Mixture:
    """Return normals around predictions, with the spread of the errors of the other folds."""
    error, spread = final - prediction, np.empty(final.size)
    for k in np.unique(fold):
        others = error[fold != k]
        spread[fold == k] = max(math.sqrt(float((others**2).mean())) if others.size else 0.0, _SMALLEST)
    return Mixture(np.ones((final.size, 1)), prediction[:, None], spread[:, None])


def _mean(score: Float, group: Int64) -> Estimate:
    return estimate(ratio, sums(group, np.ones(score.size), score))


def proper_scores(final: Float, mixture: Mixture) -> tuple[Float, Float]:
    """Return log score and CRPS of mixtures of normal distributions.

    >>> standard = Mixture(np.ones((1, 1)), np.zeros((1, 1)), np.ones((1, 1)))
    >>> [score.round(4).tolist() for score in proper_scores(np.zeros(1), standard)]
    [[-0.9189], [0.2337]]
    """
    weight, mean, error = mixture
    z = (final[:, None] - mean) / error
    density = (weight * np.exp(-0.5 * z * z) / (error * math.sqrt(2 * math.pi))).sum(axis=1)
    off = (weight * _distance(final[:, None] - mean, error)).sum(axis=1)
    apart = _distance(mean[:, :, None] - mean[:, None, :], np.hypot(error[:, :, None], error[:, None, :]))
    return np.log(density + 1e-300), off - 0.5 * np.einsum("ki,kj,kij->k", weight, weight, apart)


def _distance(mean: Float, error: Float) -> Float:
    """Return the expected absolute value of normal numbers."""
    z = mean / error
    return np.asarray(error * math.sqrt(2 / math.pi) * np.exp(-0.5 * z * z) + mean * (2 * special.ndtr(z) - 1))
