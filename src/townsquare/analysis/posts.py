"""Posts by the truth of what they pass on: the ground under every measure of engagement, reach and moderation.

Engagement, labels and takedowns act on the *root*, so measures first lead every post to its root. Three
classes of veracity: ``true`` and ``false`` are injected posts whose truth the scenario gives; ``unknown`` is every
other root: agents' own posts, their comments (a comment is its own root), injected posts without a given truth.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import Reads, once_a_run, row_count
from townsquare.core.actions import ActionKind
from townsquare.core.enums import ActionStatus, PostKind, Veracity, Verdict
from townsquare.core.frames import as_words, collected

CARRIED_LABEL = (pl.col("verdict") == Verdict.FALSE) | (pl.col("note") >= 0)
"""Of a row of exposures: whether it was shown with a verdict ``false`` or a note."""
VERACITIES = ("true", "false", "unknown")
_WORD = {int(Veracity.UNKNOWN): "unknown", int(Veracity.TRUE): "true", int(Veracity.FALSE): "false"}


def accepted(run: Reads, kinds: Iterable[int] | None = None) -> pl.LazyFrame:
    """Return the accepted actions of these kinds; without ``kinds``, of all but ignoring."""
    codes = pl.col("kind")
    wanted = codes != ActionKind.IGNORE if kinds is None else codes.is_in([int(kind) for kind in kinds])
    return run.lazy("actions").filter(pl.col("status") == ActionStatus.ACCEPTED, wanted)


def known_posts(run: Reads) -> pl.DataFrame:
    """Return the injected roots after the warm-up whose truth the scenario gives, with the columns of :func:`roots`."""
    return measured_roots(run).filter(pl.col("injected") & (pl.col("veracity") != "unknown"))


def root_of_post(run: Reads) -> pl.DataFrame:
    """Return the root of every post.

    Returns
    -------
    DataFrame
        One row per post: ``post``, ``root`` (int32, rows of posts). The root of anything but a share is itself.
    """
    return run.table("posts").select("post", "root")


@once_a_run
def roots(run: Reads) -> pl.DataFrame:
    """Return every root with its class of veracity.

    Returns
    -------
    DataFrame
        One row per root: ``root`` (int32), ``kind`` (uint8, :class:`~townsquare.core.enums.PostKind`), ``author``
        (int32), ``step`` (int32: when it was injected or written), ``text`` (int32), ``plausibility`` (float64, 0 to
        1), ``injected`` (bool), ``veracity`` (``true``, ``false`` or ``unknown``).
    """
    injected = pl.col("kind") == PostKind.INJECTED
    known = pl.when(injected).then(pl.col("veracity")).otherwise(int(Veracity.UNKNOWN))
    columns = "kind", "author", "step", "text", "plausibility", injected.alias("injected")
    posts = run.table("posts").filter(pl.col("kind") != PostKind.SHARE)
    return posts.select(pl.col("post").alias("root"), *columns, as_words(known, _WORD).alias("veracity")).sort("root")


def measured_roots(run: Reads) -> pl.DataFrame:
    """Return the roots that measures count, those that came after the warm-up, with the columns of :func:`roots`."""
    return roots(run).filter(pl.col("step") > warm_up) if (warm_up := clock_of(run).warm_up) else roots(run)


def posts_so_far(run: Reads) -> pl.DataFrame:
    """Return how many measured roots of each class there were at the end of each step.

    Returns
    -------
    DataFrame
        One row per step from 1 and class: ``step`` (int32), ``veracity``, ``posts`` (int64, cumulative count).
    """
    posts = measured_roots(run).lazy()
    new = posts.group_by("step", "veracity").agg(row_count("new"))
    before = posts.filter(pl.col("step") < 1).group_by("veracity").agg(row_count("before"))
    so_far = pl.col("new").fill_null(0).cum_sum().over("veracity") + pl.col("before").fill_null(0)
    steps = step_grid(run).lazy().join(new, on=["step", "veracity"], how="left")
    ordered = steps.join(before, on="veracity", how="left").sort("veracity", "step")
    return ordered.select("step", "veracity", so_far.alias("posts")).sort("step", "veracity").pipe(collected)


def step_grid(run: Reads) -> pl.DataFrame:
    """Return every pair of a committed step, from 1 on, and a class of veracity, so that a step of nothing counts as 0.

    Returns
    -------
    DataFrame
        ``step`` (int32) and ``veracity``.
    """
    steps = pl.DataFrame({"step": range(1, run.last_step + 1)}, schema={"step": pl.Int32})
    return steps.join(pl.DataFrame({"veracity": VERACITIES}, schema={"veracity": pl.String}), how="cross")


def per(amount: pl.Expr, count: pl.Expr) -> pl.Expr:
    """Return ``amount / count`` in float64, NaN where there is nothing to divide by."""
    return pl.when(count > 0).then(amount / count).otherwise(float("nan"))
