"""Whether a belief rule did what a rule should: how far it moves people, and the ways in which it can go wrong.

A flag is a reason to look, not a proof of a fault: the limits are conventions of this project, stated with each check.
"""

from __future__ import annotations

import math

import polars as pl

from townsquare.analysis.belief_paths import crossing_counts
from townsquare.analysis.beliefs import belief_change, belief_course, names
from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.health import belief_movement
from townsquare.lazy_rows import ORDERED, collected

CHECKS = {
    "gain": (0.1, "largest mean size of a person's move in one step, in stance"),
    "overshoot": (0.01, "share of moves beyond everything that the person held or was shown"),
    "flips": (0.5, "crossings of the middle beyond a person's first, by person"),
    "collapse": (0.5, "spread of the last stances over that of the first ones; flagged below"),
    "at_bounds": (0.2, "share of persons at the very ends of the scale"),
    "trust_saturated": (0.5, "share of trust read in the last quarter of the steps that stood at 0 or at 1"),
    "frozen": (
        0.0,
        "most persons who moved in one step; flagged at 0 where people were shown posts that take a stance",
    ),
}
"""Name of a check -> the limit beyond which it is flagged, and what its value is."""
_BELOW = {"collapse", "frozen"}
EDGE = 1e-3
"""Trust this near to 0 or 1 counts as saturated."""


def rule_health(run: Reads) -> pl.DataFrame:
    """Every check of the rule.

    Returns
    -------
    DataFrame
        One row a check and proposition: ``check`` (of :data:`CHECKS`), ``proposition``, ``name``, ``value`` (null where
        the run does not tell), ``limit``, ``flagged`` (bool), ``meaning``.
    """
    return rule_health_of(run, belief_course(run), belief_movement(run))


def rule_health_of(run: Reads, course: pl.DataFrame, moves: pl.DataFrame) -> pl.DataFrame:
    """:func:`rule_health` from the frames of ``belief_course`` and ``belief_movement``."""
    change = belief_change(run)
    values = pl.concat(
        [
            moves.group_by("proposition").agg(pl.col("gain_per_person").max().alias("value")).select(_named("gain")),
            _overshoots(moves),
            _flips(run, change),
            change.select(pl.lit("collapse").alias("check"), "proposition", pl.col("spread_kept").alias("value")),
            course.filter(pl.col("step") == run.last_step).select(
                pl.lit("at_bounds").alias("check"), "proposition", pl.col("share_at_bounds").alias("value")
            ),
            _trust(run),
            _frozen(run, moves),
        ],
        how="vertical_relaxed",
    ).with_columns(pl.col("value").cast(pl.Float64).fill_nan(None))
    limit = pl.col("check").replace_strict(
        {name: limit for name, (limit, _) in CHECKS.items()}, return_dtype=pl.Float64
    )
    below = pl.col("check").is_in(list(_BELOW))
    low = pl.when(pl.col("check") == "frozen").then(pl.col("value") <= limit).otherwise(pl.col("value") < limit)
    order = list(CHECKS)
    return (
        values.join(names(run).select("proposition", "name"), on="proposition")
        .with_columns(
            limit.alias("limit"),
            pl.when(below).then(low).otherwise(pl.col("value") > limit).fill_null(False).alias("flagged"),
            pl.col("check").replace_strict({k: text for k, (_, text) in CHECKS.items()}).alias("meaning"),
            pl.col("check").replace_strict({k: i for i, k in enumerate(order)}, return_dtype=pl.Int8).alias("at"),
        )
        .sort("at", "proposition")
        .select("check", "proposition", "name", "value", "limit", "flagged", "meaning")
    )


def _named(check: str) -> list[pl.Expr]:
    return [pl.lit(check).alias("check"), pl.col("proposition"), pl.col("value")]


def _overshoots(moves: pl.DataFrame) -> pl.DataFrame:
    told = moves.filter(pl.col("overshoots").is_not_null())
    share = pl.when(pl.col("moved").sum() > 0).then(pl.col("overshoots").sum() / pl.col("moved").sum()).otherwise(0.0)
    return told.group_by("proposition").agg(share.alias("value")).select(_named("overshoot"))


def _flips(run: Reads, change: pl.DataFrame) -> pl.DataFrame:
    many = change.select("proposition", "agents")
    each = (pl.col("flips") / pl.col("agents")).alias("value")
    return crossing_counts(run).join(many, on="proposition").with_columns(each).select(_named("flips"))


def _trust(run: Reads) -> pl.DataFrame:
    if not setting(run, "record", "trail", default=True):
        return pl.DataFrame(schema={"check": pl.String, "proposition": pl.Int16, "value": pl.Float64})
    late = run.last_step - max(1, math.ceil(run.last_step / 4)) + 1
    edge = (pl.col("trust") <= EDGE) | (pl.col("trust") >= 1 - EDGE)
    return (
        run.lazy("trail")
        .filter(pl.col("step") >= late, pl.col("trust").is_not_nan())
        .group_by("proposition")
        .agg(edge.mean().alias("value"))
        .select(_named("trust_saturated"))
        .pipe(collected, ORDERED)
    )


def _frozen(run: Reads, moves: pl.DataFrame) -> pl.DataFrame:
    """Only where posts that take a stance were shown, and the rule is one that moves."""
    if str(setting(run, "beliefs", "rule", default="")) == "no_change":
        return pl.DataFrame(schema={"check": pl.String, "proposition": pl.Int16, "value": pl.Float64})
    said = run.table("post_stances").lazy().select(pl.col("post").alias("root"), "proposition").unique()
    seen = run.lazy("exposures").select("root").join(said, on="root").select("proposition").unique().pipe(collected)
    share = pl.col("moved").max().alias("value")
    return moves.join(seen, on="proposition").group_by("proposition").agg(share).select(_named("frozen"))
