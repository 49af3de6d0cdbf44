"""Arms against a baseline, seed by seed.

Runs of one seed share population, graph and random draws, so that most of what differs between seeds falls out of the
difference between two arms. The interval is Student's t over those differences; it says nothing beyond the seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from townsquare.analysis import statistics
from townsquare.analysis.contract import columns
from townsquare.core.registry import check_known

LEVEL = 0.95
KEYS = ("arm", "seed")
BySeed = dict[int, float]

ONE_SEED = "one seed: no interval"
NO_VALUES = "undefined in one of the two arms"
BASELINE = "baseline"
SAME = "the same difference with every seed"


def paired(outcomes: pl.DataFrame, baseline_arm: str, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Return every arm's mean, and its difference from the baseline, for each outcome.

    Parameters
    ----------
    outcomes : DataFrame
        One row per run: ``arm`` (str), ``seed`` (int), and a float column for each outcome; NaN and null are undefined.
    baseline_arm : str
        The arm that the others are compared with.
    names : sequence of str, optional
        Columns to compare; by default all but ``arm`` and ``seed``.

    Returns
    -------
    DataFrame
        One row per outcome and arm, in the order of columns and of first appearance: ``outcome``, ``arm``; ``mean``
        and ``n`` (seeds in which it is defined); ``difference`` (mean over the seeds in which both are defined),
        ``low`` and ``high`` (95% t interval), ``p`` (two-sided, of no difference), ``pairs`` (those seeds);
        ``p_holm`` and ``p_fdr`` (:func:`corrected`, over all rows of the frame); ``note``, which says why a number is
        NaN.

    Raises
    ------
    UnknownName
        There is no such arm.

    >>> runs = pl.DataFrame({"arm": ["a", "a", "b", "b"], "seed": [1, 2, 1, 2], "reach": [1.0, 2.0, 3.0, 5.0]})
    >>> paired(runs, "a").select("arm", "mean", "difference", "pairs").rows()
    [('a', 1.5, 0.0, 2), ('b', 4.0, 2.5, 2)]
    """
    rows = [
        {"outcome": name, "arm": arm, **_compare(here, base, arm == baseline_arm)}
        for name, arm, here, base in beside_baseline(outcomes, baseline_arm, names)
    ]
    return corrected(pl.DataFrame(rows, schema=_SCHEMA))


def beside_baseline(
    outcomes: pl.DataFrame, baseline: str, names: Sequence[str] | None = None
) -> Iterator[tuple[str, str, BySeed, BySeed]]:
    """Give each outcome and arm, with the defined values by seed, of this arm and of the baseline.

    Raises
    ------
    UnknownName
        There is no such arm.
    """
    arms = outcomes["arm"].unique(maintain_order=True).to_list()
    check_known(BASELINE, baseline, arms)
    keys = outcomes.select(KEYS).rows()
    for name in [name for name in outcomes.columns if name not in KEYS] if names is None else names:
        by_arm: dict[str, BySeed] = {arm: {} for arm in arms}
        for (arm, seed), value in zip(keys, outcomes[name].cast(pl.Float64).fill_nan(None), strict=True):
            if value is not None:
                by_arm[arm][seed] = value
        yield from ((name, arm, by_arm[arm], by_arm[baseline]) for arm in arms)


def corrected(tests: pl.DataFrame) -> pl.DataFrame:
    """Add p values that are corrected for multiple tests.

    Parameters
    ----------
    tests : DataFrame
        With a column ``p``; NaN and null are no tests.

    Returns
    -------
    DataFrame
        The same with ``p_holm`` (chance of one false finding among all: Holm 1979, Scandinavian Journal of Statistics
        6) and ``p_fdr`` (share of false ones among findings: Benjamini and Hochberg 1995, Journal of the Royal
        Statistical Society B 57); NaN where there is no test.

    >>> corrected(pl.DataFrame({"p": [0.01, 0.04, None, 0.03]}))["p_holm"].to_list()
    [0.03, 0.06, nan, 0.06]
    """
    p = tests["p"].cast(pl.Float64).fill_null(math.nan).to_numpy()
    known = np.flatnonzero(~np.isnan(p))
    holm = np.full(p.shape, math.nan)
    holm[known] = _holm(p[known])
    return tests.with_columns(pl.Series("p_holm", holm), pl.Series("p_fdr", statistics.corrected(p)))


def _holm(p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return Holm's step-down p values."""
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(p.size, 0, -1)
    out = np.empty_like(p)
    out[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return out


_SCHEMA = columns("outcome:str arm:str mean n:int difference low high p pairs:int note:str")


def _compare(here: BySeed, base: BySeed, is_base: bool) -> dict[str, object]:
    differences = np.array([here[seed] - base[seed] for seed in sorted(here.keys() & base.keys())])
    interval = t_interval(differences)
    if is_base:
        interval = (0.0 if here else math.nan, math.nan, math.nan, math.nan, BASELINE)
    mean = float(np.mean(list(here.values()))) if here else math.nan
    row: dict[str, object] = {"mean": mean, "n": len(here), "pairs": len(differences)}
    return row | dict(zip(("difference", "low", "high", "p", "note"), interval, strict=True))


def t_interval(differences: npt.NDArray[np.float64]) -> tuple[float, float, float, float, str]:
    """Return mean, 95% t interval, two-sided p for a mean of 0, and a note where one of them is NaN.

    Parameters
    ----------
    differences : (n,) float64
        Paired differences, finite.

    >>> t_interval(np.array([0.5]))
    (0.5, nan, nan, nan, 'one seed: no interval')
    """
    n, interval = len(differences), statistics.mean(differences)
    if n < 2:
        return *interval, math.nan, ONE_SEED if n else NO_VALUES
    error = float(np.std(differences, ddof=1)) / math.sqrt(n)
    if error == 0.0:
        return *interval, 1.0 if interval.value == 0.0 else math.nan, SAME
    return *interval, 2.0 * float(special.stdtr(n - 1, -abs(interval.value) / error)), ""


def margin_of(spread: npt.NDArray[np.float64], n: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.float64]:
    """Return half the width of the 95% t interval of a mean; NaN for a single value.

    Parameters
    ----------
    spread : (k,) float64
        Standard deviations with ``n - 1``.
    n : (k,) int
        Numbers of values, at least 1.

    >>> [round(float(half), 3) for half in margin_of(np.array([1.0, math.nan]), np.array([10, 1]))]
    [0.715, nan]
    """
    return np.where(n > 1, statistics.student(np.maximum(n - 1, 1)) * spread / np.sqrt(n), math.nan)
