"""A run as a handful of numbers, for tables that compare many runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from townsquare.analysis.beliefs import belief_change, belief_course, first_stances, names, statements
from townsquare.analysis.causes.claims import holds_claims, last_beliefs, truth_of_claims
from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import FAMILY, CachedRun, Measure, Reads, columns, measure, ratio
from townsquare.analysis.engagement import engagement_balance, engagement_by_post
from townsquare.analysis.facts.people import SIDE
from townsquare.analysis.health import activity, participation
from townsquare.analysis.moderation import moderation
from townsquare.analysis.notes import note_numbers
from townsquare.analysis.posts import measured_roots, roots
from townsquare.analysis.reach import reach
from townsquare.core import registry
from townsquare.core.enums import AgentKind
from townsquare.core.errors import UnknownName
from townsquare.core.frames import collected
from townsquare.core.registry import did_you_mean
from townsquare.settings.layers import read_yaml


def numbered() -> list[Measure]:
    """Return every registered measure that sums up a run in numbers: those below, then those of other packages."""
    bundled = registry.bundled(FAMILY)
    wanted = [name for name in registry.names(FAMILY) if name in MEASURES or name not in bundled]
    return [member for member in map(measure, wanted) if member.is_number]


def outcomes(run: Reads) -> dict[str, float]:
    """Return the outcomes of one run, of all its committed steps.

    Returns
    -------
    dict of str to float
        Every registered measure that is a number; NaN where one is undefined. The names depend on the scenario's
        propositions only, so that all runs of a comparison have the same.
    """
    cached = run if isinstance(run, CachedRun) else CachedRun(run)
    return cached.once(
        "outcomes", lambda: {name: value for what in numbered() for name, value in what.numbers(cached).items()}
    )


_TABLE = columns("outcome:str title:str value unit:str direction:str definition:str")


def outcome_table(run: Reads) -> pl.DataFrame:
    """Every outcome with its unit, direction and definition.

    Returns
    -------
    DataFrame
        One row per outcome: ``outcome``, ``title``, ``value``, ``unit``, ``direction``, ``definition``.
    """
    described = [(describe(name, statements(run)), value) for name, value in outcomes(run).items()]
    rows = [(what.name, what.title, value, what.unit, what.direction, what.definition) for what, value in described]
    return pl.DataFrame(rows, schema=_TABLE, orient="row")


def describe(name: str, by_name: Mapping[str, str] | None = None) -> Measure:
    """Return the measure behind an outcome, with the proposition, or its statement, in the title where it has one.

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
        hint = did_you_mean(base, [known.name for known in numbered()])
        allowed = "measures that are numbers: townsquare analyze --list"
        raise UnknownName("outcome", got=repr(name), allowed=allowed, do=hint)
    member = measure(base)
    statement = (by_name or {}).get(proposition, proposition)
    title = f"{member.heading}: {statement}" if proposition else member.heading
    return replace(member, name=name, title=title, group=member.group or base)


def is_outcome(name: str) -> bool:
    """Return whether a registered measure gives an outcome of this name."""
    base, dot, _ = name.partition(".")
    if base not in registry.names(FAMILY):
        return False
    member = measure(base)
    return member.is_number and bool(dot) == (member.by_proposition is not None)


def outcome_names(propositions: Sequence[str]) -> list[str]:
    """Return the name of every outcome that runs with these propositions have.

    >>> "shift.safe" in outcome_names(["safe"]), "reach_false_mean" in outcome_names([])
    (True, True)
    """
    names: list[str] = []
    for what in numbered():
        names += [f"{what.name}.{proposition}" for proposition in propositions] if what.by_proposition else [what.name]
    return names


def groups() -> dict[str, str]:
    """Return the titles of the groups of outcomes in the order of pages, those of other packages last."""
    others = {what.group or what.name: what.heading for what in numbered() if what.name not in MEASURES}
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
    by_post = reach(run).join(measured_roots(run).select("root"), on="root")
    parts = {word: by_post.filter(pl.col("veracity") == word) for word in ("true", "false")}
    persons = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON)["agent"]
    of_persons = roots(run).filter(pl.col("author").is_in(persons.implode()))["root"]
    takes_side = run.table("post_stances").filter(pl.col("stance") != 0)["post"]
    by_people, slanted = (pl.col("root").is_in(posts.implode()) for posts in (of_persons, takes_side))
    return {
        **{f"reach_{word}_mean": _number(part["reach"].mean()) for word, part in parts.items()},
        **{f"exposures_{word}": _number(part["exposures"].sum()) for word, part in parts.items()},
        "exposures_false_labeled": _number(parts["false"]["labeled"].sum()),
        "exposures_false_by_people": _number(parts["false"].filter(by_people)["exposures"].sum()),
        "exposures_slanted": _number(parts["true"].filter(slanted)["exposures"].sum()),
    }


