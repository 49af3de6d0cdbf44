"""A run as a handful of numbers, for tables that compare many runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import polars as pl

from townsquare.analysis.beliefs import belief_change, belief_course, names
from townsquare.analysis.contract import CachedRun, Reads
from townsquare.analysis.engagement import engagement_balance
from townsquare.analysis.health import participation
from townsquare.analysis.moderation import moderation
from townsquare.analysis.reach import reach
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
    kept = run if isinstance(run, CachedRun) else CachedRun(run)
    return {**_engagement(kept), **_reach(kept), **_moderation(kept), **_beliefs(kept), **_activity(kept)}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _engagement(run: Reads) -> dict[str, float]:
    last = engagement_balance(run).tail(1)
    named = {"true": "true_per_post", "false": "false_per_post", "gap_per_post": "gap_per_post", "ratio": "ratio"}
    row = last.row(0, named=True) if last.height else dict.fromkeys(named)
    return {f"engagement_{name}": _number(row[column]) for column, name in named.items()}


def _reach(run: Reads) -> dict[str, float]:
    by_post = reach(run)
    parts = {word: by_post.filter(pl.col("veracity") == word) for word in ("true", "false")}
    return {
        **{f"reach_{word}_mean": _number(part["reach"].mean()) for word, part in parts.items()},
        **{f"exposures_{word}": _number(part["exposures"].sum()) for word, part in parts.items()},
        "exposures_false_labelled": _number(parts["false"]["labelled"].sum()),
    }


def _moderation(run: Reads) -> dict[str, float]:
    row = moderation(run).row(0, named=True)
    return {name: _number(row[name]) for name, of in OUTCOMES.items() if of.family in _OF_MODERATION}


def _beliefs(run: Reads) -> dict[str, float]:
    end = belief_course(run).filter(pl.col("step") == run.last_step).select("proposition", "polarization", "accuracy")
    change = belief_change(run).drop("name")
    both = names(run).join(change, on="proposition", how="left").join(end, on="proposition", how="left")
    return {
        f"{name}.{row['name']}": _number(row[name])
        for row in both.sort("proposition").iter_rows(named=True)
        for name in BY_PROPOSITION
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

_OF_MODERATION = ("detection", "labels", "delay", "caveat")
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
