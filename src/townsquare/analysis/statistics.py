"""Estimates with intervals, as plain numbers; the mathematics is that of scipy.

An interval is of 95% and two-sided. What is undefined (one value, no spread, no group to compare with) is NaN, never
an error and never 0, so that a run of one agent or without a single action gives the same tables as any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from townsquare.core.array_types import Float

LEVEL = 0.95
RESAMPLES = 1000
"""Draws of every bootstrap and permutation, from a generator with a fixed seed."""
MOST_RESAMPLED = 100_000


class Estimate(NamedTuple):
    """A value with the ends of its interval."""

    value: float
    low: float
    high: float


UNKNOWN = Estimate(math.nan, math.nan, math.nan)


class TTest(NamedTuple):
    """The t-test of a difference of means: its statistic, the difference with its interval, and P."""

    statistic: float
    value: float
    low: float
    high: float
    p: float


def tidy(rows: Sequence[Sequence[Any]], schema: dict[str, Any]) -> pl.DataFrame:
    """Return rows as a frame of a stated schema, which an empty list has too."""
    return pl.DataFrame(rows, schema=schema, orient="row")


def mean(values: npt.ArrayLike) -> Estimate:
    """Return mean of at least two values with Student's interval; of one, without.

    >>> mean([1.0, 2.0, 3.0]).value
    2.0
    """
    x = np.asarray(values, np.float64)
    if not x.size:
        return UNKNOWN
    center = float(x.mean())
    if x.size < 2:
        return Estimate(center, math.nan, math.nan)
    half = float(student(x.size - 1) * x.std(ddof=1) / math.sqrt(x.size))
    return Estimate(center, center - half, center + half)


def student(freedom: Sequence[int] | npt.NDArray[np.int64] | int) -> Float:
    """Return half the width of Student's interval at :data:`LEVEL`, in standard errors, by degrees of freedom.

    >>> student([1, 10]).round(2).tolist()
    [12.71, 2.23]
    """
    # scipy.stats.t, which gives the same, takes half a second to load.
    return np.asarray(scipy.special.stdtrit(freedom, 0.5 + LEVEL / 2), np.float64)


def difference(first: npt.ArrayLike, second: npt.ArrayLike) -> Estimate:
    """Return the mean of ``first`` minus the mean of ``second``, two independent samples, with Welch's interval."""
    return Estimate(*t_test(first, second)[1:4])


def varies(values: npt.ArrayLike) -> bool:
    """Return whether values differ by more than the rounding of floats: only then is there a spread to test against.

    >>> varies([0.3, 0.1 + 0.2]), varies([0.3, 0.31])
    (False, True)
    """
    x = np.asarray(values, np.float64)
    return bool(x.size and np.ptp(x) > 32 * np.finfo(np.float64).eps * np.abs(x).max())


