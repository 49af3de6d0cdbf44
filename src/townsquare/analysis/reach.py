"""Who was shown what: exposures and reach.

An exposure is a row of a feed that an agent was shown, acted on or not; the reach of a root is the number of distinct
agents that were exposed to it, in whatever form it came.
"""

from __future__ import annotations

import polars as pl

from townsquare.analysis.contract import Reads, once_a_run, row_count, section_over_time
from townsquare.analysis.posts import CARRIED_LABEL, measured_roots, per, posts_so_far, roots, step_grid
from townsquare.core.frames import all_collected, collected


@once_a_run
def exposure_counts(run: Reads) -> pl.DataFrame:
    """Return exposures by step and root: one pass over the largest table, from which reach and labels are measured.

    Returns
    -------
    DataFrame
        One row per step and root that was shown in it: ``step``, ``root`` (int32), ``exposures`` (int64), ``newly``
        (int64: agents that were shown the root for the first time), ``labeled`` (int64: exposures that carried a
        verdict ``false`` or a note).
    """
    first = pl.col("first_seen").cast(pl.Int64).sum().alias("newly")
    shown = run.lazy("exposures")
    many, marked = row_count("exposures"), CARRIED_LABEL.cast(pl.Int64).sum().alias("labeled")
    counts, remembered = all_collected(
        shown.group_by("step", "root").agg(many, first, marked),
        shown.group_by("agent").agg(first).select(pl.col("newly").max()),
    )
    # Who was shown no more roots than it remembers has forgotten none, and then each is seen first only once.
    least = min(int(feed.get("seen_cap", 0)) for feed in section_over_time(run, "feed", "ranker"))
    if (remembered.item() or 0) > least:
        counts = counts.drop("newly").join(_first_exposures(run), on=["step", "root"], how="left")
        counts = counts.with_columns(pl.col("newly").fill_null(0))
    return counts.select("step", "root", "exposures", "newly", "labeled").sort("step", "root")


def _first_exposures(run: Reads) -> pl.DataFrame:
    """Return agents by the step in which each root was first shown to them, from the exposures themselves."""
    first = run.lazy("exposures").group_by("root", "agent").agg(pl.col("step").min())
    return first.group_by("step", "root").agg(row_count("newly")).pipe(collected)


def reach(run: Reads) -> pl.DataFrame:
    """Return exposures and reach of each root over the whole run; roots that nobody was shown have 0.

    Returns
    -------
    DataFrame
        One row per root: ``root`` (int32), ``veracity``, ``injected`` (bool), ``step`` (int32, when it came),
        ``exposures``, ``reach`` (int64: distinct agents), ``labeled`` (int64: exposures with a label).
    """
    counts = pl.col("exposures").sum(), pl.col("newly").sum().alias("reach"), pl.col("labeled").sum()
    total = exposure_counts(run).group_by("root").agg(counts)
    joined = roots(run).select("root", "veracity", "injected", "step").join(total, on="root", how="left")
    return joined.with_columns(pl.col("exposures", "reach", "labeled").fill_null(0)).sort("root")


def reach_over_time(run: Reads) -> pl.DataFrame:
    """Exposures and mean reach by veracity, up to each step.

    Returns
    -------
    DataFrame
        One row per step from 1 and class: ``step`` (int32), ``veracity``, ``posts`` (so far), ``exposures`` in
        that step, ``cumulative`` exposures, ``mean_reach`` = distinct agents exposed so far, averaged over the
        posts of the class there were so far (float64, agents; NaN while there are none).
    """
    counts = exposure_counts(run).join(measured_roots(run).select("root", "veracity"), on="root")
    by_class = counts.group_by("step", "veracity").agg(pl.col("exposures").sum(), pl.col("newly").sum())
    both = step_grid(run).join(posts_so_far(run), on=["step", "veracity"], how="left")
    so_far = pl.col("newly").cum_sum().over("veracity"), pl.col("posts")
    cumulative = pl.col("exposures").cum_sum().over("veracity").alias("cumulative")
    counted = both.join(by_class, on=["step", "veracity"], how="left").sort("veracity", "step")
    course = counted.with_columns(pl.col("exposures", "newly").fill_null(0))
    columns = "step", "veracity", "posts", "exposures", cumulative, per(*so_far).alias("mean_reach")
    return course.select(*columns).sort("step", "veracity")
