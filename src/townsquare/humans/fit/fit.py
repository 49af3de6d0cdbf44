"""Fit the two settings of a rule by grid or continuous search, and predict held-out folds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import optimize

from townsquare.beliefs.grids import Grid
from townsquare.core.array_types import Bool, Float, Int64
from townsquare.humans.fit.baselines import Baselines, apply_baselines, fit_baselines
from townsquare.humans.fit.predict import predict_cell, predict_grid
from townsquare.humans.fit.replayed import Spans, take

RULE = "rule"
"""Name of the rule among the methods that are scored; the others are :data:`townsquare.humans.fit.baselines.BASELINES`.
"""
_TOLERANCE = 1e-7


class Setup(NamedTuple):
    """The grid of a rule, ε, and whether to search beyond the grid."""

    grid: Grid
    margin: float
    continuous: bool = False


class HeldOut(NamedTuple):
    """Results of held-out folds.

    Attributes
    ----------
    fold : (k,) int64
        Fold of each stretch.
    chosen : tuple of (float, float)
        x and y chosen without each fold.
    baselines : tuple of Baselines
        Fitted without each fold.
    predicted : dict of str to (k,) float64
        What each method says of every stretch, fitted without the stretch's fold.
    """

    fold: Int64
    chosen: tuple[tuple[float, float], ...]
    baselines: tuple[Baselines, ...]
    predicted: dict[str, Float]


def square_errors(spans: Spans, setup: Setup) -> Float:
    """Return (k, cells) squared error of every stretch in every cell."""
    return np.asarray((predict_grid(spans.rows, setup.grid, setup.margin) - spans.final[:, None]) ** 2)


def choose(spans: Spans, setup: Setup, square: Float, rows: Bool) -> tuple[float, float]:
    """Return x and y with the least mean squared error over some stretches; the first of equal cells."""
    start = setup.grid.cell(int(np.argmin(np.asarray(rows, np.float64) @ square)))
    return refine(spans, setup, rows, start) if setup.continuous else start


def refine(spans: Spans, setup: Setup, rows: Bool, start: tuple[float, float]) -> tuple[float, float]:
    """Search from a cell, within the bounds of the two numbers; never worse than the cell."""
    grid, at = setup.grid, np.flatnonzero(rows)
    fitted_rows, final = take(spans.rows, at), spans.final[at]

    def loss(point: Float) -> float:
        result = predict_cell(fitted_rows, grid, setup.margin, float(point[0]), float(point[1]))
        return float(((result - final) ** 2).mean())

    # Steps are relative: the grids are nearly geometric, and each starts where its own values lie.
    first = np.array(start)
    simplex = np.stack([first, first * [1.4, 1.0] + [1e-3, 0.0], first * [1.0, 1.4] + [0.0, 1e-3]])
    bounds = [grid.x_bounds, grid.y_bounds]
    simplex = np.clip(simplex, [low for low, _ in bounds], [high for _, high in bounds])
    result = optimize.minimize(
        loss, first, method="Nelder-Mead", bounds=bounds,
        options={"initial_simplex": simplex, "xatol": 1e-5, "fatol": _TOLERANCE, "maxiter": 400},
    )  # fmt: skip
    return (float(result.x[0]), float(result.x[1])) if result.fun <= loss(first) else start


def fit_rows(spans: Spans, setup: Setup, square: Float, rows: Bool) -> tuple[tuple[float, float], Baselines]:
    """Return x and y, and the numbers of the baselines, fitted to some stretches."""
    return choose(spans, setup, square, rows), fit_baselines(spans, rows, setup.margin, continuous=setup.continuous)


def predict_all(spans: Spans, setup: Setup, point: tuple[float, float], baselines: Baselines) -> dict[str, Float]:
    """Return (k,) final stances by method: by the rule, and by each baseline."""
    predicted = predict_cell(spans.rows, setup.grid, setup.margin, *point)
    return {RULE: predicted, **apply_baselines(spans, baselines, setup.margin)}


def hold_out(spans: Spans, setup: Setup, fold: Int64, square: Float) -> HeldOut:
    """Fit rule and baselines without each fold in turn, and say what they make of it.

    Parameters
    ----------
    spans : Spans
        k stretches.
    setup : Setup
    fold : (k,) int64
        From 0.
    square : (k, cells) float64
        From :func:`square_errors`.
    """
    chosen, baselines = [], []
    predicted: dict[str, Float] = {}
    for k in range(int(fold.max()) + 1):
        held_out = fold == k
        point, fitted = fit_rows(spans, setup, square, ~held_out)
        chosen.append(point)
        baselines.append(fitted)
        for name, values in predict_all(spans, setup, point, fitted).items():
            predicted.setdefault(name, np.empty(spans.final.size))[held_out] = values[held_out]
    return HeldOut(fold, tuple(chosen), tuple(baselines), predicted)
