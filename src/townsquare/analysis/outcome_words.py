"""The outcomes of a run: what each is called, its unit, what a higher value means. Tables and figures read it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from townsquare.errors import UnknownName
from townsquare.registry import did_you_mean


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
