"""How well the data tell the two fitted numbers: intervals, and a warning where they cannot be told apart.

On the grid: conversations are drawn anew with replacement and the best cell is taken each time. Beyond the grid: the
curvature of the squared error at the optimum, with errors that may go together within a conversation (a sandwich
estimate; Liang and Zeger 1986, *Biometrika* 73:13).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from townsquare.beliefs.grids import Grid
from townsquare.core import registry
from townsquare.core.array_types import Float, Int64
from townsquare.humans.fit.fit import Setup, square_errors
from townsquare.humans.fit.predict import predict_cell
from townsquare.humans.fit.replayed import Spans
from townsquare.humans.fit.scores import Interval, resampled, sums_by

WIDE = 0.7
"""Share of a grid above which an interval says nothing."""
TIED = 0.9
_Z = 1.959963984540054


class Certainty(NamedTuple):
    """Intervals of the two numbers, their correlation over resamples, and what a reader must mind."""

    x: Interval
    y: Interval
    correlation: float
    warnings: tuple[str, ...]


def on_grid(square: Float, group: Int64, grid: Grid, seed: int) -> Certainty:
    """Intervals by a bootstrap over conversations; ``square`` is (k, cells), ``group`` (k,) codes of conversations."""
    sums, counts = sums_by(square, group)
    cells = np.argmin(resampled(counts.size, seed) @ sums, axis=1)
    at_x, at_y = cells // len(grid.y), cells % len(grid.y)
    best = grid.cell(int(np.argmin(square.sum(axis=0))))
    x, y = np.array(grid.x)[at_x], np.array(grid.y)[at_y]
    correlation = _correlation(at_x.astype(np.float64), at_y.astype(np.float64))
    found = Certainty(_around(best[0], x), _around(best[1], y), correlation, ())
    return found._replace(warnings=tuple(warnings_of(found, grid)))


def beyond_grid(spans: Spans, setup: Setup, point: tuple[float, float], group: Int64, seed: int) -> Certainty:
    """Intervals at an optimum found by continuous search, in the logarithms of the numbers where they are above 0.

    Rules whose error jumps with a number (``abrupt``) have no curvature: theirs are those of the grid.
    """
    grid = setup.grid
    if registry.get("beliefs", grid.rule).abrupt:
        found = on_grid(square_errors(spans, setup), group, grid, seed)
        return found._replace(x=_moved(found.x, point[0]), y=_moved(found.y, point[1]))
    slopes = _slopes(spans, setup, point)
    error = predict_cell(spans.rows, grid, setup.margin, *point) - spans.final
    scores, counts = sums_by(slopes * error[:, None], group)
    n = counts.size
    bread = slopes.T @ slopes
    if not np.isfinite(bread).all() or np.linalg.cond(bread) > 1e12:
        nothing = math.nan
        words = (
            f"{grid.x_short} and {grid.y_short} are not separately identified: the error does not depend on one of them"
        )
        return Certainty(Interval(point[0], nothing, nothing), Interval(point[1], nothing, nothing), nothing, (words,))
    inverse = np.linalg.inv(bread)
    spread = inverse @ (scores.T @ scores) @ inverse * n / max(n - 1, 1)
    sd = np.sqrt(np.diag(spread))
    bounds = (grid.x_bounds, grid.y_bounds)
    x, y = (_log_interval(value, one, within) for value, one, within in zip(point, sd.tolist(), bounds, strict=True))
    correlation = float(spread[0, 1] / (sd[0] * sd[1])) if sd.all() else math.nan
    found = Certainty(x, y, correlation, ())
    return found._replace(warnings=tuple(warnings_of(found, grid)))


def warnings_of(found: Certainty, grid: Grid) -> list[str]:
    """In words: numbers that the data do not tell, that trade off, or that lie at the edge of what was tried."""
    said = []
    for short, one, values, bounds in (
        (grid.x_short, found.x, grid.x, grid.x_bounds),
        (grid.y_short, found.y, grid.y, grid.y_bounds),
    ):
        inside = sum(one.low <= value <= one.high for value in values)
        if inside > WIDE * len(values):
            said.append(f"{short} is poorly identified: its interval covers {inside} of {len(values)} grid values")
        edges = {values[-1], *bounds} | ({values[0]} if values[0] > bounds[0] else set())
        if one.value in edges:
            said.append(f"{short} = {one.value:g} lies at the edge of the grid")
    if abs(found.correlation) > TIED:
        words = f"correlation {found.correlation:.2f} over resamples"
        said.append(f"{grid.x_short} and {grid.y_short} are not separately identified: {words}")
    return said


def _slopes(spans: Spans, setup: Setup, point: tuple[float, float]) -> Float:
    """(k, 2) change of each prediction with the logarithm of each number (with the number itself at 0)."""
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


def _log_interval(value: float, sd: float, within: tuple[float, float]) -> Interval:
    # Beyond a factor of e^50 the interval says nothing anyway.
    factor = math.exp(min(_Z * sd, 50.0))
    low, high = (0.0, _Z * sd) if value <= 0 else (value / factor, value * factor)
    return Interval(value, max(low, within[0]), min(high, within[1]))


def _moved(one: Interval, value: float) -> Interval:
    """The interval of another value, widened to hold it."""
    return Interval(value, min(one.low, value), max(one.high, value))


def _around(value: float, drawn: Float) -> Interval:
    low, high = np.percentile(drawn, [2.5, 97.5], method="inverted_cdf")
    return Interval(value, min(float(low), value), max(float(high), value))


def _correlation(one: Float, other: Float) -> float:
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
