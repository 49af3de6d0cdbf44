"""Do traits go with engagement? Chi-square of the most against the least engaged, and a rank test over everybody.

MOSAIC compares the 50 most with the 50 least popular of 160. Where its line falls among equals, chance (there, the
order of an unstable sort) decides who is in. Here equals stay together: all of them are in a group, or none. And since
one trait in twenty differs by chance, p-values come with a correction for the number of traits.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import scipy

from townsquare.analysis import statistics
from townsquare.analysis.contract import Reads, columns
from townsquare.analysis.groups import stance_groups, trait_groups
from townsquare.analysis.influence import influence

FRACTION = 1 / 3
"""The part of persons that is wanted in each of the two groups; ties may make it more or less."""
TESTS = columns(
    "grouping:str of:str n:int answers:int n_least:int n_most:int chi2 dof:int p cramers_v low high v_corrected"
    " smallest_expected p_corrected kruskal p_kruskal p_kruskal_corrected"
)
LEVELS = columns("grouping:str group:str of:str unit:str n:int value low high median")
_UNITS = {"popularity": "followers, likes, shares and comments received", "made": "accepted actions"}


def _both(run: Reads) -> tuple[pl.DataFrame, pl.DataFrame]:
    amounts = influence(run).filter(pl.col("kind") == "person").select("agent", *_UNITS)
    return amounts, pl.concat([trait_groups(run), stance_groups(run)])


def trait_engagement(run: Reads) -> pl.DataFrame:
    """Tests of whether the most and the least popular (or active) persons differ in a trait.

    Returns
    -------
    DataFrame
        As :func:`trait_tests`, over traits and starting stances, of ``popularity`` and of ``made`` (actions).
    """
    return trait_tests(*_both(run))


def trait_levels(run: Reads) -> pl.DataFrame:
    """Mean popularity and activity by group of persons.

    Returns
    -------
    DataFrame
        One row per group and amount: ``grouping``, ``group``, ``of`` (``popularity`` or ``made``), ``unit``, ``n``
        (persons), ``value`` (mean) with ``low`` and ``high`` (Student's interval), ``median``.
    """
    amounts, groups = _both(run)
    joined = groups.join(amounts, on="agent").sort("grouping", "group", "agent")
    rows = []
    for (grouping, group), members in joined.group_by("grouping", "group", maintain_order=True):
        for of, unit in _UNITS.items():
            values = members[of].to_numpy().astype(np.float64)
            rows.append((grouping, group, of, unit, values.size, *statistics.mean(values), float(np.median(values))))
    return statistics.tidy(rows, LEVELS).sort("grouping", "of", "group")


def least_and_most(values: np.ndarray, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """Return who has least and who has most, without parting equals.

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
    """Return tests of every grouping against every amount.

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
        One row per grouping and amount: ``grouping``, ``of``, ``n`` (agents with an answer), ``answers`` (how many
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
        sided = amounts.select("agent", value=of).with_columns(least=pl.Series(least), most=pl.Series(most))
        joined = groups.join(sided, on="agent").sort("grouping", "group", "agent")
        for (grouping,), members in joined.group_by("grouping", maintain_order=True):
            rows.append((grouping, of, *_tested(members)))
    frame = statistics.tidy(rows, TESTS)
    for p in ("p", "p_kruskal"):
        frame = statistics.with_corrected(frame, p, by=["of"])
    return frame.sort("of", "grouping")


def _tested(members: pl.DataFrame) -> tuple[float | int | None, ...]:
    table = members.group_by("group").agg(pl.col("least", "most").sum()).sort("group").select("least", "most")
    samples = statistics.samples_of(members, "group")
    rank = (math.nan, math.nan)
    if len(samples) >= 2 and np.ptp(np.concatenate(samples)) > 0:
        tested = scipy.stats.kruskal(*samples)
        rank = (float(tested.statistic), float(tested.pvalue))
    counts = (members.height, members["group"].n_unique(), int(members["least"].sum()), int(members["most"].sum()))
    return (*counts, *statistics.cramers_v(table.to_numpy()), None, *rank, None)
