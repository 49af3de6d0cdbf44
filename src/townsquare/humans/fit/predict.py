"""What a rule says where each person ends, under any values of its two fitted numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from townsquare.humans.fit import replay_exposure, replay_social
from townsquare.humans.fit.grids import Grid
from townsquare.humans.fit.replayed import Replayed
from townsquare.humans.trajectories import Float

REPLAYS: dict[str, Callable[[Replayed, float, Float, Float], Float]] = {
    "log_odds": replay_social.log_odds_ends,
    "social_log_odds": replay_social.ends,
    "exposure": replay_exposure.exposure,
    "averaging": replay_exposure.averaging,
    "bounded_confidence": replay_exposure.bounded_confidence,
}
"""How each rule of :data:`townsquare.humans.fit.grids.GRIDS` is replayed; tests hold each to the rule's own ``step``.
"""


def predict(rows: Replayed, grid: Grid, margin: float, x: Float, y: Float) -> Float:
    """Final stances under every x (X,) and y (Y,): (n, X, Y) float64 in [-1, 1].

    Parameters
    ----------
    rows : Replayed
        n starts with their events.
    grid : Grid
        The rule and what its numbers are called.
    margin : float
        ε: starting stances are clipped to ±(1 − ε) before log odds are taken; other rules do not use it.
    x, y : float64
        Values of the two numbers.
    """
    return REPLAYS[grid.rule](rows, margin, np.asarray(x, np.float64), np.asarray(y, np.float64))


def predict_cell(rows: Replayed, grid: Grid, margin: float, x: float, y: float) -> Float:
    """Final stances under one x and y: (n,) float64 in [-1, 1]."""
    return predict(rows, grid, margin, np.array([x]), np.array([y]))[:, 0, 0]


def predict_grid(rows: Replayed, grid: Grid, margin: float) -> Float:
    """Final stances in every cell of the grid: (n, X * Y) float64, cells along y first."""
    found = predict(rows, grid, margin, np.array(grid.x), np.array(grid.y))
    return found.reshape(rows.initial.size, -1)


def prior_only(rows: Replayed, margin: float, anchoring: Float) -> Float:
    """Final stances of ``log_odds`` with u = 0, for every a (A,): (n, A) float64 in [-1, 1]."""
    return replay_social.log_odds_ends(rows, margin, np.zeros(1), np.asarray(anchoring, np.float64))[:, 0, :]
