"""Is it a power law? Curves over ranks, and distributions of sizes by maximum likelihood.

A curve c·rank^−a through the sizes in falling order is a power law of *ranks*. Its exponent is not that of a power law
of *sizes*, P(x) ~ x^−α, which is what the literature's 1.5 to 2.5 are about; for an exact one, a = 1/(α − 1). A good
fit to ranks shows little: sizes in falling order lie on some smooth curve whatever they come from, and neighbors are
not independent. The way to ask is a fit by maximum likelihood to the sizes with likelihood ratios against other
distributions (Clauset, Shalizi and Newman 2009, *SIAM Review* 51), here by the package powerlaw (Alstott, Bullmore and
Plenz 2014, *PLOS ONE* 9).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy

from townsquare.analysis.contract import columns
from townsquare.analysis.statistics import tidy
from townsquare.core.array_types import Float
from townsquare.core.extras import library

FITS = columns("model:str formula:str n:int a b c r2 aic")
SIZES = columns("model:str x_min n:int n_tail:int alpha low high ks against:str log_ratio p better:str")
ALTERNATIVES = ("lognormal", "exponential")
MOST_VALUES = 20_000
"""Of more sizes than this, that many evenly spaced ones in order represent all: the search for ``x_min`` fits each."""


_CURVES: tuple[tuple[str, str, Callable[..., Float], tuple[float, ...]], ...] = (
    ("power law", "a · rank^−b", lambda x, a, b: a * x ** (-b), (1.0, 0.6)),
    ("exponential", "a · exp(−b · rank)", lambda x, a, b: a * np.exp(-b * x), (1.0, 0.05)),
    ("stretched exponential", "a · exp(−b · rank^c)", lambda x, a, b, c: a * np.exp(-b * x**c), (1.5, 0.2, 0.7)),
    ("logarithm", "a − b · ln rank", lambda x, a, b: a - b * np.log(x), (1.0, 0.25)),
)


def rank_fits(values: npt.ArrayLike, top: int = 50) -> pl.DataFrame:
    """Return curves fitted by least squares to the largest values in falling order, against their rank.

    Parameters
    ----------
    values : array of amounts of at least 0
    top : int
        How many of the largest are fitted.

    Returns
    -------
    DataFrame
        One row per curve: ``model``, ``formula``, ``n`` (points), its parameters ``a``, ``b``, ``c`` (NaN where it has
        none), ``r2`` (share of the variance of the values), ``aic`` (n ln(rss/n) + 2 k: lower is better, whatever
        the number of parameters). No rows for fewer than five values or where all are equal.
    """
    y = np.sort(np.asarray(values, np.float64))[::-1][:top]
    if y.size < 5 or y[0] == y[-1]:
        return tidy([], FITS)
    rank = np.arange(1, y.size + 1, dtype=np.float64)
    rows = []
    for model, formula, curve, start in _CURVES:
        first = (start[0] * y[0], *(start[1:] if model != "logarithm" else (start[1] * y[0],)))
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # on the way to the best curve
                coefficients, _ = scipy.optimize.curve_fit(curve, rank, y, p0=first, maxfev=20_000)
        except RuntimeError:  # did not converge
            rows.append((model, formula, y.size, *[math.nan] * 5))
            continue
        rest = max(float(((y - curve(rank, *coefficients)) ** 2).sum()), 1e-300)  # 0 where a curve is exact
        given = [*map(float, coefficients), *[math.nan] * (3 - len(coefficients))]
        r2 = 1.0 - rest / float(((y - y.mean()) ** 2).sum())
        rows.append((model, formula, y.size, *given, r2, y.size * math.log(rest / y.size) + 2 * len(coefficients)))
    return tidy(rows, FITS)


def size_models(values: npt.ArrayLike) -> pl.DataFrame:
    """Fit a discrete power law P(x) ~ x^−α, x ≥ x_min, by maximum likelihood, and compare it with alternatives.

    Parameters
    ----------
    values : array of whole amounts
        Zeros, which no power law has, are left out.

    Returns
    -------
    DataFrame
        Two rows an alternative (``lognormal``, ``exponential``): with the ``x_min`` that brings the power law nearest
        to the data, and with ``x_min`` 1, all amounts. ``model`` (``power law``), ``x_min``, ``n`` (amounts above
        0), ``n_tail`` (from ``x_min`` on), ``alpha`` with ``low`` and ``high`` (normal interval from its standard
        error), ``ks`` (distance of Kolmogorov and Smirnov), ``against``, ``log_ratio`` (normalized log likelihood
        ratio: above 0 favors the power law), ``p`` (two-sided, that the ratio is no more than chance; Vuong 1989),
        ``better``: ``power law`` or the alternative where p < 0.1, else ``neither``. No rows for fewer than ten
        amounts above 0, or where all are equal, nor for an ``x_min`` that cannot be found.

    Raises
    ------
    MissingExtra
        powerlaw is not installed.
    """
    x = np.sort(np.asarray(values, np.float64))
    x = x[x > 0]
    powerlaw = library("powerlaw")
    if x.size < 10 or x[0] == x[-1]:
        return tidy([], SIZES)
    if x.size > MOST_VALUES:
        x = x[np.linspace(0, x.size - 1, MOST_VALUES).astype(np.int64)]
    rows: list[tuple[Any, ...]] = []
    for x_min in (None, 1.0):
        with warnings.catch_warnings(action="ignore"):  # it warns of values of a search that it then leaves
            fit = powerlaw.Fit(x, discrete=True, xmin=x_min, verbose=False)
            if not math.isfinite(fit.xmin):  # few distinct amounts: the search finds none
                continue
            rows += [_against(fit, x, other) for other in ALTERNATIVES]
    return tidy(rows, SIZES)


def _against(fit: Any, x: Float, other: str) -> tuple[Any, ...]:
    law = fit.power_law
    alpha, error, x_min = float(law.alpha), float(law.sigma), float(fit.xmin)
    tail = int((x >= x_min).sum())
    ratio, p = (float(value) for value in fit.distribution_compare("power_law", other, normalized_ratio=True))
    better = "neither" if not p < 0.1 else ("power law" if ratio > 0 else other)
    ends = (alpha - 1.96 * error, alpha + 1.96 * error)
    return ("power law", x_min, x.size, tail, alpha, *ends, float(law.D), other, ratio, p, better)
