"""Engagement with true and false posts over time.

MOSAIC's figures 3 and 4 show the gap between true and false posts and the mean per post. The gap grows with
volume alone: a strategy under which everybody does more of everything has the larger gap even if false posts
gain most. So both levels stand next to it, each divided by the posts of its class injected so far, and so does
their ratio.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import chain

import polars as pl

from townsquare.analysis.contract import Reads, once_a_run
from townsquare.analysis.posts import accepted, measured_roots, per, posts_so_far, root_of_post, step_grid
from townsquare.core.actions import COUNTED, ActionKind
from townsquare.core.frames import collected

KINDS = {column: COUNTED[column] for column in ("likes", "dislikes", "shares", "comments")}
"""What counts as engagement; a like of a comment is a like of that comment, never of the post above it."""


def accepted_engagement(run: Reads, kinds: Mapping[str, Iterable[ActionKind]] = KINDS) -> pl.LazyFrame:
    """Return accepted likes, dislikes, shares and comments: ``step``, ``root``, and one 0/1 column a kind."""
    counted = chain.from_iterable(kinds.values())
    rows = accepted(run, counted).join(root_of_post(run).lazy(), left_on="target", right_on="post")
    codes = {name: [int(kind) for kind in of] for name, of in kinds.items()}
    return rows.select("step", "root", *(pl.col("kind").is_in(codes[n]).cast(pl.Int64).alias(n) for n in codes))


@once_a_run
def engagement(run: Reads) -> pl.DataFrame:
    """Accepted likes, dislikes, shares and comments by veracity of the root, per step and cumulative.

    Returns
    -------
    DataFrame
        One row per step from 1 and class: ``step`` (int32), ``veracity``, ``posts`` (count so far); ``likes``,
        ``dislikes``, ``shares``, ``comments``, ``engagement`` (their sum) in that step; ``cumulative``
        engagement so far; ``per_post`` = cumulative / posts (float64, NaN while there are none of the class).
    """
    rows = accepted_engagement(run).join(measured_roots(run).lazy().select("root", "veracity"), on="root")
    by_class = rows.group_by("step", "veracity").agg(pl.col(list(KINDS)).sum())
    total = pl.sum_horizontal(list(KINDS))
    posts = step_grid(run).join(posts_so_far(run), on=["step", "veracity"], how="left").lazy()
    both = posts.join(by_class, on=["step", "veracity"], how="left").with_columns(pl.col(list(KINDS)).fill_null(0))
    course = both.with_columns(engagement=total).sort("veracity", "step")
    course = course.with_columns(cumulative=pl.col("engagement").cum_sum().over("veracity"))
    per_post = per(pl.col("cumulative"), pl.col("posts"))
    return course.with_columns(per_post=per_post).sort("step", "veracity").pipe(collected)


def engagement_balance(run: Reads) -> pl.DataFrame:
    """True against false posts: the gap, which grows with volume, and the ratio of levels, which does not.

    Returns
    -------
    DataFrame
        One row per step from 1: ``step`` (int32), ``true`` and ``false`` (levels per post so far, float64), ``gap`` =
        cumulative engagement with true less false posts (count), ``gap_per_post`` = true − false, ``ratio`` = true /
        false (NaN while a level is undefined or the false one is 0).
    """
    by_class = engagement(run)
    so_far = {word: pl.col("cumulative").filter(pl.col("veracity") == word).sum() for word in ("true", "false")}
    counts = by_class.group_by("step").agg((so_far["true"] - so_far["false"]).alias("gap"))
    levels = gaps(by_class.rename({"per_post": "level"})).rename({"gap": "gap_per_post"})
    return levels.join(counts, on="step").select("step", "true", "false", "gap", "gap_per_post", "ratio").sort("step")


def gaps(levels: pl.DataFrame) -> pl.DataFrame:
    """Return what can be said of levels of engagement of true and false posts.

    Parameters
    ----------
    levels : DataFrame
        ``step``, ``veracity`` (``true`` or ``false``; others are left out) and ``level``, the mean engagement so far
        per post, NaN while there are none.

    Returns
    -------
    DataFrame
        One row per step: ``step``, ``true`` and ``false`` (levels, actions per post), ``gap`` (true less false),
        ``cumulative_gap`` (its sum over steps: the quantity of MOSAIC's figure 3; steps without either class add
        nothing), ``ratio`` (true / false; NaN where either is undefined or false is 0), ``false_share`` (false / (true
        + false): 0 to 1, one half where both gain alike).
    """
    level = pl.col("level").cast(pl.Float64)
    sides = [levels.filter(veracity=word).select("step", level.alias(word)) for word in ("true", "false")]
    true, false = pl.col("true"), pl.col("false")
    gap = true - false
    ratio = pl.when(false > 0).then(true / false).otherwise(math.nan).alias("ratio")
    share = pl.when(true + false > 0).then(false / (true + false)).otherwise(math.nan).alias("false_share")
    both = sides[0].join(sides[1], on="step").sort("step")
    return both.with_columns(gap.alias("gap"), gap.fill_nan(0.0).cum_sum().alias("cumulative_gap"), ratio, share)


@once_a_run
def engagement_by_post(run: Reads) -> pl.DataFrame:
    """Total engagement with each root that had any.

    Returns
    -------
    DataFrame
        One row per root, most engagement first, ties by row: ``root`` (int32), ``likes``, ``dislikes``, ``shares``,
        ``comments``, ``engagement`` (int64 counts).
    """
    counts = accepted_engagement(run).group_by("root").agg(pl.col(list(KINDS)).sum())
    sums = counts.with_columns(pl.sum_horizontal(list(KINDS)).alias("engagement")).pipe(collected)
    return sums.sort(["engagement", "root"], descending=[True, False])
