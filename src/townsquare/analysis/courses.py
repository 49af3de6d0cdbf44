"""Courses of a run that comparisons draw (reach by age, share labeled, belief in claims, stance); what can mislead."""

from __future__ import annotations

import math

import polars as pl

from townsquare.analysis.beliefs import belief_change, belief_course, statements
from townsquare.analysis.causes.claims import claim_courses, holds_claims
from townsquare.analysis.causes.contributions import changes, contributions
from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import Reads, columns, ratio, section_over_time, setting
from townsquare.analysis.health import belief_movement
from townsquare.analysis.moderation import marks, strategies
from townsquare.analysis.notes import note_course
from townsquare.analysis.posts import measured_roots, roots
from townsquare.analysis.reach import exposure_counts
from townsquare.core.enums import AgentKind, PostKind
from townsquare.core.frames import ORDERED, collected

_AGES = "age of the post (steps)"
COURSES = columns("course:str title:str unit:str over:str at value")


def courses(run: Reads) -> pl.DataFrame:
    """Return how reach, labels and beliefs went, in one long frame.

    Returns
    -------
    DataFrame
        One row per course and point of time: ``course``, ``title``, ``unit``, ``over`` (``age of the post (steps)`` or
        ``step``; in days or hours where steps have a length), ``at`` (in that unit), ``value``. Courses are
        ``reach_by_age``: people that a false post had reached by each age, as the sum over ages of the mean number
        newly reached by posts published at least that long before the end, removed ones included (of all injected
        posts where none is false); ``share_labeled``:
        proportion of the exposures to these posts in a step that carried a label; ``note_precision`` and
        ``note_recall`` so far (:func:`townsquare.analysis.notes.note_course`), of a run with notes;
        ``believe.false`` and ``believe.true``: mean belief in such claims (probability of being true) of the people who
        saw one in a period (a day, or a fourteenth of the run if that is longer), under a rule that keeps it;
        ``stance.<proposition>``: mean stance after a step minus that at step 0.
    """
    parts = [*_reach_and_labels(run), *_notes(run), *_claims(run), *_stances(run)]
    every, clock = pl.concat([pl.DataFrame(schema=COURSES), *parts]), clock_of(run)
    if clock.hours is None:
        return every
    *_, unit = clock.ticks()
    each = clock.hours / 24 if unit == "days" else clock.hours
    in_time = pl.col("over").replace({"step": unit, _AGES: f"age of the post ({unit})"})
    return every.with_columns(in_time, pl.col("at") * each)


def judged_posts(run: Reads) -> pl.DataFrame:
    """Return the injected false posts, or all injected posts where none is false: ``root``, ``step``."""
    injected = measured_roots(run).filter("injected")
    false = injected.filter(pl.col("veracity") == "false")
    return (false if false.height else injected).select("root", pl.col("step").alias("born"), "veracity")


def _reach_and_labels(run: Reads) -> list[pl.DataFrame]:
    posts = judged_posts(run)
    if not posts.height or run.last_step < 1:
        return []
    shown = exposure_counts(run).join(posts, on="root").with_columns((pl.col("step") - pl.col("born")).alias("age"))
    lived = (run.last_step - posts["born"]).to_list()
    ages = pl.DataFrame({"age": range(max(lived) + 1)}, schema={"age": pl.Int32})
    many = ages.with_columns(pl.Series("posts", [sum(end >= age for end in lived) for age in range(max(lived) + 1)]))
    newly = many.join(shown.group_by("age").agg(pl.col("newly").sum()), on="age", how="left").sort("age")
    reached = (pl.col("newly").fill_null(0) / pl.col("posts")).cum_sum()
    share = pl.col("labeled").sum() / pl.col("exposures").sum()
    labeled = shown.group_by("step").agg(share.alias("value")).sort("step")
    which = "a false post" if posts["veracity"][0] == "false" else "a post"
    return [
        _named(newly.select(pl.col("age").alias("at"), reached.alias("value")), "reach_by_age",
               f"Reach of {which} by age", "agents", _AGES),
        _named(labeled.rename({"step": "at"}), "share_labeled",
               f"Share of exposures to {which} that carry a label", "share", "step"),
    ]  # fmt: skip


def _notes(run: Reads) -> list[pl.DataFrame]:
    course = note_course(run).fill_nan(None)
    titles = {"precision": "Of the shown notes on true or false posts, share on false posts",
              "recall": "Share of false posts with a shown note"}  # fmt: skip
    return [
        _named(course.drop_nulls(name).select(pl.col("step").alias("at"), pl.col(name).alias("value")),
               f"note_{name}", f"{title}, so far", "share", "step")
        for name, title in titles.items()
    ]  # fmt: skip


_PERIOD = "in the period (a day, or a fourteenth of the run if that is longer), with the label shown then"


def _claims(run: Reads) -> list[pl.DataFrame]:
    """Return who believes false and true claims. Seeds draw posts of their own, so that no single claim has a band."""
    every = claim_courses(run) if holds_claims(run) else pl.DataFrame()
    believe = ((pl.col("believe") * pl.col("people")).sum() / pl.col("people").sum()).alias("value")
    return [
        _named(every.filter(truth=truth).group_by(at="step").agg(believe).sort("at"), f"believe.{truth}",
               f"Mean belief in {truth} claims at a person's last exposure {_PERIOD}", "probability", "step")
        for truth in (("false", "true") if every.height else ())
    ]  # fmt: skip


