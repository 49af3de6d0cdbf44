"""How single persons moved: distance to where they started, crossings of the middle, what stays when exposure ends."""

from __future__ import annotations

import polars as pl

from townsquare.analysis.beliefs import first_stances, names, person_beliefs
from townsquare.analysis.contract import Reads, int_sum, row_count
from townsquare.analysis.posts import VERACITIES, roots
from townsquare.core.frames import ORDERED, collected
from townsquare.core.registry import check_known

MOVED = 0.1
"""A stance further than this from its start counts as moved."""
_PERSON = ["agent", "proposition"]


def _with_start(run: Reads) -> pl.LazyFrame:
    """Return rows of beliefs of persons from the step each was born in, with ``start``, the stance of that step."""
    return person_beliefs(run).select("step", *_PERSON, "stance").join(first_stances(run), on=_PERSON)


def distance_to_start(run: Reads) -> pl.DataFrame:
    """Distance of stances from those at step 0, or on joining, after each step.

    Returns
    -------
    DataFrame
        One row per step from 0 and proposition: ``step``, ``proposition``, ``name``, ``persons``, ``mean`` (size of the
        distance, stance), ``q50``, ``q95`` (stance), ``moved`` (share further than 0.1).
    """
    apart = (pl.col("stance") - pl.col("start")).abs()
    quantiles = [apart.quantile(q, "linear").alias(f"q{round(100 * q)}") for q in (0.5, 0.95)]
    measures = [apart.mean().alias("mean"), *quantiles, (apart > MOVED).mean().alias("moved")]
    rows = _with_start(run).group_by("step", "proposition").agg(row_count("persons"), *measures)
    columns = "step", "proposition", "name", "persons", "mean", "q50", "q95", "moved"
    return _named(run, rows).select(columns).sort("step", "proposition").pipe(collected, ORDERED)


def _named(run: Reads, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows with the name of their proposition."""
    return rows.join(names(run).lazy().select("proposition", "name"), on="proposition")


def crossings(run: Reads) -> pl.DataFrame:
    """Persons who changed sides, with the first step and the number of changes. A stance of 0 has no side.

    Returns
    -------
    DataFrame
        One row per person and proposition with at least one crossing: ``agent``, ``proposition``, ``first`` (step of
        the first crossing), ``crossings`` (count), ``started`` and ``ended`` (side, -1 or 1), ``stayed`` (whether it
        ended on another side than it started on).
    """
    side = pl.col("stance").sign().cast(pl.Int8).alias("side")
    sided = person_beliefs(run).filter((pl.col("stance") != 0) & pl.col("stance").is_not_nan()).with_columns(side)
    crossed, step = pl.col("side") != pl.col("side").shift(1), pl.col("step")
    courses = sided.select("step", *_PERSON, "side").sort("step").group_by(_PERSON)
    first, number = step.filter(crossed).min().alias("first"), int_sum(crossed, "crossings")
    started, ended = pl.col("side").first().alias("started"), pl.col("side").last().alias("ended")
    rows = courses.agg(first, number, started, ended).filter(pl.col("crossings") > 0)
    stayed = (pl.col("started") != pl.col("ended")).alias("stayed")
    return rows.with_columns(stayed).sort("proposition", "agent").pipe(collected)


def crossing_counts(run: Reads) -> pl.DataFrame:
    """Number of persons who changed sides, by direction.

    Returns
    -------
    DataFrame
        One row per proposition: ``proposition``, ``name``, ``crossed`` (persons), ``to_for``, ``to_against`` (of those
        who stayed on the other side), ``returned`` (persons who ended where they started), ``flips`` (crossings beyond
        each person's first: many of them are a sign of a rule that overshoots).
    """
    stayed, side = pl.col("stayed"), pl.col("ended")
    to_sides = int_sum(stayed & (side > 0), "to_for"), int_sum(stayed & (side < 0), "to_against")
    columns = row_count("crossed"), *to_sides, int_sum(~stayed, "returned"), int_sum(pl.col("crossings") - 1, "flips")
    counts = crossings(run).group_by("proposition").agg(*columns)
    named = names(run).select("proposition", "name").join(counts, on="proposition", how="left")
    return named.with_columns(pl.exclude("proposition", "name").fill_null(0)).sort("proposition")


def persistence(run: Reads, veracity: str | None = None) -> pl.DataFrame:
    """Part of the stance change since step 0 that remains after the last exposure to a stance, by steps since.

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
        One row per proposition and number of steps: ``proposition``, ``name``, ``steps_after`` (from 0), ``persons``
        (those observed so long), ``displacement`` (their mean size at the end of exposure, stance), ``kept`` (ratio of
        sums over persons; NaN where nobody was displaced).

    Raises
    ------
    UnknownName
        There is no such class.
    """
    if veracity is not None:
        check_known("veracity", veracity, VERACITIES)
    counted = roots(run) if veracity is None else roots(run).filter(pl.col("veracity") == veracity)
    speaks = run.table("post_stances").join(counted.select(pl.col("root").alias("post")), on="post")
    about = speaks.lazy().select(pl.col("post").alias("root"), "proposition")
    shown = run.lazy("exposures").select("step", "agent", "root").join(about, on="root")
    since = _with_start(run).join(shown.group_by(_PERSON).agg(pl.col("step").max().alias("ended")), on=_PERSON)
    displaced = (pl.col("stance") - pl.col("start")).alias("displaced")
    at_end = since.filter(pl.col("step") == pl.col("ended")).select(*_PERSON, displaced)
    after = since.filter(pl.col("step") >= pl.col("ended")).join(at_end, on=_PERSON)
    steps = after.with_columns((pl.col("step") - pl.col("ended")).alias("steps_after"))
    left = (pl.col("stance") - pl.col("start")) * pl.col("displaced").sign()
    size = pl.col("displaced").abs()
    share = pl.when(size.sum() > 0).then(left.sum() / size.sum()).otherwise(float("nan")).alias("kept")
    sums = row_count("persons"), size.mean().alias("displacement"), share
    rows = _named(run, steps.group_by("proposition", "steps_after").agg(*sums))
    columns = "proposition", "name", "steps_after", "persons", "displacement", "kept"
    return rows.select(columns).sort("proposition", "steps_after").pipe(collected, ORDERED)