def t_test(first: npt.ArrayLike, second: npt.ArrayLike, *, pooled: bool = False) -> TTest:
    """Test the mean of ``first`` minus that of ``second``, two independent samples: Welch's test, or Student's pooled.

    The test is NaN if neither sample varies (:func:`varies`). A sample that does not vary has the variance 0, as it
    should; SciPy takes it too, but warns of a loss of precision.

    >>> t_test([1.0, 1.0, 1.0], [2.0, 3.0, 4.0]).value, t_test([1.0, 1.0], [2.0, 2.0]).p
    (-2.0, nan)
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if min(a.size, b.size) < 1:
        return TTest(*[math.nan] * 5)
    value = float(a.mean() - b.mean())
    if min(a.size, b.size) < 2 or not (varies(a) or varies(b)):
        return TTest(math.nan, value, math.nan, math.nan, math.nan)
    squares = [float(np.square(x - x.mean()).sum()) if varies(x) else 0.0 for x in (a, b)]
    rest = (a.size - 1, b.size - 1)
    if pooled:
        freedom = float(sum(rest))
        error = math.sqrt(sum(squares) / freedom * (1 / a.size + 1 / b.size))
    else:
        parts = [square / n / (n + 1) for square, n in zip(squares, rest, strict=True)]
        error = math.sqrt(sum(parts))
        freedom = sum(parts) ** 2 / sum(part**2 / n for part, n in zip(parts, rest, strict=True))
    half = float(scipy.special.stdtrit(freedom, 0.5 + LEVEL / 2)) * error
    statistic = value / error
    return TTest(statistic, value, value - half, value + half, float(2 * scipy.special.stdtr(freedom, -abs(statistic))))


def share(part: int, whole: int) -> Estimate:
    """Return ``part / whole`` with Wilson's interval.

    >>> share(5, 10).value
    0.5
    """
    if whole <= 0:
        return UNKNOWN
    ends = scipy.stats.binomtest(part, whole).proportion_ci(LEVEL, method="wilson")
    return Estimate(part / whole, float(ends.low), float(ends.high))


def samples_of(frame: pl.DataFrame, by: str) -> list[Float]:
    """Return the column ``value`` of each group that has two rows at least, groups in order of appearance."""
    groups = (rows["value"].to_numpy() for _, rows in frame.group_by(by, maintain_order=True))
    return [values for values in groups if values.size >= 2]


def corrected(p: npt.ArrayLike) -> Float:
    """Return P-values after the correction of Benjamini and Hochberg (1995) for as many tests as are not NaN."""
    values = np.array(p, np.float64)
    known = ~np.isnan(values)
    ordered = np.flatnonzero(known)[np.argsort(values[known])[::-1]]  # the largest first
    raised = values[ordered] * ordered.size / np.arange(ordered.size, 0, -1)
    values[ordered] = np.minimum(np.minimum.accumulate(raised), 1.0)
    return values


def with_corrected(frame: pl.DataFrame, p: str = "p", by: Sequence[str] = ()) -> pl.DataFrame:
    """Add a column ``<p>_corrected``: :func:`corrected` over all rows, or over the rows of each group."""
    values = np.full(frame.height, math.nan)
    rows = frame.with_row_index("_row")
    for group in [part for _, part in rows.group_by(by)] if by else [rows]:
        values[group["_row"].to_numpy()] = corrected(group[p].to_numpy())
    return frame.with_columns(pl.Series(f"{p}_corrected", values, dtype=pl.Float64))


def correlation(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return Pearson's r; NaN below two pairs, or where one side does not vary.

    >>> correlation([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    1.0
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    return float(np.corrcoef(a, b)[0, 1]) if a.size > 1 and np.ptp(a) > 0 and np.ptp(b) > 0 else math.nan


def gini(values: npt.ArrayLike) -> float:
    """Return gini coefficient of amounts of at least 0: 0 all equal, 1 − 1/n all with one of n. NaN where all are 0.

    >>> gini([0, 0, 0, 8])
    0.75
    """
    x = np.sort(np.asarray(values, np.float64))
    total = float(x.sum())
    if not x.size or total <= 0.0:
        return math.nan
    rank = np.arange(1, x.size + 1)
    return float((2 * rank - x.size - 1) @ x / (x.size * total))


def bootstrap(values: npt.ArrayLike, statistic: Callable[[Float], float], seed: int = 0) -> Estimate:
    """Return a statistic of one sample with its percentile interval; equal samples have equal intervals.

    There are ``RESAMPLES`` resamples; of more than 4,000 values fewer, down to 100. Above 100,000 values, of which the
    interval would be narrow, there is none.
    """
    x = np.asarray(values, np.float64)
    point = float(statistic(x)) if x.size else math.nan
    if not 3 <= x.size <= MOST_RESAMPLED or math.isnan(point) or x.min() == x.max():
        return Estimate(point, math.nan, math.nan)
    draw = np.random.default_rng(seed)
    resamples = max(100, min(RESAMPLES, 4_000_000 // x.size))
    again = [float(statistic(x[draw.integers(0, x.size, x.size)])) for _ in range(resamples)]
    # Resamples for which the statistic is undefined, as the Gini of nothing but zeros, are left out.
    low, high = np.nanquantile(again, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(point, float(low), float(high))


class Association(NamedTuple):
    """A chi-square test of two classifications, with Cramér's V."""

    chi2: float
    dof: int
    p: float
    v: float
    low: float
    high: float
    v_corrected: float
    smallest_expected: float


NO_ASSOCIATION = Association(math.nan, 0, *[math.nan] * 6)


def cramers_v(table: npt.ArrayLike) -> Association:
    """Return chi-square without continuity correction, and Cramér's V with an interval.

    Parameters
    ----------
    table : (r, c) array of counts
        Empty rows and columns are left out. With fewer than two of either everything is NaN.

    Notes
    -----
    The interval turns that of the noncentrality of the chi-square distribution into V (Smithson 2003, *Confidence
    Intervals*). V is never negative and so too high in small samples: ``v_corrected`` is Bergsma's (2013, *Journal of
    the Korean Statistical Society* 42). Below a smallest expected count of about 5 read the p-value as a rough one.
    """
    counts = np.asarray(table, np.float64)
    if counts.ndim == 2:
        counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if counts.ndim != 2 or min(counts.shape) < 2:
        return NO_ASSOCIATION
    test = scipy.stats.chi2_contingency(counts, correction=False)
    chi2, dof, n = float(test.statistic), int(test.dof), float(counts.sum())
    rows, columns = counts.shape
    least = min(rows, columns) - 1
    low, high = (min(math.sqrt(at / (n * least)), 1.0) for at in _noncentrality(chi2, dof))
    excess = max(0.0, chi2 / n - (rows - 1) * (columns - 1) / (n - 1))
    fewer = min(rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)) - 1
    v = float(scipy.stats.contingency.association(counts.astype(np.int64), method="cramer"))
    unbiased = math.sqrt(excess / fewer) if fewer > 0 else math.nan
    return Association(chi2, dof, float(test.pvalue), v, low, high, unbiased, float(test.expected_freq.min()))


def _noncentrality(chi2: float, dof: int) -> tuple[float, float]:
    """Return ends of the interval of the noncentrality under which ``chi2`` was drawn."""

    def end(tail: float) -> float:
        def excess(at: float) -> float:
            return float(scipy.stats.ncx2.cdf(chi2, dof, at)) - tail

        if float(scipy.stats.chi2.cdf(chi2, dof)) <= tail:
            return 0.0
        top = chi2 + 10.0
        while excess(top) > 0:
            top *= 2
        return float(scipy.optimize.brentq(excess, 1e-12, top))

    return end((1 + LEVEL) / 2), end((1 - LEVEL) / 2)
