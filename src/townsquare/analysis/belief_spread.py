"""Polarization and convergence over time: several measures side by side, since they answer different questions.

Which one a study means should be said beforehand. Spread, distance, extremity, camps and humps can each rise while
another falls: two camps that draw together while each grows more uniform lose distance and gain humps.
"""

from __future__ import annotations

import polars as pl

from townsquare.analysis.beliefs import distributions, names, person_beliefs, true_sides
from townsquare.analysis.contract import Reads, row_count
from townsquare.analysis.polarization import entropy, mean_distance
from townsquare.core.frames import ORDERED, collected

HALF = 0.5
"""Share of the spread at the start below which beliefs count as converged."""


def polarization_course(run: Reads) -> pl.DataFrame:
    """Measures of polarization after each step.

    Returns
    -------
    DataFrame
        One row per step from 0 and proposition: ``step``, ``proposition``, ``name``; ``sd`` (population, 0 to 1);
        ``mean_distance`` (of all ordered pairs of persons, each with itself included; 0 to 1); ``polarization``
        (variance of those distances, 0 to 1; Flache and Macy 2011); ``bimodality`` (0 to 1; NaN under four persons or
        without spread); ``extremity`` (mean size of the stance, 0 to 1); ``camp_gap`` (mean of those for less mean of
        those against, 0 to 2; NaN where one camp is empty); ``camp_balance`` (persons of the smaller camp over those
        of the larger, 0 to 1; NaN without camps); ``entropy`` (of 20 equal bins, 0: all in one, 1: evenly spread).
    """
    measures = distributions(run).join(names(run).drop("text"), on="proposition", maintain_order="left")
    spread = pl.Series("entropy", [entropy(counts.to_numpy()) for counts in measures["bins"]], pl.Float64)
    order = ["sd", "mean_distance", "polarization", "bimodality", "extremity", "camp_gap", "camp_balance", "entropy"]
    return measures.with_columns(spread).select("step", "proposition", "name", *order)


def convergence(run: Reads) -> pl.DataFrame:
    """Convergence: spread relative to that at step 0 for the same persons, and the step at which it halves.

    Only persons who were there from the start count, so that newcomers cannot look like spread.

    Returns
    -------
    DataFrame
        One row per step from 0 and proposition: ``step``, ``proposition``, ``persons``, ``kept`` (sd over sd at the
        start; NaN if all started alike), ``distance_kept`` (mean distance of pairs, likewise), ``steps_to_half`` (first
        step in which ``kept`` is below one half, the same in all rows of a proposition; null if it never is).
    """
    first = person_beliefs(run).filter(pl.col("step") == 0).select("agent", "proposition")
    stances = person_beliefs(run).select("step", "agent", "proposition", "stance")
    beliefs = stances.join(first, on=["agent", "proposition"])
    stance = pl.col("stance")
    course = beliefs.group_by("step", "proposition").agg(row_count("persons"), stance.sort(), sd=stance.std(ddof=0))
    ordered = course.sort("proposition", "step").pipe(collected, ORDERED)
    distances = [max(mean_distance(each.to_numpy()), 0.0) for each in ordered["stance"]]
    ordered = ordered.with_columns(distance=pl.Series(distances, dtype=pl.Float64)).drop("stance")
    starts = {name: pl.col(name).first().over("proposition") for name in ("sd", "distance")}
    left = {name: pl.when(start > 1e-12).then(pl.col(name) / start) for name, start in starts.items()}
    both = (("sd", "kept"), ("distance", "distance_kept"))
    shares = [left[measure].otherwise(float("nan")).alias(name) for measure, name in both]
    half = pl.col("step").filter(pl.col("kept") < HALF).min().over("proposition").alias("steps_to_half")
    columns = ["step", "proposition", "persons", "kept", "distance_kept", "steps_to_half"]
    return ordered.with_columns(shares).with_columns(half).select(columns).sort("step", "proposition")


def accuracy_course(run: Reads) -> pl.DataFrame:
    """Accuracy of beliefs after each step, relative to the side of the truth (:func:`true_sides`).

    Returns
    -------
    DataFrame
        One row per step from 0 and proposition on which the truth has a side: ``step``, ``proposition``,
        ``name``, ``side`` (-1 or 1), ``accuracy`` (mean of 1 less half the distance to the side, 0 to 1),
        ``right_side`` (share of persons whose stance has its sign), ``confident_wrong`` (share on the other side with a
        stance beyond one half), ``spread`` (sd of the accuracy over persons).
    """
    sides = true_sides(run).filter(pl.col("side").is_not_nan()).select("proposition", "name", "side").lazy()
    toward = pl.col("stance") * pl.col("side")
    accuracy = (1.0 + toward) / 2.0
    beliefs = person_beliefs(run).select("step", "proposition", "stance").join(sides, on="proposition")
    shares = {"right_side": (toward > 0).mean(), "confident_wrong": (toward < -HALF).mean()}
    groups = beliefs.group_by("step", "proposition", "name", "side")
    courses = groups.agg(accuracy=accuracy.mean(), **shares, spread=accuracy.std(ddof=0))
    return courses.pipe(collected, ORDERED).sort("step", "proposition")
