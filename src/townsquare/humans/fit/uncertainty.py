"""How well the data identify the two fitted parameters: intervals, and a warning where they are not separable.

On the grid: conversations are drawn again with replacement and the best cell is taken each time. Beyond the grid: the
curvature of the squared error at the optimum, with errors that may go together within a conversation (a sandwich
estimate; Liang and Zeger 1986, *Biometrika* 73:13).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from townsquare.analysis.statistics import Estimate, correlation
from townsquare.beliefs.grids import Grid
from townsquare.core import registry
from townsquare.core.array_types import Float, Int64
from townsquare.humans.fit.fit import Setup, square_errors
from townsquare.humans.fit.predict import predict_cell
from townsquare.humans.fit.replayed import Spans
from townsquare.humans.fit.scores import resampled, sums_by

WIDE = 0.7
"""Share of a grid above which an interval says nothing."""
CORRELATED = 0.9
_Z = 1.959963984540054


class Certainty(NamedTuple):
    """Intervals of the two numbers, their correlation over resamples, and warnings."""

    x: Estimate
    y: Estimate
    correlation: float
    warnings: tuple[str, ...]


def on_grid(square: Float, group: Int64, grid: Grid, seed: int) -> Certainty:
    """Return CIs by a bootstrap over conversations; ``square`` is (k, cells), ``group`` (k,) conversation codes."""
    sums, counts = sums_by(square, group)
    cells = np.argmin(resampled(counts.size, seed) @ sums, axis=1)
    at_x, at_y = cells // len(grid.y), cells % len(grid.y)
    best = grid.cell(int(np.argmin(square.sum(axis=0))))
    x, y = np.array(grid.x)[at_x], np.array(grid.y)[at_y]
    together = float(np.nan_to_num(correlation(at_x, at_y)))  # 0 where one of them is the same in all resamples
    certainty = Certainty(_around(best[0], x), _around(best[1], y), together, ())
    return certainty._replace(warnings=tuple(warnings_of(certainty, grid)))


def beyond_grid(spans: Spans, setup: Setup, point: tuple[float, float], group: Int64, seed: int) -> Certainty:
    """Return CIs at a continuous optimum, in logarithms of the numbers where they are above 0.

    Rules whose error jumps with a number (``abrupt``) have no curvature: theirs are those of the grid.
    """
    grid = setup.grid
    if registry.get("beliefs", grid.rule).abrupt:
        certainty = on_grid(square_errors(spans, setup), group, grid, seed)
        return certainty._replace(x=_moved(certainty.x, point[0]), y=_moved(certainty.y, point[1]))
    slopes = _slopes(spans, setup, point)
    error = predict_cell(spans.rows, grid, setup.margin, *point) - spans.final
    scores, counts = sums_by(slopes * error[:, None], group)
    n = counts.size
    bread = slopes.T @ slopes
    if not np.isfinite(bread).all() or np.linalg.cond(bread) > 1e12:
        nothing = math.nan
        names = f"{grid.x_short} and {grid.y_short}"
        words = f"{names} are not separately identified: the error does not depend on one of them"
        return Certainty(Estimate(point[0], nothing, nothing), Estimate(point[1], nothing, nothing), nothing, (words,))
    inverse = np.linalg.inv(bread)
    spread = inverse @ (scores.T @ scores) @ inverse * n / max(n - 1, 1)
    sd = np.sqrt(np.diag(spread))
    x, y = (_log_interval(*given) for given in zip(point, sd.tolist(), (grid.x_bounds, grid.y_bounds), strict=True))
    correlation = float(spread[0, 1] / (sd[0] * sd[1])) if sd.all() else math.nan
    certainty = Certainty(x, y, correlation, ())
    return certainty._replace(warnings=tuple(warnings_of(certainty, grid)))


def warnings_of(certainty: Certainty, grid: Grid) -> list[str]:
    """Name parameters that the data do not identify, that are correlated, or that lie at the edge of the grid."""
    warnings = []
    for short, interval, values, bounds in (
        (grid.x_short, certainty.x, grid.x, grid.x_bounds),
        (grid.y_short, certainty.y, grid.y, grid.y_bounds),
    ):
        inside = sum(interval.low <= value <= interval.high for value in values)
        if inside > WIDE * len(values):
            warnings.append(f"{short} is poorly identified: its interval covers {inside} of {len(values)} grid values")
        edges = {values[-1], *bounds} | ({values[0]} if values[0] > bounds[0] else set())
        if interval.value in edges:
            warnings.append(f"{short} = {interval.value:g} lies at the edge of the grid")
    if abs(certainty.correlation) > CORRELATED:
        words = f"correlation {certainty.correlation:.2f} over resamples"
        warnings.append(f"{grid.x_short} and {grid.y_short} are not separately identified: {words}")
    return warnings


def _slopes(spans: Spans, setup: Setup, point: tuple[float, float]) -> Float:
    """Return (k, 2) change of each prediction with the logarithm of each number (with the number itself at 0)."""
    columns = []
    for axis in range(2):
        step = 1e-4 * point[axis] if point[axis] > 0 else 1e-4
        ends = []
        for sign in (1.0, -1.0 if point[axis] > 0 else 0.0):
            moved = list(point)
            moved[axis] += sign * step
            ends.append(predict_cell(spans.rows, setup.grid, setup.margin, *moved))
        scale = 2e-4 if point[axis] > 0 else 1e-4
        columns.append((ends[0] - ends[1]) / scale)
    return np.stack(columns, axis=1)


def _log_interval(value: float, sd: float, within: tuple[float, float]) -> Estimate:
    # Beyond a factor of e^50 the interval says nothing anyway.
    factor = math.exp(min(_Z * sd, 50.0))
    low, high = (0.0, _Z * sd) if value <= 0 else (value / factor, value * factor)
    return Estimate(value, max(low, within[0]), min(high, within[1]))


def _moved(interval: Estimate, value: float) -> Estimate:
    """Return the interval of another value, widened to hold it."""
    return Estimate(value, min(interval.low, value), max(interval.high, value))


def _around(value: float, drawn: Float) -> Estimate:
    low, high = np.percentile(drawn, [2.5, 97.5], method="inverted_cdf")
    return Estimate(value, min(float(low), value), max(float(high), value))
