"""A run as a handful of numbers, for tables that compare many runs."""

from __future__ import annotations

import math

import polars as pl

from townsquare.analysis.beliefs import belief_change, belief_course, names
from townsquare.analysis.contract import Kept, Reads
from townsquare.analysis.engagement import balance, engagement
from townsquare.analysis.health import participation
from townsquare.analysis.moderation import moderation_of
from townsquare.analysis.posts import roots
from townsquare.analysis.reach import exposure_counts, reach_of


def outcomes(run: Reads) -> dict[str, float]:
    """The outcomes of one run, at its last committed step.

    Returns
    -------
    dict of str to float
        Names and units as in :data:`~townsquare.analysis.outcome_words.OUTCOMES`; NaN where one is undefined.
        The names depend on the scenario's propositions only, so that all runs of a comparison have the same.
    """
    kept = Kept(run)
    return outcomes_of(kept, exposure_counts(kept), belief_course(kept))


def outcomes_of(run: Reads, counts: pl.DataFrame, course: pl.DataFrame) -> dict[str, float]:
    """:func:`outcomes` from the frames of :func:`~townsquare.analysis.reach.exposure_counts` and ``belief_course``."""
    return {
        **_engagement(run),
        **_reach(run, counts),
        **_moderation(run, counts),
        **_beliefs(run, course),
        **_activity(run),
    }


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _engagement(run: Reads) -> dict[str, float]:
    last = balance(engagement(run)).tail(1)
    row = last.row(0, named=True) if last.height else dict.fromkeys(("true", "false", "gap_per_post", "ratio"))
    return {
        "engagement_true_per_post": _number(row["true"]),
        "engagement_false_per_post": _number(row["false"]),
        "engagement_gap_per_post": _number(row["gap_per_post"]),
        "engagement_ratio": _number(row["ratio"]),
    }


def _reach(run: Reads, counts: pl.DataFrame) -> dict[str, float]:
    by_post = reach_of(counts, roots(run))
    parts = {word: by_post.filter(pl.col("veracity") == word) for word in ("true", "false")}
    return {
        **{f"reach_{word}_mean": _number(part["reach"].mean()) for word, part in parts.items()},
        **{f"exposures_{word}": _number(part["exposures"].sum()) for word, part in parts.items()},
        "exposures_false_labelled": _number(parts["false"]["labelled"].sum()),
    }


def _moderation(run: Reads, counts: pl.DataFrame) -> dict[str, float]:
    row = moderation_of(run, counts).row(0, named=True)
    wanted = (
        "precision",
        "recall",
        "f1",
        "true_labelled",
        "true_removed",
        "false_removed",
        "steps_to_verdict",
        "steps_to_label",
        "steps_to_takedown",
        "notes_informative",
    )
    return {name: _number(row[name]) for name in wanted}


def _beliefs(run: Reads, course: pl.DataFrame) -> dict[str, float]:
    end = course.filter(pl.col("step") == run.last_step).select("proposition", "polarization", "accuracy")
    change = belief_change(run).drop("name")
    both = names(run).join(change, on="proposition", how="left").join(end, on="proposition", how="left")
    columns = {
        "shift": "shift",
        "absolute_shift": "absolute_shift",
        "accuracy": "accuracy",
        "accuracy_shift": "accuracy_shift",
        "spread_kept": "spread_kept",
        "polarization": "polarization",
    }
    return {
        f"{name}.{row['name']}": _number(row[column])
        for row in both.sort("proposition").iter_rows(named=True)
        for name, column in columns.items()
    }


def _activity(run: Reads) -> dict[str, float]:
    steps = participation(run)
    online, accepted, refused = (int(steps[name].sum()) for name in ("online", "accepted", "refused"))
    return {
        "actions_per_agent_step": accepted / online if online else math.nan,
        "exposures_per_agent_step": int(steps["exposures"].sum()) / online if online else math.nan,
        "silent_share": 1.0 - int(steps["acting"].sum()) / online if online else math.nan,
        "refused_share": refused / (accepted + refused) if accepted + refused else math.nan,
    }
