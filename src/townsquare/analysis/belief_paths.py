"""How single persons moved: distance to where they started, crossings of the middle, what stays when exposure ends."""

from __future__ import annotations

import polars as pl

from townsquare.analysis.beliefs import first_stances, names, person_beliefs
from townsquare.analysis.contract import Reads, int_sum, row_count
from townsquare.analysis.posts import VERACITIES, roots
from townsquare.core.errors import UnknownName
from townsquare.core.frames import ORDERED, collected
from townsquare.core.registry import did_you_mean

MOVED = 0.1
"""A stance further than this from its start counts as moved."""
_PERSON = ["agent", "proposition"]


def _with_start(run: Reads) -> pl.LazyFrame:
    """Rows of beliefs of persons from the step each was born in, with ``start``, the stance of that step."""
    return person_beliefs(run).select("step", *_PERSON, "stance").join(first_stances(run), on=_PERSON)


def distance_to_start(run: Reads) -> pl.DataFrame:
    """How far persons stand from where they started, after each step.

    Returns
    -------
    DataFrame
        One row a step from 0 and proposition: ``step``, ``proposition``, ``name``, ``persons``, ``mean`` (size of the
        distance, stance), ``q50``, ``q95`` (stance), ``moved`` (share further than 0.1).
    """
    apart = (pl.col("stance") - pl.col("start")).abs()
    return (
        _with_start(run)
        .group_by("step", "proposition")
        .agg(
            row_count("persons"),
            apart.mean().alias("mean"),
            apart.quantile(0.5, "linear").alias("q50"),
            apart.quantile(0.95, "linear").alias("q95"),
            (apart > MOVED).mean().alias("moved"),
        )
        .join(names(run).lazy().select("proposition", "name"), on="proposition")
        .select("step", "proposition", "name", "persons", "mean", "q50", "q95", "moved")
        .sort("step", "proposition")
        .pipe(collected, ORDERED)
    )


def crossings(run: Reads) -> pl.DataFrame:
    """Who changed sides, when and how often. A stance of exactly 0, or that is no number, is no side: it neither
    crosses nor returns.

    Returns
    -------
    DataFrame
        One row a person and proposition with at least one crossing: ``agent``, ``proposition``, ``first`` (step of the
        first crossing), ``crossings`` (count), ``started`` and ``ended`` (side, -1 or 1), ``stayed`` (whether it ended
        on another side than it started on).
    """
    sided = (
        _with_start(run)
        .filter((pl.col("stance") != 0) & pl.col("stance").is_not_nan())
        .sort(*_PERSON, "step")
        .with_columns(pl.col("stance").sign().cast(pl.Int8).alias("side"))
        .with_columns((pl.col("side") != pl.col("side").shift(1).over(_PERSON)).fill_null(False).alias("crossed"))
    )
    return (
        sided.group_by(_PERSON)
        .agg(
            pl.col("step").filter("crossed").min().alias("first"),
            int_sum(pl.col("crossed"), "crossings"),
            pl.col("side").first().alias("started"),
            pl.col("side").last().alias("ended"),
        )
        .filter(pl.col("crossings") > 0)
        .with_columns((pl.col("started") != pl.col("ended")).alias("stayed"))
        .sort("proposition", "agent")
        .pipe(collected)
    )


def crossing_counts(run: Reads) -> pl.DataFrame:
    """Changes of side, counted.

    Returns
    -------
    DataFrame
        One row a proposition: ``proposition``, ``name``, ``crossed`` (persons), ``to_for``, ``to_against`` (of those
        who stayed on the other side), ``returned`` (persons who ended where they started), ``flips`` (crossings beyond
        each person's first: many of them are a sign of a rule that overshoots).
    """
    counts = (
        crossings(run)
        .group_by("proposition")
        .agg(
            row_count("crossed"),
            (pl.col("stayed") & (pl.col("ended") > 0)).sum().cast(pl.Int64).alias("to_for"),
            (pl.col("stayed") & (pl.col("ended") < 0)).sum().cast(pl.Int64).alias("to_against"),
            int_sum(~pl.col("stayed"), "returned"),
            int_sum(pl.col("crossings") - 1, "flips"),
        )
    )
    filled = pl.col("crossed", "to_for", "to_against", "returned", "flips").fill_null(0)
    named = names(run).select("proposition", "name")
    return named.join(counts, on="proposition", how="left").with_columns(filled).sort("proposition")


def persistence(run: Reads, veracity: str | None = None) -> pl.DataFrame:
    """What is left of a move when exposure has ended, by the steps since.

    For each person and proposition the exposure ends with the last row it was shown that speaks to the proposition.
    The displacement is its stance then less its start. ``kept`` is what of the displacements, each in its own
    direction, is left so many steps later: 1 if all stays, 0 if all is back at the start, negative beyond it.

    Parameters
    ----------
    run : Reads
    veracity : str, optional
        Only exposures to roots of this class count as exposure: ``true``, ``false`` or ``unknown``.

    Returns
    -------
    DataFrame
        One row a proposition and number of steps: ``proposition``, ``name``, ``steps_after`` (from 0), ``persons``
        (those observed so long), ``displacement`` (their mean size at the end of exposure, stance), ``kept`` (ratio of
        sums over persons; NaN where nobody was displaced).

    Raises
    ------
    UnknownName
        There is no such class.
    """
    if veracity is not None and veracity not in VERACITIES:
        hint = did_you_mean(veracity, list(VERACITIES))
        raise UnknownName("veracity", got=repr(veracity), allowed=", ".join(VERACITIES), do=hint)
    counted = roots(run) if veracity is None else roots(run).filter(pl.col("veracity") == veracity)
    speaks = run.table("post_stances").join(counted.select(pl.col("root").alias("post")), on="post")
    shown = run.lazy("exposures").select("step", "agent", "root")
    ends = (
        shown.join(speaks.lazy().select(pl.col("post").alias("root"), "proposition"), on="root")
        .group_by(_PERSON)
        .agg(pl.col("step").max().alias("ended"))
    )
    held = _with_start(run).join(ends, on=_PERSON)
    at_end = held.filter(pl.col("step") == pl.col("ended")).select(
        *_PERSON, (pl.col("stance") - pl.col("start")).alias("displaced")
    )
    left = (pl.col("stance") - pl.col("start")) * pl.col("displaced").sign()
    size = pl.col("displaced").abs().sum()
    return (
        held.filter(pl.col("step") >= pl.col("ended"))
        .join(at_end, on=_PERSON)
        .with_columns((pl.col("step") - pl.col("ended")).alias("steps_after"))
        .group_by("proposition", "steps_after")
        .agg(
            row_count("persons"),
            pl.col("displaced").abs().mean().alias("displacement"),
            pl.when(size > 0).then(left.sum() / size).otherwise(float("nan")).alias("kept"),
        )
        .join(names(run).lazy().select("proposition", "name"), on="proposition")
        .select("proposition", "name", "steps_after", "persons", "displacement", "kept")
        .sort("proposition", "steps_after")
        .pipe(collected, ORDERED)
    )