def _claims(run: Reads) -> dict[str, float]:
    judged = {word: pl.Series([], dtype=pl.Float64) for word in ("true", "false")}
    if holds_claims(run):
        beliefs = last_beliefs(run).filter(pl.col("step") > clock_of(run).warm_up)
        of_truth = beliefs.join(truth_of_claims(run), on="claim")
        judged = {word: of_truth.filter(truth=word)["judged"] for word in judged}
    return {f"belief_in_{word}_claims": ratio(each.filter(each > 0).len(), each.len()) for word, each in judged.items()}


def _spread(run: Reads) -> dict[str, float]:
    came = measured_roots(run).filter(veracity="false").select("root")
    false = came.join(reach(run), on="root").join(engagement_by_post(run), on="root", how="left")
    many, exposures = float(false["shares"].sum()), float(false["exposures"].sum())
    shares = {"reshares_false": many if false.height else math.nan}
    shares["reshares_false_per_exposure"] = ratio(1000 * many, exposures)
    return {**shares, "cross_cutting_exposure": _cross_cutting(run)}


def _cross_cutting(run: Reads) -> float:
    """Return the proportion of exposures to the other side, from one array for posts and one for people."""
    first = run.table("post_stances").unique("post", keep="first", maintain_order=True)
    own = first_stances(run).filter(pl.col("start").abs() > SIDE).pipe(collected)
    in_time = pl.col("step") > clock_of(run).warm_up
    shown = run.lazy("exposures").filter(in_time).select("agent", "root").pipe(collected)
    if not (first.height and own.height and shown.height):
        return math.nan
    posts, agents, n = (
        1 + max(int(column.max() or 0) for column in columns)  # type: ignore[arg-type]
        for columns in ((first["post"], shown["root"]), (own["agent"], shown["agent"]),
                        (first["proposition"], own["proposition"]))
    )  # fmt: skip
    about, side, start = np.zeros(posts, np.int64), np.zeros(posts), np.zeros((agents, n))
    about[first["post"].to_numpy()], side[first["post"].to_numpy()] = first["proposition"], np.sign(first["stance"])
    start[own["agent"].to_numpy(), own["proposition"].to_numpy()] = np.sign(own["start"])
    root = shown["root"].to_numpy()
    same = start[shown["agent"].to_numpy(), about[root]] * side[root]
    return ratio(int(np.count_nonzero(same < 0)), int(np.count_nonzero(same)))


def _moderation(run: Reads) -> dict[str, float]:
    return {name: _number(value) for name, value in moderation(run).row(0, named=True).items()}


def _activity(run: Reads) -> dict[str, float]:
    return activity(participation(run).filter(pl.col("step") > clock_of(run).warm_up))


def _of_beliefs(run: Reads, column: str, *, at_the_end: bool) -> dict[str, float]:
    """Return a column of the change of beliefs, or of their course at the last step, by proposition."""
    end = belief_course(run).filter(pl.col("step") == run.last_step) if at_the_end else belief_change(run)
    both = names(run).join(end.select("proposition", column), on="proposition", how="left").sort("proposition")
    return {str(name): _number(value) for name, value in both.select("name", column).iter_rows()}


def _one_of(numbers: Numbers, name: str, run: Reads) -> float:
    """Return one of several numbers, which are computed once of a :class:`CachedRun`."""
    values = run.once(numbers.__name__, lambda: numbers(run)) if isinstance(run, CachedRun) else numbers(run)
    return values[name]


DEFINITIONS = Path(str(files("townsquare"))) / "data" / "outcomes.yaml"
"""Title, unit, direction and definition of every outcome that comes with the package, by group."""
_SOURCES: dict[str, Numbers] = {
    "engagement": _engagement, "reach": _reach, "moderation": _moderation, "activity": _activity,
    "spread": _spread, "claims": _claims, "notes": note_numbers,
}  # fmt: skip


def _measure(name: str, group: str, *, source: str, main: bool = False, **words: Any) -> Measure:
    """Return the measure that the definitions describe; see their first lines."""
    if source in _SOURCES:
        return Measure(name, group=group, number=partial(_one_of, _SOURCES[source], name), main=main, **words)
    stances = partial(_of_beliefs, column=name, at_the_end=source == "last step")
    return Measure(name, group=group, by_proposition=stances, main=main, **words)


_DEFINED, _ = read_yaml(DEFINITIONS)
_GROUPS: dict[str, str] = {group: about.pop("title") for group, about in _DEFINED.items()}
MEASURES: dict[str, Measure] = {
    name: _measure(name, group, **about | words)
    for group, about in _DEFINED.items()
    for name, words in about.pop("measures").items()
}
"""The bundled measures that are numbers, as the registry has them."""
