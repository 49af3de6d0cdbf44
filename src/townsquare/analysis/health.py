"""Whether a run can be believed: how much beliefs moved, where they ended, who acted, what was refused."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from townsquare import registry
from townsquare.analysis.beliefs import names, person_beliefs
from townsquare.analysis.contract import Reads, setting
from townsquare.errors import UnknownName
from townsquare.lazy_rows import ORDERED, collected
from townsquare.schema import ActionKind, ActionStatus, Reason, TrailKind

ROWS_AT_ONCE = 4_000_000
"""Rows of beliefs held in memory at a time; windows of steps are cut to it."""
_BELIEF = ["step", "agent", "proposition"]


def _windows(run: Reads) -> Iterator[tuple[int, int]]:
    """First and last steps, both included, that together cover 1 to the last, in pieces that fit in memory."""
    a_step = max(1, run.table("agents").height * names(run).height)
    width = max(1, ROWS_AT_ONCE // a_step - 1)
    for first in range(1, run.last_step + 1, width):
        yield first, min(first + width - 1, run.last_step)


def belief_movement(run: Reads) -> pl.DataFrame:
    """How much beliefs moved in each step, and how often a move went too far.

    A move *overshoots* when the exposures alone carry a person beyond its own stance and everything it was shown: the
    sum of their contributions leaves the hull of the stance before and the stances of the posts that moved it. A rule
    that averages never does; one that adds unbounded pulls may, and then flips signs step by step.

    Returns
    -------
    DataFrame
        One row a step from 1 and proposition: ``step``, ``proposition``, ``name``; ``moved`` (persons whose
        stance changed), ``gain`` = sum of the sizes of all moves (stance), ``gain_per_person`` (stance);
        ``overshoots`` (int64 count; null where the run has no trail in stance units).
    """
    parts = [_moves_in(run, first, last) for first, last in _windows(run)]
    if not parts:
        parts = [_moves_in(run, 1, 0)]
    moves = pl.concat(parts).join(names(run).select("proposition", "name"), on="proposition")
    columns = ["step", "proposition", "name", "moved", "gain", "gain_per_person", "overshoots"]
    return moves.select(columns).sort("step", "proposition")


def _moves_in(run: Reads, first: int, last: int) -> pl.DataFrame:
    beliefs = person_beliefs(run).select(*_BELIEF, "stance")
    here = beliefs.filter(pl.col("step").is_between(first, last))
    before = beliefs.filter(pl.col("step").is_between(first - 1, last - 1)).select(
        (pl.col("step") + 1).cast(pl.Int32).alias("step"), "agent", "proposition", pl.col("stance").alias("before")
    )
    both = here.join(before, on=_BELIEF)
    size = (pl.col("stance") - pl.col("before")).abs()
    moves = both.group_by("step", "proposition").agg(
        (size > 0).sum().cast(pl.Int64).alias("moved"), size.sum().alias("gain"), size.mean().alias("gain_per_person")
    )
    if not _stance_trail(run):
        return moves.with_columns(pl.lit(None, pl.Int64).alias("overshoots")).pipe(collected, ORDERED)
    beyond = _overshoots(run, before, first, last)
    together = moves.join(beyond, on=["step", "proposition"], how="left")
    return together.with_columns(pl.col("overshoots").fill_null(0)).pipe(collected, ORDERED)


def _stance_trail(run: Reads) -> bool:
    """Whether the run recorded why beliefs moved, in units of stance."""
    if not setting(run, "record", "trail", default=True):
        return False
    try:
        rule = registry.get("beliefs", str(setting(run, "beliefs", "rule", default="")))
    except UnknownName:
        return False
    return bool(rule.unit == "stance")


def _overshoots(run: Reads, before: pl.LazyFrame, first: int, last: int) -> pl.LazyFrame:
    posts = run.table("posts").lazy().select("post", "root")
    stances = run.table("post_stances").lazy().select(pl.col("post").alias("root"), "proposition", "stance")
    pulls = (
        run.lazy("trail")
        .filter(pl.col("step").is_between(first, last), pl.col("kind") == TrailKind.EXPOSURE)
        .join(posts, on="post")
        .join(stances, on=["root", "proposition"])
        .group_by(_BELIEF)
        .agg(pl.col("amount").sum(), pl.col("stance").min().alias("low"), pl.col("stance").max().alias("high"))
        .join(before, on=_BELIEF)
    )
    after, margin = pl.col("before") + pl.col("amount"), 1e-9
    low, high = pl.min_horizontal("low", "before"), pl.max_horizontal("high", "before")
    beyond = (after < low - margin) | (after > high + margin)
    return pulls.group_by("step", "proposition").agg(beyond.sum().cast(pl.Int64).alias("overshoots"))


def participation(run: Reads) -> pl.DataFrame:
    """Who was there and who did something, in each step.

    Returns
    -------
    DataFrame
        One row a step from 1: ``step``, ``agents`` (persons at its end), ``online`` (persons with a feed),
        ``acting`` (distinct persons with an accepted action other than ignoring), ``silent_share`` = 1 − acting
        / online (0 to 1, NaN if nobody was online), ``exposures``, ``accepted`` (actions other than ignoring),
        ``refused`` (actions), ``seconds`` (wall time).
    """
    done = (pl.col("status") == ActionStatus.ACCEPTED) & (pl.col("kind") != ActionKind.IGNORE)
    who = pl.col("agent").n_unique().cast(pl.Int64).alias("acting")
    acting = (
        run.lazy("actions")
        .filter(done)
        .group_by("step")
        .agg(who, pl.len().cast(pl.Int64).alias("accepted"))
        .pipe(collected)
    )
    silent = pl.when(pl.col("online") > 0).then(1.0 - pl.col("acting") / pl.col("online")).otherwise(float("nan"))
    return (
        run.table("steps")
        .filter(pl.col("step") >= 1)
        .join(acting, on="step", how="left")
        .with_columns(pl.col("acting", "accepted").fill_null(0))
        .select(
            "step",
            "agents",
            "online",
            "acting",
            silent.alias("silent_share"),
            "exposures",
            "accepted",
            "refused",
            "seconds",
        )
        .sort("step")
    )


def refusals(run: Reads) -> pl.DataFrame:
    """Why actions were refused.

    Returns
    -------
    DataFrame
        One row a reason that occurred, most frequent first: ``reason`` (word), ``actions`` (int64 count),
        ``share`` of all actions tried (0 to 1).
    """
    words = {int(reason): reason.name.lower().replace("_", " ") for reason in Reason}
    counts = (
        run.lazy("actions").group_by("status", "reason").agg(pl.len().cast(pl.Int64).alias("actions")).pipe(collected)
    )
    tried = int(counts["actions"].sum())
    return (
        counts.filter(pl.col("status") == ActionStatus.REFUSED)
        .select(
            pl.col("reason").replace_strict(words, return_dtype=pl.String),
            "actions",
            (pl.col("actions") / max(1, tried)).alias("share"),
        )
        .sort(["actions", "reason"], descending=[True, False])
    )