def _stances(run: Reads) -> list[pl.DataFrame]:
    by_name = statements(run)
    return [
        _named(part.select(pl.col("step").alias("at"), (pl.col("mean") - pl.col("mean").first()).alias("value")),
               f"stance.{name}", f"Change of mean stance since step 0: {by_name[str(name)]}", "change of stance",
               "step")
        for (name,), part in belief_course(run).group_by("name", maintain_order=True)
    ]  # fmt: skip


def _named(frame: pl.DataFrame, course: str, title: str, unit: str, over: str) -> pl.DataFrame:
    words = {"course": course, "title": title, "unit": unit, "over": over}
    named = frame.with_columns(pl.lit(word).alias(name) for name, word in words.items())
    return named.select(list(COURSES)).cast(COURSES)


def validity(run: Reads) -> dict[str, float]:
    """Return what can make a reader misjudge a run, as numbers.

    Returns
    -------
    dict of str to float
        ``reached``: mean reach of the posts of :func:`courses` over the number of people; ``first_step``: share of
        that reach had in the step of the injection; ``regression``: largest R² over propositions of the change of
        stance on the initial stance; ``shift_per_day``: largest mean absolute change of stance over propositions, per
        day (NaN where steps have no length); ``warm_up_movement``: share of all belief change that came in the
        warm-up. NaN where one is undefined.
    """
    posts = judged_posts(run)
    shown = exposure_counts(run).join(posts, on="root")
    newly, first = (int(part["newly"].sum()) for part in (shown, shown.filter(pl.col("step") == pl.col("born"))))
    people = run.table("agents").filter(pl.col("kind") == AgentKind.PERSON).height
    shares = {"reached": ratio(newly, posts.height * people), "first_step": ratio(first, newly)}
    return {**shares, "regression": _regression(run), **_pace(run)}


def moderation_validity(run: Reads) -> dict[str, float]:
    """Return what can make a reader misjudge the moderation of a run, as numbers.

    Returns
    -------
    dict of str to float
        ``posts_per_step``: most posts published in one step, without shares and comments (0 if none is injected);
        ``checks_per_step``: posts that a fact-checker reviews in a step (NaN without one, or if events change it);
        ``checks_of_people``: share of its reviews that are of posts by people (NaN without a review); ``unchecked``:
        share of injected posts that it never reviewed; ``moderated_movement``: size of all contributions to beliefs by
        posts that were labeled, taken down or downranked, over the size of all (NaN without a trail, or without
        contributions).
    """
    posts = roots(run).filter(pl.col("kind").is_in([int(PostKind.INJECTED), int(PostKind.ORIGINAL)]))
    most = max(posts.group_by("step").len()["len"], default=0) if posts["injected"].any() else 0
    phases = section_over_time(run, "moderation", "strategy")
    paces = {phase.get("posts_per_step") for phase in phases}
    checks = paces.pop() if len(paces) == 1 and set(strategies(run)) <= {"third_party", "hybrid"} else None
    rates = {"posts_per_step": float(most), "checks_per_step": math.nan if checks is None else float(checks)}
    return {**rates, **_reviewed(run), "moderated_movement": _moderated_movement(run)}


def _reviewed(run: Reads) -> dict[str, float]:
    reviewed = run.table("verdicts").select(root="post").unique()
    injected = roots(run).filter("injected")
    of_injected = injected.join(reviewed, on="root", how="semi").height
    unchecked = 1 - ratio(of_injected, injected.height)
    return {"checks_of_people": 1 - ratio(of_injected, reviewed.height), "unchecked": unchecked}


def _pace(run: Reads) -> dict[str, float]:
    clock, moves = clock_of(run), belief_movement(run)
    most = float(belief_change(run)["absolute_shift"].fill_nan(None).max() or 0.0)  # type: ignore[arg-type]
    days, gain = (clock.last - clock.warm_up) * (clock.hours or 0.0) / 24, float(moves["gain"].sum())
    early = float(moves.filter(pl.col("step") <= clock.warm_up)["gain"].sum())
    return {"shift_per_day": ratio(most, days), "warm_up_movement": ratio(early, gain) if clock.warm_up else math.nan}


def _regression(run: Reads) -> float:
    r = changes(run).group_by("proposition").agg(pl.corr("start", "change").alias("r"))["r"].fill_nan(None).drop_nulls()
    return max((float(each) ** 2 for each in r), default=math.nan)


def _moderated_movement(run: Reads) -> float:
    if not setting(run, "record", "trail", default=True):
        return math.nan
    acts = pl.col("label_step", "takedown_step", "downrank_step").is_not_null()
    touched = marks(run).filter(pl.any_horizontal(acts))
    marked = touched.lazy().select("root", touched=pl.lit(True))  # of many roots, a join is quicker than `is_in`
    rows, size = contributions(run, shown=False).join(marked, on="root", how="left"), pl.col("amount").abs()
    both = rows.select(size.filter("touched").sum().alias("part"), size.sum().alias("all"))
    part, whole = both.pipe(collected, ORDERED).row(0)
    return ratio(part, whole)
