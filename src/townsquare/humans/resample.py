"""Estimates with percentile intervals from a bootstrap over whole people, groups, items or conversations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy import optimize

from townsquare.analysis.statistics import Estimate
from townsquare.core.array_types import Bool, Float, Int64
from townsquare.humans.fit.folds import folds_by
from townsquare.humans.fit.scores import percentiles

DRAWS = 1_000
SEED = 42
_NUMBERS_AT_ONCE = 4_000_000


def codes(*columns: Sequence[object]) -> Int64:
    """Return the number of each row's cluster, by the values of one or several columns, in the order of the values.

    >>> codes(["b", "a", "b"]).tolist()
    [1, 0, 1]
    """
    rows = list(zip(*columns, strict=True))
    number = {row: at for at, row in enumerate(sorted(set(rows)))}
    return np.array([number[row] for row in rows], np.int64)


def sums(cluster: Int64, *columns: npt.ArrayLike) -> Float:
    """Return sums of columns by cluster, (clusters, columns); clusters without rows are left out."""
    _, at = np.unique(cluster, return_inverse=True)
    return np.stack([np.bincount(at, np.asarray(column, np.float64)) for column in columns], axis=1)


def estimate(statistic: Callable[..., Float], *tables: Float) -> Estimate:
    """Return a statistic of sums, with its interval when the clusters of each table are drawn again.

    Parameters
    ----------
    statistic : callable
        Takes the sums of each table, (draws, columns), and returns (draws,).
    tables : (clusters, columns) float64
        From :func:`sums`.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(*(table.sum(axis=0)[None] for table in tables))[0])
        if min(len(table) for table in tables) < 2:
            return Estimate(value, math.nan, math.nan)
        drawn = statistic(*(np.concatenate(list(_drawn(table, at))) for at, table in enumerate(tables)))
    drawn = drawn[np.isfinite(drawn)]
    return Estimate(value, *percentiles(drawn)) if drawn.size else Estimate(value, math.nan, math.nan)


def _drawn(table: Float, stream: int) -> Iterator[Float]:
    """Yield sums over clusters drawn with replacement, some draws at a time: a table may have many clusters."""
    draw, n = np.random.default_rng([SEED, stream]), len(table)
    table = table[np.lexsort(np.round(table, 9).T)]  # whatever the order of the rows and the names of the clusters
    some = max(1, _NUMBERS_AT_ONCE // n)
    for first in range(0, DRAWS, some):
        yield draw.multinomial(n, np.full(n, 1.0 / n), size=min(some, DRAWS - first)) @ table


def ratio(table: Float) -> Float:
    """Return the second column over the first: a mean of (rows, sum), a slope of (Σ x², Σ x y)."""
    return np.asarray(table[:, 1] / table[:, 0])


def mean_difference(treated: Float, control: Float) -> Float:
    """Return the difference of two means; columns as in :func:`ratio`."""
    return ratio(treated) - ratio(control)


def correlation(table: Float) -> Float:
    """Return Pearson's r; columns are n, Σ x, Σ y, Σ x², Σ y², Σ x y."""
    n, x, y, xx, yy, xy = table.T
    return np.asarray((xy - x * y / n) / np.sqrt((xx - x * x / n) * (yy - y * y / n)))


def pair_sums(cluster: Int64, x: Float, y: Float) -> Float:
    """Return the columns of :func:`correlation`."""
    return sums(cluster, np.ones(x.size), x, y, x * x, y * y, x * y)


def rmse(errors: Float) -> float:
    """Return the root of the mean square; NaN for nothing."""
    return math.sqrt(float((errors**2).mean())) if errors.size else math.nan


def rmse_difference(cluster: Int64, first: Float, second: Float) -> Estimate:
    """Return RMSE of the first errors minus that of the second, with its interval."""
    table = sums(cluster, np.ones(first.size), first**2, second**2)
    return estimate(lambda t: np.sqrt(t[:, 1] / t[:, 0]) - np.sqrt(t[:, 2] / t[:, 0]), table)


def out_of_fold(
    loss: Callable[[float, Bool], float], cluster: Int64, bounds: tuple[float, float]
) -> tuple[Float, Int64]:
    """Return the number that minimizes ``loss`` without each row's fold, (n,), and the folds of whole clusters.

    Parameters
    ----------
    loss : callable
        Takes a number and the rows to fit to.
    cluster : (n,) int64
    bounds : (float, float)
    """
    fold = folds_by([str(name) for name in cluster.tolist()], "group", "people", SEED)
    values = np.empty(fold.size)
    for k in range(int(fold.max()) + 1):
        rows = fold != k
        result = optimize.minimize_scalar(lambda x, rows=rows: loss(x, rows), bounds=bounds, method="bounded")
        values[~rows] = result.x
    return values, fold
