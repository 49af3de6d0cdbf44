"""Engagement with true and false posts over time: MOSAIC's figures 3 and 4, with what the figures leave out.

Figure 4 shows the *level*: mean engagement so far per post of each class. Figure 3 sums the gap of levels over steps.
Both grow with volume alone: where everybody does twice as much of everything, the gap doubles, though false posts
gained as much as true ones. So the ratio of levels, which volume leaves alone, and the false level itself stand beside
them.
"""

from __future__ import annotations

import polars as pl

from townsquare.analysis import statistics
from townsquare.analysis.contract import Reads, columns
from townsquare.analysis.diffusion import mean_by, spread_metrics
from townsquare.analysis.engagement import KINDS, accepted_engagement, engagement, gaps
from townsquare.analysis.posts import VERACITIES, measured_roots, step_grid
from townsquare.core.frames import all_collected, collected

LEVELS = columns("step:row veracity:str measure:str unit:str n:int value low high")
MOSAIC_COUNTS = ("num_likes", "num_shares", "num_comments")
"""What MOSAIC's figure 4 adds up: columns of its table spread_metrics, distinct agents so far."""


def engagement_levels(run: Reads) -> pl.DataFrame:
    """Mean engagement per post by veracity and step, with 95% CI, by two definitions.

    Returns
    -------
    DataFrame
        One row per step from 1, class and measure: ``step`` (int32), ``veracity``, ``measure``, ``unit``, ``n`` (posts
        so far), ``value`` (mean), ``low``, ``high`` (Student's interval over posts); no row while a class has no posts.
        The measure ``engagement`` counts every like, dislike, share and comment; ``engagement_mosaic`` is MOSAIC's
        figure 4: distinct agents who liked, who shared and who commented, summed over the three, without dislikes. Only
        injected posts of known veracity: the others are many and mostly comments, and
        :func:`~townsquare.analysis.engagement.engagement` has them.
    """
    every = measured_roots(run).filter(pl.col("veracity") != "unknown").select("root", "veracity", since="step")
    amount = pl.sum_horizontal(list(KINDS)).sum().cast(pl.Int64).alias("value")
    did = accepted_engagement(run).group_by("root", "step").agg(amount).pipe(collected)
    grid = every.join(step_grid(run).select("step").unique(), how="cross").filter(pl.col("step") >= pl.col("since"))
    amounts = grid.join(did, on=["root", "step"], how="left").sort("root", "step")
    so_far = amounts.with_columns(pl.col("value").fill_null(0).cum_sum().over("root"))
    amount = pl.sum_horizontal(MOSAIC_COUNTS).alias("value")
    distinct = spread_metrics(run).select(pl.col("root", "step").cast(pl.Int32), amount)
    by_measure = {
        "engagement": (so_far, "actions per post so far"),
        "engagement_mosaic": (grid.join(distinct, on=["root", "step"]), "distinct agents per post and kind so far"),
    }
    levels = [
        mean_by(frame, ["step", "veracity"]).with_columns(pl.lit(name).alias("measure"), pl.lit(unit).alias("unit"))
        for name, (frame, unit) in by_measure.items()
    ]
    return pl.concat(levels).select(list(LEVELS)).cast(LEVELS).sort("measure", "step", "veracity")


def engagement_gaps(run: Reads) -> pl.DataFrame:
    """Engagement with true and false posts by step: levels, gap, gap summed over steps (MOSAIC's figure 3), ratio.

    Returns
    -------
    DataFrame
        As :func:`~townsquare.analysis.engagement.gaps`.
    """
    return gaps(engagement(run).select("step", "veracity", pl.col("per_post").alias("level")))


def engagement_rates(run: Reads) -> pl.DataFrame:
    """Likes, dislikes, shares and comments per exposure, by veracity.

    Returns
    -------
    DataFrame
        One row per class and kind of action: ``veracity``, ``measure`` (``likes``, ``dislikes``, ``shares``,
        ``comments``), ``unit`` (share of exposures), ``n`` (exposures), ``value``, ``low``, ``high`` (Wilson's
        interval, which takes exposures as independent).
    """
    every = measured_roots(run).select("root", "veracity").lazy()
    shown = run.lazy("exposures").group_by("root").len("n").join(every, on="root")
    seen, did = all_collected(
        shown.group_by("veracity").agg(pl.col("n").sum()),
        accepted_engagement(run).join(every, on="root").group_by("veracity").agg(pl.col(list(KINDS)).sum()),
    )
    counts = seen.join(did, on="veracity", how="left")
    rows = []
    for word in VERACITIES:
        row = (counts.filter(pl.col("veracity") == word).to_dicts() or [{}])[0]
        n = int(row.get("n") or 0)
        # A post can be acted on more than once an exposure only by agents who were shown it in an earlier step.
        rows += [
            (word, kind, "share of exposures", n, *statistics.share(min(int(row.get(kind) or 0), n), n))
            for kind in KINDS
        ]
    return statistics.tidy(rows, {name: kind for name, kind in LEVELS.items() if name != "step"})
