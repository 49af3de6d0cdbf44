"""A run as a handful of numbers, for tables that compare many runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import polars as pl

from townsquare.analysis.beliefs import belief_change, belief_course, names
from townsquare.analysis.contract import Kept, Reads
from townsquare.analysis.engagement import balance, engagement
from townsquare.analysis.health import participation
from townsquare.analysis.moderation import moderation_of
from townsquare.analysis.posts import roots
from townsquare.analysis.reach import exposure_counts, reach_of
from townsquare.core.errors import UnknownName
from townsquare.core.registry import did_you_mean


def outcomes(run: Reads) -> dict[str, float]:
    """The outcomes of one run, at its last committed step.

    Returns
    -------
    dict of str to float
        Names and units as in :data:`~townsquare.analysis.outcomes.OUTCOMES`; NaN where one is undefined.
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


# The outcomes of a run: what each is called, its unit, what a higher value means. Tables and figures read it.


@dataclass(frozen=True, slots=True)
class Outcome:
    """One number that sums up a run.

    Attributes
    ----------
    name : str
        As :func:`~townsquare.analysis.outcomes.outcomes` calls it; those of propositions add ``.`` and its name.
    title : str
        As tables and figures call it.
    unit : str
        What it counts in.
    higher : str
        What a higher value means.
    family : str
        Outcomes of one family share a unit and, in figures, an axis.
    """

    name: str
    title: str
    unit: str
    higher: str
    family: str


FAMILIES = {
    "engagement": "Engagement",
    "reach": "Reach",
    "exposures": "Exposures",
    "detection": "Telling false from true",
    "labels": "Posts labelled and removed",
    "delay": "Speed of moderation",
    "shift": "Moves of stance",
    "accuracy": "Accuracy of beliefs",
    "spread": "Spread and polarization",
    "activity": "Activity",
    "ratio": "True against false",
    "shares": "Shares of agents and actions",
    "caveat": "Caveats",
}
"""Title of each family, in the order in which pages show them."""

_LIST = (
    Outcome(
        "engagement_true_per_post", "Engagement per true post", "actions per post", "more with true posts", "engagement"
    ),
    Outcome(
        "engagement_false_per_post",
        "Engagement per false post",
        "actions per post",
        "more with false posts",
        "engagement",
    ),
    Outcome(
        "engagement_gap_per_post", "Gap, true less false", "actions per post", "true posts lead by more", "engagement"
    ),
    Outcome("engagement_ratio", "Ratio of levels, true to false", "ratio", "true posts lead by more", "ratio"),
    Outcome("reach_true_mean", "Mean reach of a true post", "agents", "true posts reach more people", "reach"),
    Outcome("reach_false_mean", "Mean reach of a false post", "agents", "false posts reach more people", "reach"),
    Outcome("exposures_true", "Exposures to true posts", "exposures", "more is shown", "exposures"),
    Outcome("exposures_false", "Exposures to false posts", "exposures", "more is shown", "exposures"),
    Outcome(
        "exposures_false_labelled", "Labelled exposures to false posts", "exposures", "more were warned", "exposures"
    ),
    Outcome("precision", "Precision", "0 to 1", "fewer true posts marked", "detection"),
    Outcome("recall", "Recall", "0 to 1", "more false posts marked", "detection"),
    Outcome("f1", "F1", "0 to 1", "better on balance", "detection"),
    Outcome("true_labelled", "True posts labelled", "posts", "more errors", "labels"),
    Outcome("true_removed", "True posts removed", "posts", "more errors", "labels"),
    Outcome("false_removed", "False posts removed", "posts", "more false posts gone", "labels"),
    Outcome("steps_to_verdict", "Injection to verdict, false posts", "steps", "slower", "delay"),
    Outcome("steps_to_label", "Injection to label, false posts", "steps", "slower", "delay"),
    Outcome("steps_to_takedown", "Injection to takedown, false posts", "steps", "slower", "delay"),
    Outcome("shift", "Mean shift", "stance", "people moved toward being for it", "shift"),
    Outcome("absolute_shift", "Mean size of the shift", "stance", "people moved more", "shift"),
    Outcome("accuracy", "Accuracy at the end", "0 to 1", "beliefs stand nearer to the truth", "accuracy"),
    Outcome("accuracy_shift", "Change of accuracy", "0 to 1", "beliefs came nearer to the truth", "accuracy"),
    Outcome("spread_kept", "Spread kept", "ratio", "less convergence", "spread"),
    Outcome("polarization", "Polarization at the end", "ratio", "camps further apart", "spread"),
    Outcome("actions_per_agent_step", "Actions per agent-step", "per agent-step", "busier", "activity"),
    Outcome("exposures_per_agent_step", "Exposures per agent-step", "per agent-step", "longer feeds", "activity"),
    Outcome("silent_share", "Silent share of those online", "0 to 1", "quieter", "shares"),
    Outcome("refused_share", "Refused share of actions", "0 to 1", "more that could not be done", "shares"),
    Outcome("notes_informative", "Readers could judge plausibility", "0 or 1", "F1 of notes means something", "caveat"),
)

OUTCOMES: dict[str, Outcome] = {outcome.name: outcome for outcome in _LIST}
"""Every outcome by name; those of propositions stand once, without a proposition."""

BY_PROPOSITION = ("shift", "absolute_shift", "accuracy", "accuracy_shift", "spread_kept", "polarization")


def describe(name: str) -> Outcome:
    """The outcome called ``name``, with the proposition in its title where it has one.

    Raises
    ------
    UnknownName
        If there is no such outcome.

    Examples
    --------
    >>> describe("shift.vaccine_safe").title
    'Mean shift: vaccine_safe'
    """
    base, _, proposition = name.partition(".")
    if base not in OUTCOMES or bool(proposition) != (base in BY_PROPOSITION):
        hint = did_you_mean(base, list(OUTCOMES))
        raise UnknownName("outcome", got=repr(name), allowed="the names in OUTCOMES", do=hint)
    found = OUTCOMES[base]
    return replace(found, name=name, title=f"{found.title}: {proposition}") if proposition else found
