"""Differences between people under the statistical policy: activity, lurkers and tastes, estimated from counts.

An agent of activity a and taste x for a kind does that kind with chance logistic(ln a + x + eta), eta being the rest of
the logit (docs/policies.md). Over people, a is 0 with chance ``lurkers`` and else Gamma with mean 1/(1 - lurkers), so
that the mean over all is 1; x is logistic. Everything is by quadrature: nothing is drawn, so fits do not vary.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, gammainc, gammaincinv, logit, xlogy

from townsquare.core.array_types import Float

_ACTIVITY_NODES, _TASTE_NODES = 32, 9
_GRID = np.linspace(-16.0, 9.0, 251)
_MOST_LURKERS = 0.6
_LEAST_TASTE = 0.05


class Crowd(NamedTuple):
    """Differences between people.

    Attributes
    ----------
    shape : float
        Of the Gamma distribution of activity among those who are not lurkers.
    lurkers : float
        Share of people who never act, in [0, 1).
    taste : (K,) float64
        Scale of the logistic distribution of tastes for each kind.
    """

    shape: float
    lurkers: float
    taste: Float

    def log_activity(self) -> Float:
        """Return logarithm of the mean activity of each 32nd of those who are not lurkers, ascending, (32,)."""
        edges = gammaincinv(self.shape, np.linspace(0.0, 1.0, _ACTIVITY_NODES + 1))
        part = np.diff(np.r_[gammainc(self.shape + 1.0, edges[:-1]), 1.0])
        return np.asarray(np.log(np.maximum(part * _ACTIVITY_NODES / (1.0 - self.lurkers), 1e-12)))

    def tastes(self, kind: int) -> Float:
        """Return mean taste of each ninth of people, (9,)."""
        u = np.linspace(0.0, 1.0, _TASTE_NODES + 1)
        return np.asarray(self.taste[kind] * _TASTE_NODES * np.diff(xlogy(u, u) + xlogy(1.0 - u, 1.0 - u)))

    def rate(self, kind: int, eta: Float) -> tuple[Float, Float]:
        """Return mean chance over people for each ``eta`` (n,), and its derivative by ``eta``."""
        x = (self.log_activity()[:, None] + self.tastes(kind)).ravel()
        p = expit(x[:, None] + eta)
        alive = 1.0 - self.lurkers
        return alive * p.mean(0), alive * (p * (1.0 - p)).mean(0)


def fit_crowd(counts: Float, offsets: Float, start: tuple[Crowd, Float] | None = None) -> tuple[Crowd, Float]:
    """Return the most likely crowd for these counts, with weak priors on all individual differences.

    Given activity and tastes, how often a person did each kind is all there is to know about them, so this is exact.
    Priors, on unbounded scales: ln shape normal (0, 1.5); log odds of silence within its range normal (-0.5, 1.5);
    ln of each taste normal (-0.5, 2).

    Parameters
    ----------
    counts : (N, K) float64
        How often each person did each kind.
    offsets : (J, K) float64
        What posts differ by: ``eta`` less the base.
    start : (Crowd, bases), optional
        Where to begin, as from an earlier fit.

    Returns
    -------
    Crowd, bases (K,) float64
    """
    kinds = counts.shape[1]
    # Sum over posts of log(1 + exp(x + offset)), as a function of x.
    cost = np.stack([np.logaddexp(0.0, _GRID[:, None] + offsets[:, k]).sum(1) for k in range(kinds)])
    rates = np.clip(counts.mean(0) / offsets.shape[0], 1e-4, 0.9)
    crowd, bases = start or (Crowd(0.8, 0.23, np.full(kinds, 0.6)), np.log(rates / (1.0 - rates)) - offsets.mean(0))
    first = np.r_[np.log(crowd.shape), logit(crowd.lurkers / _MOST_LURKERS), np.log(crowd.taste), np.clip(bases, -9, 3)]
    unique, times = np.unique(counts, axis=0, return_counts=True)

    def loss(at: Float) -> float:
        prior = (at[0] / 1.5) ** 2 + ((at[1] + 0.5) / 1.5) ** 2 + (((at[2 : 2 + kinds] + 0.5) / 2.0) ** 2).sum()
        return float(0.5 * prior - times @ _log_likelihood(unique, cost, _crowd(at, kinds), at[2 + kinds :]))

    bounds = [(-3.0, 3.0), (-6.0, 6.0), *[(np.log(_LEAST_TASTE), 1.5)] * kinds, *[(-9.0, 3.0)] * kinds]
    at = np.asarray(minimize(loss, first, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100, "ftol": 1e-7}).x)
    return _crowd(at, kinds), at[2 + kinds :]


def _crowd(at: Float, kinds: int) -> Crowd:
    return Crowd(float(np.exp(at[0])), float(_MOST_LURKERS * expit(at[1])), np.exp(at[2 : 2 + kinds]))


def _log_likelihood(counts: Float, cost: Float, crowd: Crowd, bases: Float) -> Float:
    """Return the log likelihood of each row of counts, up to a constant, (n,)."""
    activity = crowd.log_activity()
    total = np.zeros((counts.shape[0], activity.size))
    for k in range(counts.shape[1]):
        x = np.clip(activity[:, None] + crowd.tastes(k) + bases[k], _GRID[0], _GRID[-1])
        times, which = np.unique(counts[:, k], return_inverse=True)  # few: each is worked out once
        total += _log_mean_exp(times[:, None, None] * x - np.interp(x, _GRID, cost[k]))[which]
    alive = np.log1p(-crowd.lurkers) + _log_mean_exp(total)
    nothing = counts.sum(1) == 0
    return np.asarray(np.where(nothing, np.logaddexp(np.log(crowd.lurkers), alive), alive))


def _log_mean_exp(values: Float) -> Float:
    """Return the log mean exp over the last axis; SciPy's own takes most of the time of a fit."""
    top = values.max(-1)
    return np.asarray(top + np.log(np.exp(values - top[..., None]).mean(-1)))
