"""Baselines for every fit, each fitted on the training folds alone.

``no_change``: the initial stance. ``prior_only``: the rule ``log_odds`` with u = 0, so a·ln((1 + S₀)/(1 − S₀)) with a
fitted, and no evidence at all. ``linear``: S₀ + β E, E the signed net evidence (appendix E), not clipped.
``mean_received``: the mean stance of what was taken in, the initial one where nothing was. ``regression``: a constant,
S₀ and E by least squares, clipped to [-1, 1]: what a plain statistical model makes of the same inputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import optimize

from townsquare.beliefs.equation import stances_of, start_log_odds
from townsquare.beliefs.grids import ANCHORING
from townsquare.core.array_types import Bool, Float
from townsquare.humans.fit.replayed import Spans, mean_shown, net_evidence

BASELINES = ("no_change", "prior_only", "linear", "mean_received", "regression")
OF_CONTROLS = "prior_control"
"""``prior_only`` with a fitted to control conversations: what the messages of the others did is not in it."""
_LARGEST = 5.0


class Baselines(NamedTuple):
    """The fitted numbers of the baselines: a of prior only, β of linear, and constant, S₀ and E of the regression."""

    anchoring: float
    beta: float
    regression: tuple[float, float, float]


def fit_baselines(spans: Spans, rows: Bool, margin: float, *, continuous: bool = False) -> Baselines:
    """Fit on the stretches ``rows``; anchoring on the grid of appendix E, or by continuous search."""
    evidence = net_evidence(spans.rows)[rows]
    start, change = spans.initial[rows], (spans.final - spans.initial)[rows]
    square = float(evidence @ evidence)
    design = np.stack([np.ones(start.size), start, evidence], axis=1)
    weights = np.linalg.lstsq(design, spans.final[rows], rcond=None)[0]
    anchoring = fitted_anchoring(spans.initial[rows], spans.final[rows], margin, continuous=continuous)
    beta = float(evidence @ change) / square if square > 0 else 0.0
    return Baselines(anchoring, beta, (float(weights[0]), float(weights[1]), float(weights[2])))


def fitted_anchoring(initial: Float, final: Float, margin: float, *, continuous: bool = True) -> float:
    """Return a of the prior that tells last stances from first ones best, on the grid or beyond it."""
    grid = np.array(ANCHORING)

    def loss(anchoring: Float) -> Float:
        starts = np.broadcast_to(initial[:, None], (initial.size, np.size(anchoring)))
        error = stances_of(start_log_odds(starts, anchoring, margin)) - final[:, None]
        return np.asarray((error**2).mean(axis=0))

    losses = loss(grid)
    best = float(grid[int(np.argmin(losses))])
    if not continuous:
        return best
    bounds = (0.0, _LARGEST)
    result = optimize.minimize_scalar(
        lambda a: float(loss(np.array([a]))[0]), bounds=bounds, method="bounded", options={"xatol": 1e-6}
    )
    return float(result.x) if result.fun < losses.min() else best


def apply_baselines(spans: Spans, fitted: Baselines, margin: float) -> dict[str, Float]:
    """Return what each baseline says of every stretch, (k,) each."""
    evidence, mean = net_evidence(spans.rows), mean_shown(spans.rows)
    constant, by_start, by_evidence = fitted.regression
    return {
        "no_change": spans.initial.copy(),
        "prior_only": stances_of(start_log_odds(spans.initial, fitted.anchoring, margin)),
        "linear": spans.initial + fitted.beta * evidence,
        "mean_received": np.where(np.isnan(mean), spans.initial, mean),
        "regression": np.clip(constant + by_start * spans.initial + by_evidence * evidence, -1.0, 1.0),
    }
