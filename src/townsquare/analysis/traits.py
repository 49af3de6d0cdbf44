"""Do traits go with engagement? Chi-square of the most against the least engaged, and a rank test over everybody.

MOSAIC compares the 50 most with the 50 least popular of 160. Where its line falls among equals, chance (there, the
order of an unstable sort) decides who is in. Here equals stay together: all of them are in a group, or none. And since
one trait in twenty differs by chance, p-values come with a correction for the number of traits.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from scipy import stats

from townsquare.analysis import statistics
from townsquare.analysis.contract import Reads
from townsquare.analysis.groups import stance_groups, trait_groups
from townsquare.analysis.influence import influence

FRACTION = 1 / 3
"""The part of persons that is wanted in each of the two groups; ties may make it more or less."""
TESTS = {
    "grouping": pl.String, "of": pl.String, "n": pl.Int64, "answers": pl.Int64, "n_least": pl.Int64,
    "n_most": pl.Int64, "chi2": pl.Float64, "dof": pl.Int64, "p": pl.Float64, "cramers_v": pl.Float64,
    "low": pl.Float64, "high": pl.Float64, "v_corrected": pl.Float64, "smallest_expected": pl.Float64,
    "p_corrected": pl.Float64, "kruskal": pl.Float64, "p_kruskal": pl.Float64, "p_kruskal_corrected": pl.Float64,
}  # fmt: skip
LEVELS = {
    "grouping": pl.String, "group": pl.String, "of": pl.String, "unit": pl.String, "n": pl.Int64,
    "value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "median": pl.Float64,
}  # fmt: skip
_UNITS = {"popularity": "followers, likes, shares and comments received", "made": "accepted actions"}


def _both(run: Reads) -> tuple[pl.DataFrame, pl.DataFrame]:
    amounts = influence(run).filter(pl.col("kind") == "person").select("agent", *_UNITS)
    return amounts, pl.concat([trait_groups(run), stance_groups(run)])


def trait_engagement(run: Reads) -> pl.DataFrame:
    """Whether the most and the least popular, and the most and the least active, differ in a trait.

    Returns
    -------
    DataFrame
        As :func:`trait_tests`, over traits and starting stances, of ``popularity`` and of ``made`` (actions).
    """
    return trait_tests(*_both(run))


def trait_levels(run: Reads) -> pl.DataFrame:
    """Popularity and activity of each group of persons.

    Returns
    -------
    DataFrame
        One row a group and amount: ``grouping``, ``group``, ``of`` (``popularity`` or ``made``), ``unit``, ``n``
        (persons), ``value`` (mean) with ``low`` and ``high`` (Student's interval), ``median``.
    """
    amounts, groups = _both(run)
    joined = groups.join(amounts, on="agent").sort("grouping", "group", "agent")
    rows = []
    for (grouping, group), found in joined.group_by("grouping", "group", maintain_order=True):
        for of, unit in _UNITS.items():
            values = found[of].to_numpy().astype(np.float64)
            rows.append((grouping, group, of, unit, values.size, *statistics.mean(values), float(np.median(values))))
    return statistics.tidy(rows, LEVELS).sort("grouping", "of", "group")


def least_and_most(values: np.ndarray, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """Who has least and who has most, without parting equals.

    Parameters
    ----------
    values : (n,) array
    wanted : int
        Members that each group should have; of the sizes that keep equals together, the nearest is taken.

    Returns
    -------
    (n,) array of bool, (n,) array of bool
        The two groups; both empty where they would overlap or one would be empty.

    Examples
    --------
    >>> least, most = least_and_most(np.array([0, 0, 0, 1, 5, 7]), 2)
    >>> least.tolist(), most.tolist()
    ([True, True, True, False, False, False], [False, False, False, False, True, True])
    """

    def nearest(x: np.ndarray) -> np.ndarray:
        edge = np.sort(x)[wanted - 1]
        without, with_ties = x < edge, x <= edge
        fewer, more = wanted - int(without.sum()), int(with_ties.sum()) - wanted
        return np.asarray(with_ties if more <= fewer else without)

    nobody = np.zeros(values.size, np.bool_)
    if not 0 < wanted <= values.size:
        return nobody, nobody
    least, most = nearest(values), nearest(-values)
    return (least, most) if least.any() and most.any() and not (least & most).any() else (nobody, nobody)


def trait_tests(amounts: pl.DataFrame, groups: pl.DataFrame, wanted: int | None = None) -> pl.DataFrame:
    """Tests of every grouping against every amount.

    Parameters
    ----------
    amounts : DataFrame
        ``agent``, and a column an amount.
    groups : DataFrame
        ``agent``, ``grouping``, ``group``.
    wanted : int, optional
        Members wanted in the groups of most and least; a third of the agents if not given.

    Returns
    -------
    DataFrame
        One row a grouping and amount: ``grouping``, ``of``, ``n`` (agents with an answer), ``answers`` (how many
        there are), ``n_least``, ``n_most``; ``chi2``, ``dof``, ``p``, ``cramers_v`` with ``low`` and ``high``,
        ``v_corrected``, ``smallest_expected`` (see :func:`~townsquare.analysis.statistics.cramers_v`);
        ``p_corrected`` (Benjamini and Hochberg over the groupings of one amount); ``kruskal``, ``p_kruskal`` (rank
        test of Kruskal and Wallis over everybody, answers given by at least two), ``p_kruskal_corrected``.
    """
    rows = []
    for of in [name for name in amounts.columns if name != "agent"]:
        values = amounts[of].to_numpy().astype(np.float64)
        size = int(len(values) * FRACTION) if wanted is None else wanted
        least, most = least_and_most(values, size)
        sided = amounts.select("agent", pl.col(of).alias("value")).with_columns(
            pl.Series("least", least), pl.Series("most", most)
        )
        for (grouping,), found in (
            groups.join(sided, on="agent").sort("grouping", "group", "agent").group_by("grouping", maintain_order=True)
        ):
            rows.append((grouping, of, *_tested(found)))
    frame = statistics.tidy(rows, TESTS)
    parts = []
    for (_,), found in frame.group_by("of", maintain_order=True):
        parts.append(
            found.with_columns(
                pl.Series("p_corrected", statistics.corrected(found["p"].to_numpy())),
                pl.Series("p_kruskal_corrected", statistics.corrected(found["p_kruskal"].to_numpy())),
            )
        )
    return pl.concat(parts).sort("of", "grouping") if parts else frame


def _tested(found: pl.DataFrame) -> tuple[float | int | None, ...]:
    table = (
        found.group_by("group").agg(pl.col("least").sum(), pl.col("most").sum()).sort("group").select("least", "most")
    )
    chi = statistics.cramers_v(table.to_numpy())
    samples = [rows["value"].to_numpy() for _, rows in found.group_by("group", maintain_order=True) if rows.height >= 2]
    rank = (math.nan, math.nan)
    if len(samples) >= 2 and np.ptp(np.concatenate(samples)) > 0:
        tested = stats.kruskal(*samples)
        rank = (float(tested.statistic), float(tested.pvalue))
    counts = (found.height, found["group"].n_unique(), int(found["least"].sum()), int(found["most"].sum()))
    chi_row = (chi.chi2, chi.dof, chi.p, chi.v, chi.low, chi.high, chi.v_corrected, chi.smallest_expected)
    return (*counts, *chi_row, None, *rank, None)
