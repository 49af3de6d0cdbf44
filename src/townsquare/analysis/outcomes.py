"""A run as a handful of numbers, for tables that compare many runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import polars as pl

from townsquare.analysis.beliefs import belief_change, belief_course, names
from townsquare.analysis.contract import FAMILY, CachedRun, Direction, Measure, Reads, columns, measure
from townsquare.analysis.engagement import engagement_balance
from townsquare.analysis.health import participation
from townsquare.analysis.moderation import moderation
from townsquare.analysis.reach import reach
from townsquare.core import registry
from townsquare.core.errors import UnknownName
from townsquare.core.registry import did_you_mean


def numbered() -> list[Measure]:
    """Every registered measure that sums up a run in numbers: those below, then those of other packages."""
    bundled = registry.bundled(FAMILY)
    wanted = [name for name in registry.names(FAMILY) if name in MEASURES or name not in bundled]
    return [found for found in map(measure, wanted) if found.is_number]


def outcomes(run: Reads) -> dict[str, float]:
    """The outcomes of one run, at its last committed step.

    Returns
    -------
    dict of str to float
        Every registered measure that is a number; NaN where one is undefined. The names depend on the scenario's
        propositions only, so that all runs of a comparison have the same.
    """
    kept = run if isinstance(run, CachedRun) else CachedRun(run)
    return {name: value for one in numbered() for name, value in one.numbers(kept).items()}


_TABLE = columns("outcome:str title:str value unit:str direction:str definition:str")


def outcome_table(run: Reads) -> pl.DataFrame:
    """Every measure that sums up the run in a number, with its unit, direction and definition.

    Returns
    -------
    DataFrame
        One row an outcome: ``outcome``, ``title``, ``value``, ``unit``, ``direction``, ``definition``.
    """
    found = [(describe(name), value) for name, value in outcomes(run).items()]
    rows = [(one.name, one.title, value, one.unit, one.direction, one.definition) for one, value in found]
    return pl.DataFrame(rows, schema=_TABLE, orient="row")


def describe(name: str) -> Measure:
    """The measure behind the outcome called ``name``, with the proposition in its title where it has one.

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
    if not is_outcome(name):
        hint = did_you_mean(base, [one.name for one in numbered()])
        raise UnknownName(
            "outcome", got=repr(name), allowed="measures that are numbers: townsquare analyze --list", do=hint
        )
    found = measure(base)
    title = f"{found.heading}: {proposition}" if proposition else found.heading
    return replace(found, name=name, title=title, group=found.group or base)


def is_outcome(name: str) -> bool:
    """Whether a registered measure gives an outcome of this name."""
    base, dot, _ = name.partition(".")
    if base not in registry.names(FAMILY):
        return False
    found = measure(base)
    return found.is_number and bool(dot) == (found.by_proposition is not None)


def groups() -> dict[str, str]:
    """Titles of the groups of outcomes, in the order in which pages show them; those of other packages come last."""
    others = {one.group or one.name: one.heading for one in numbered() if one.name not in MEASURES}
    return {**_GROUPS, **{group: title for group, title in others.items() if group not in _GROUPS}}


# What each number is computed of: several come from one table.

Numbers = Callable[[Reads], Mapping[str, float]]


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
    return {name: _number(value) for name, value in moderation(run).row(0, named=True).items()}


def _activity(run: Reads) -> dict[str, float]:
    steps = participation(run)
    online, accepted, refused = (int(steps[name].sum()) for name in ("online", "accepted", "refused"))
    return {
        "actions_per_agent_step": accepted / online if online else math.nan,
        "exposures_per_agent_step": int(steps["exposures"].sum()) / online if online else math.nan,
        "silent_share": 1.0 - int(steps["acting"].sum()) / online if online else math.nan,
        "refused_share": refused / (accepted + refused) if accepted + refused else math.nan,
    }


