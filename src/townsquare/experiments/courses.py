"""Courses of all runs of a comparison, and their means by arm with bands over seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from townsquare.analysis.contract import columns
from townsquare.analysis.courses import COURSES
from townsquare.core.words import significant
from townsquare.experiments.paired import margin_of

_BANDS = columns("arm:str") | COURSES | columns("low high seeds:int")
_BARS = "▁▂▃▄▅▆▇█"


def bands(of_runs: pl.DataFrame) -> pl.DataFrame:
    """Return means over seeds with 95% t intervals of :meth:`townsquare.experiments.manifest.Experiment.courses`.

    Returns
    -------
    DataFrame
        ``arm``, the columns of a course, ``value`` (mean), ``low``, ``high`` (NaN with one seed; shares and
        probabilities are cut at 0 and 1), ``seeds``.
    """
    ends, is_bounded = _intervals(of_runs), pl.col("unit").is_in(["share", "probability"])
    both = pl.col("low", "high")
    return ends.with_columns(pl.when(is_bounded).then(both.clip(0, 1)).otherwise(both))


def _intervals(of_runs: pl.DataFrame) -> pl.DataFrame:
    keys = ["arm", *(name for name in COURSES if name != "value")]
    value = pl.col("value")
    mean, spread = value.mean().alias("value"), value.std(ddof=1).fill_null(math.nan).alias("spread")
    of_seeds = of_runs.drop_nans("value").group_by(keys, maintain_order=True).agg(mean, spread, pl.len().alias("seeds"))
    margin = pl.Series("margin", margin_of(of_seeds["spread"].to_numpy(), of_seeds["seeds"].to_numpy()))
    ends = of_seeds.with_columns((value - margin).alias("low"), (value + margin).alias("high"))
    return ends.select(list(_BANDS)).cast(_BANDS)


def differences(of_runs: pl.DataFrame, baseline: str) -> pl.DataFrame:
    """Return the same of each other arm less the baseline, paired by seed: ``value`` is the mean difference."""
    keys = ["seed", *(name for name in COURSES if name != "value")]
    base = of_runs.filter(arm=baseline).select(*keys, pl.col("value").alias("base"))
    others = of_runs.filter(pl.col("arm") != baseline).join(base, on=keys, maintain_order="left")
    return _intervals(others.with_columns(pl.col("value") - pl.col("base")))


def course_of(outcome: str, known: Sequence[str]) -> str:
    """Return the course that shows an outcome: the stances of its proposition, or else reach by age; "" if none.

    >>> course_of("polarization.safe", ["reach_by_age", "stance.safe"]), course_of("f1", ["reach_by_age"])
    ('stance.safe', 'reach_by_age')
    """
    wanted = (f"stance.{outcome.partition('.')[2]}", "reach_by_age", *known)
    return next((name for name in wanted if name in known), "")


class Sparklines(NamedTuple):
    """One course as a row of bars by arm, all on one scale."""

    title: str
    of_arm: Mapping[str, str]


def sparklines(drawn: pl.DataFrame, outcome: str) -> Sparklines:
    """Return the course that shows an outcome as a row of bars for each arm, of the frame of :func:`bands`."""
    course = course_of(outcome, drawn["course"].unique(maintain_order=True).to_list())
    shown = drawn.filter(course=course)
    if not shown.height:
        return Sparklines("course", {})
    low, high = shown.select(pl.min("value"), pl.max("value").alias("high")).row(0)
    over = shown["over"][0].rpartition("(")[2].rstrip(")")
    length = f" over {significant(shown['at'].to_numpy().max())} {over}" if over in ("days", "hours") else ""
    title = f"{shown['title'][0]}, {significant(low)} to {significant(high)} {shown['unit'][0]}{length}"
    by_arm = shown.group_by("arm", maintain_order=True)
    return Sparklines(title, {str(arm): sparkline(part["value"].to_list(), low, high) for (arm,), part in by_arm})


def sparkline(values: Sequence[float], low: float, high: float, width: int = 20) -> str:
    """Return a course as a row of bars between two bounds.

    >>> sparkline([0, 1, 2, 4], 0, 4)
    '▁▂▄█'
    """
    places = np.unique(np.linspace(0, len(values) - 1, min(width, len(values))).round().astype(int)).tolist()
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    shown = [values[row] for row in places]
    return "".join(" " if math.isnan(value) else _BARS[int((value - low) * scale)] for value in shown)
