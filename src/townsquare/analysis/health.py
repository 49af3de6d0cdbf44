"""Whether a run can be believed: how much beliefs moved, where they ended, who acted, what was refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from townsquare.analysis.belief_paths import crossing_counts
from townsquare.analysis.beliefs import belief_change, belief_course, names, person_beliefs
from townsquare.analysis.contract import Reads, once_a_run, setting
from townsquare.core import registry
from townsquare.core.errors import UnknownName
from townsquare.core.frames import ORDERED, as_words, collected
from townsquare.core.schema import TABLES, ActionKind, ActionStatus, Reason, TrailKind

ROWS_AT_ONCE = 4_000_000
"""Rows of beliefs held in memory at a time; windows of steps are cut to it."""
_BELIEF = ["step", "agent", "proposition"]


class RunHealth(NamedTuple):
    """How far a run came, and what became of its actions: from its settings and its table of steps alone.

    Attributes
    ----------
    state : str
        ``finished``, ``running`` or ``stopped``.
    done, planned : int
        Steps that are recorded, and that the settings ask for.
    tried, refused : int
        Actions, refused ones included, and refused ones.
    """

    state: str
    done: int
    planned: int
    tried: int
    refused: int

    @property
    def unfinished(self) -> bool:
        """Whether steps are missing."""
        return self.state != "finished" or self.done < self.planned

    @property
    def idle(self) -> bool:
        """Whether nobody did anything."""
        return self.done > 0 and not self.tried

    @property
    def refused_share(self) -> float:
        """Refused actions over all that were tried; 0 where none was."""
        return self.refused / self.tried if self.tried else 0.0


def run_health(run: Reads) -> RunHealth:
    """What can be said of the health of a run without a look at its large tables."""
    steps, planned = run.table("steps"), setting(run, "steps")
    done = max(run.last_step, 0)
    tried, refused = int(steps["actions"].sum()), int(steps["refused"].sum())
    return RunHealth(run.state, done, planned if isinstance(planned, int) else done, tried, refused)


def _windows(run: Reads) -> Iterator[tuple[int, int]]:
    """First and last steps, both included, that together cover 1 to the last, in pieces that fit in memory."""
    a_step = max(1, run.table("agents").height * names(run).height)
    width = max(1, ROWS_AT_ONCE // a_step - 1)
    for first in range(1, run.last_step + 1, width):
        yield first, min(first + width - 1, run.last_step)


@once_a_run
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


def diagnostics(run: Reads) -> pl.DataFrame:
    """What else is recorded of each step: the columns of ``steps`` that came after version 1 of the record.

    Returns
    -------
    DataFrame
        One row a step from 1: ``step``, and each of these columns (float64), null in runs that were recorded before it.
    """
    later = [column.name for column in TABLES["steps"].recorded if column.since > 1]
    values = pl.col(later).cast(pl.Float64).fill_nan(None)
    return run.table("steps").filter(pl.col("step") >= 1).select("step", values).sort("step")


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
            as_words("reason", words),
            "actions",
            (pl.col("actions") / max(1, tried)).alias("share"),
        )
        .sort(["actions", "reason"], descending=[True, False])
    )


# Whether a belief rule did what a rule should: how far it moves people, and the ways in which it can go wrong.
#
# A flag is a reason to look, not a proof of a fault: the limits are conventions of this project, stated with each
# check.


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
    change, course, moves = belief_change(run), belief_course(run), belief_movement(run)
    values = pl.concat(
        [
            moves.group_by("proposition").agg(pl.col("gain_per_person").max().alias("value")).select(_named("gain")),
            _overshoot_finding(moves),
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


def _overshoot_finding(moves: pl.DataFrame) -> pl.DataFrame:
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