def _of_beliefs(run: Reads, column: str, *, at_the_end: bool) -> dict[str, float]:
    """A column of the change of beliefs, or of their course at the last step, by proposition."""
    end = belief_course(run).filter(pl.col("step") == run.last_step) if at_the_end else belief_change(run)
    both = names(run).join(end.select("proposition", column), on="proposition", how="left").sort("proposition")
    return {str(name): _number(value) for name, value in both.select("name", column).iter_rows()}


def _one_of(numbers: Numbers, name: str, run: Reads) -> float:
    """One of several numbers, which are computed once of a :class:`CachedRun`."""
    found = run.once(numbers.__name__, lambda: numbers(run)) if isinstance(run, CachedRun) else numbers(run)
    return found[name]


_GROUPS = {
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

_NO_TRUTH, _NO_STEP = "where no post of that truth was injected", "where nobody was online"
_NOT_MARKED, _NEVER = "where no post of known truth could be marked", "where it never happened"


def _sums(
    numbers: Numbers, group: str, unit: str, undefined: str, *rows: tuple[str, str, Direction, str, str]
) -> list[Measure]:
    """Measures of one group: name, title, direction, what a higher value means, definition."""
    return [
        Measure(
            name, unit, direction, definition, number=partial(_one_of, numbers, name), title=title, higher=higher,
            group=group, undefined=undefined,
        )
        for name, title, direction, higher, definition in rows
    ]  # fmt: skip


def _by_proposition(
    group: str, unit: str, undefined: str, *rows: tuple[str, str, Direction, str, str], at_the_end: tuple[str, ...] = ()
) -> list[Measure]:
    """Measures of each proposition: as :func:`_sums`, computed of the change of beliefs or, if named, of their end."""
    return [
        Measure(
            name, unit, direction, definition, title=title, higher=higher, group=group, undefined=undefined,
            by_proposition=partial(_of_beliefs, column=name, at_the_end=name in at_the_end),
        )
        for name, title, direction, higher, definition in rows
    ]  # fmt: skip


_BETTER: Direction = "higher is better"
_WORSE: Direction = "lower is better"
_NEITHER: Direction = "neither"
_LISTED = [
    *_sums(
        _engagement, "engagement", "actions per post", _NO_TRUTH,
        (
            "engagement_true_per_post", "Engagement per true post", _BETTER, "more with true posts",
            "Likes, dislikes, shares and comments of injected true posts, over their number.",
        ),
        (
            "engagement_false_per_post", "Engagement per false post", _WORSE, "more with false posts",
            "Likes, dislikes, shares and comments of injected false posts, over their number.",
        ),
        (
            "engagement_gap_per_post", "Gap, true less false", _BETTER, "true posts lead by more",
            "Engagement per true post minus engagement per false post.",
        ),
    ),
    *_sums(
        _engagement, "ratio", "ratio", _NO_TRUTH,
        (
            "engagement_ratio", "Ratio of levels, true to false", _BETTER, "true posts lead by more",
            "Engagement per true post over engagement per false post.",
        ),
    ),
    *_sums(
        _reach, "reach", "agents", _NO_TRUTH,
        (
            "reach_true_mean", "Mean reach of a true post", _BETTER, "true posts reach more people",
            "Distinct agents that were shown an injected true post, averaged over these posts.",
        ),
        (
            "reach_false_mean", "Mean reach of a false post", _WORSE, "false posts reach more people",
            "Distinct agents that were shown an injected false post, averaged over these posts.",
        ),
    ),
    *_sums(
        _reach, "exposures", "exposures", "",
        ("exposures_true", "Exposures to true posts", _BETTER, "more is shown", "Exposures to injected true posts."),
        ("exposures_false", "Exposures to false posts", _WORSE, "more is shown", "Exposures to injected false posts."),
        (
            "exposures_false_labelled", "Labelled exposures to false posts", _NEITHER, "more were warned",
            "Exposures to injected false posts that carried a label.",
        ),
    ),
    *_sums(
        _moderation, "detection", "0 to 1", _NOT_MARKED,
        (
            "precision", "Precision", _BETTER, "fewer true posts marked",
            "Of the posts that moderation marked as misleading, the share that is false.",
        ),
        (
            "recall", "Recall", _BETTER, "more false posts marked",
            "Of the injected false posts, the share that moderation marked as misleading.",
        ),
        ("f1", "F1", _BETTER, "better on balance", "The harmonic mean of precision and recall."),
    ),
    *_sums(
        _moderation, "labels", "posts", "",
        ("true_labelled", "True posts labelled", _WORSE, "more errors", "Injected true posts that got a label."),
        ("true_removed", "True posts removed", _WORSE, "more errors", "Injected true posts that were taken down."),
        (
            "false_removed", "False posts removed", _NEITHER, "more false posts gone",
            "Injected false posts that were taken down.",
        ),
    ),
    *_sums(
        _moderation, "delay", "steps", _NEVER,
        (
            "steps_to_verdict", "Injection to verdict, false posts", _WORSE, "slower",
            "Steps from the injection of a false post to its first verdict, averaged over those that got one.",
        ),
        (
            "steps_to_label", "Injection to label, false posts", _WORSE, "slower",
            "Steps from the injection of a false post to its first label, averaged over those that got one.",
        ),
        (
            "steps_to_takedown", "Injection to takedown, false posts", _WORSE, "slower",
            "Steps from the injection of a false post to its takedown, averaged over those that were taken down.",
        ),
    ),
    *_sums(
        _moderation, "caveat", "0 or 1", "",
        (
            "notes_informative", "Readers could judge plausibility", _NEITHER, "F1 of notes means something",
            "Whether some injected post of known truth has a plausibility other than 0.5.",
        ),
    ),
    *_by_proposition(
        "shift", "stance", "where nobody holds a belief",
        (
            "shift", "Mean shift", _NEITHER, "people moved toward being for it",
            "Last stance minus first stance of each person, averaged.",
        ),
        (
            "absolute_shift", "Mean size of the shift", _NEITHER, "people moved more",
            "Size of the difference between last and first stance of each person, averaged.",
        ),
    ),
    *_by_proposition(
        "accuracy", "0 to 1", "where no injected true post takes a side",
        (
            "accuracy", "Accuracy at the end", _BETTER, "beliefs stand nearer to the truth",
            "Nearness of last stances to the side that the injected true posts take, averaged over persons.",
        ),
        (
            "accuracy_shift", "Change of accuracy", _BETTER, "beliefs came nearer to the truth",
            "Accuracy of each person at the end minus that at its start, averaged.",
        ),
        at_the_end=("accuracy",),
    ),
    *_by_proposition(
        "spread", "ratio", "where all started alike, or nobody holds a belief",
        (
            "spread_kept", "Spread kept", _NEITHER, "less convergence",
            "Standard deviation of the last stances over that of the first ones, of the same persons.",
        ),
        (
            "polarization", "Polarization at the end", _WORSE, "camps further apart",
            "Variance of the distances between the stances of all pairs of persons at the last step.",
        ),
        at_the_end=("polarization",),
    ),
    *_sums(
        _activity, "activity", "per agent-step", _NO_STEP,
        (
            "actions_per_agent_step", "Actions per agent-step", _NEITHER, "busier",
            "Accepted actions other than ignoring, over persons online, both summed over steps.",
        ),
        (
            "exposures_per_agent_step", "Exposures per agent-step", _NEITHER, "longer feeds",
            "Exposures over persons online, both summed over steps.",
        ),
    ),
    *_sums(
        _activity, "shares", "0 to 1", "where nobody was online or nothing was tried",
        (
            "silent_share", "Silent share of those online", _NEITHER, "quieter",
            "Share of persons online that did nothing, over all steps.",
        ),
        (
            "refused_share", "Refused share of actions", _WORSE, "more that could not be done",
            "Refused actions over all that were tried, ignoring left out.",
        ),
    ),
]  # fmt: skip
MEASURES: dict[str, Measure] = {one.name: one for one in _LISTED}
"""The bundled measures that are numbers, as the registry has them."""
