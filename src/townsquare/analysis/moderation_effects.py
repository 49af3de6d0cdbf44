"""What moderation changed: how soon it came, whom it met, and what it did against a paired run without it.

Two runs are *paired* when they differ in the moderation alone: same seed, population, graph, injected posts and draws
(arms of a comparison are). Injected posts are matched by their key. What differs is then the effect of moderation in
this one world; over worlds, compare seeds.
"""

from __future__ import annotations

import math
import warnings
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import scipy

from townsquare.analysis import statistics
from townsquare.analysis.beliefs import names, person_beliefs
from townsquare.analysis.contract import Reads, columns
from townsquare.analysis.engagement import engagement_by_post
from townsquare.analysis.groups import all_groups, persons
from townsquare.analysis.moderation import labels
from townsquare.analysis.posts import CARRIED_LABEL, known_posts, roots
from townsquare.analysis.reach import reach
from townsquare.core.documents import bundled_labels
from townsquare.core.enums import LogKind, Verdict
from townsquare.core.errors import RecordError
from townsquare.core.frames import collected

EVENTS = {"verdict": "verdict_step", "label": "label_step", "takedown": "takedown_step"}
TIMES = columns("event:str veracity:str steps measure:str unit:str n:int value low high")
PAIRED = columns("measure:str unit:str veracity:str n:int without with value low high p_paired p_rank")
AFFECTED = columns("grouping:str group:str measure:str unit:str n:int value low high")
CHANGED = AFFECTED | columns("p")
_PER_POST, _PER_PERSON = bundled_labels("units_per_post"), bundled_labels("units_per_person")


def time_to_moderation(run: Reads) -> pl.DataFrame:
    """Share of injected true and false posts with a verdict, label or takedown, by age of the post.

    Returns
    -------
    DataFrame
        One row per event (``verdict``; ``label``, as in :func:`labels`; ``takedown``), class and age at
        which it happened to some post: ``event``, ``veracity``, ``steps`` (since the injection), ``measure``
        (``happened``), ``unit`` (share of posts), ``n`` (posts), ``value`` with ``low`` and ``high``: one less the
        estimate of Kaplan and Meier, so that posts whose time ran out with the run count as long as they were watched.
    """
    frame = labels(run)
    rows = []
    for event, column in EVENTS.items():
        for veracity in ("true", "false"):
            posts = frame.filter(pl.col("veracity") == veracity)
            after = (posts[column] - posts["step"]).to_numpy().astype(np.float64)
            course = _happened(after, (run.last_step - posts["step"]).to_numpy().astype(np.float64))
            rows += [(event, veracity, at, "happened", "share of posts", posts.height, *ends) for at, *ends in course]
    return statistics.tidy(rows, TIMES)


def _happened(after: np.ndarray, watched: np.ndarray) -> list[tuple[float, float, float, float]]:
    """Return Kaplan and Meier's share that it happened to by each time; ``after`` is NaN where it did not."""
    did = ~np.isnan(after)
    if not did.any():
        return []
    times = np.where(did, after, watched)
    survives = scipy.stats.ecdf(scipy.stats.CensoredData.right_censored(times, ~did)).sf
    happened = np.unique(after[did])
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # undefined once it happened to all
        ends: Any = survives.confidence_interval(statistics.LEVEL, method="log-log")
    low, high = (1.0 - np.asarray(end.evaluate(happened)) for end in (ends.high, ends.low))
    value = 1.0 - np.asarray(survives.evaluate(happened))
    return list(zip(happened.tolist(), value.tolist(), low.tolist(), high.tolist(), strict=True))


def _by_key(run: Reads) -> pl.DataFrame:
    """Return injected posts of known veracity with their key and all that :func:`moderation_effects` compares."""
    known = known_posts(run).select("root")
    keys = run.table("posts").select(pl.col("post").alias("root"), "key")
    labeled = pl.col("label_step").is_not_null().alias("labeled")
    marks = labels(run).select("root", labeled, "takedown_step", "downrank_step")
    met = reach(run).select("root", "veracity", "exposures", "reach")
    did = engagement_by_post(run).select("root", "engagement", "shares", "likes")
    frame = known.join(keys, on="root").join(met, on="root").join(marks, on="root").join(did, on="root", how="left")
    return frame.with_columns(pl.col("engagement", "shares", "likes").fill_null(0))


def _pair(run: Reads, without: Reads) -> pl.DataFrame:
    both = _by_key(run).join(_by_key(without), on="key", suffix="_without")
    if not both.height and roots(run)["injected"].any():
        got, allowed = "none of the same injected posts", "a run of the same scenario and seed, such as another arm"
        raise RecordError("the run without moderation", got=got, allowed=allowed)
    return both


def moderation_effects(run: Reads, without: Reads) -> pl.DataFrame:
    """Effect of moderation on injected posts, compared with the paired run without moderation.

    Parameters
    ----------
    run, without : Reads
        The run with moderation, and the same without.

    Returns
    -------
    DataFrame
        One row per measure and class of injected posts: ``measure`` (``exposures``, ``reach``, ``engagement``,
        ``shares``, ``likes``), ``unit``, ``veracity``, ``n`` (posts), ``without`` and ``with`` (means), ``value``
        (mean of with less without: below 0 was prevented) with ``low`` and ``high`` (Student's interval over posts),
        ``p_paired`` (t-test), ``p_rank`` (Wilcoxon). Then ``prevented``: exposures that the class had without and not
        with moderation, in all; ``harmed``: true posts that were labeled, taken down or downranked; ``missed``: false
        posts to which none of these happened (counts, without interval).

    Raises
    ------
    RecordError
        The runs have no injected post in common.
    """
    both = _pair(run, without)
    rows: list[tuple[object, ...]] = []
    for veracity in ("true", "false"):
        posts = both.filter(pl.col("veracity") == veracity)
        rows += [(name, unit, veracity, *_paired_row(posts, name)) for name, unit in _PER_POST.items()]
    blank = (math.nan,) * 4
    for veracity in ("true", "false"):
        posts = both.filter(pl.col("veracity") == veracity)
        before, after = float(posts["exposures_without"].sum()), float(posts["exposures"].sum())
        rows.append(("prevented", "exposures", veracity, posts.height, before, after, before - after, *blank))
    touched = pl.col("labeled") | pl.any_horizontal(pl.col("takedown_step", "downrank_step").is_not_null())
    for name, veracity, which in (("harmed", "true", touched), ("missed", "false", ~touched)):
        posts = both.filter(pl.col("veracity") == veracity)
        count = float(posts.filter(which).height)
        rows.append((name, "posts", veracity, posts.height, math.nan, count, count, *blank))
    return statistics.tidy(rows, PAIRED)


def _paired_row(posts: pl.DataFrame, name: str) -> tuple[float, ...]:
    after, before = (posts[column].to_numpy().astype(np.float64) for column in (name, f"{name}_without"))
    change = after - before
    means = (before.mean(), after.mean()) if change.size else (math.nan, math.nan)
    tests = (math.nan, math.nan)
    if statistics.varies(change):
        tests = (float(scipy.stats.ttest_rel(after, before).pvalue), float(scipy.stats.wilcoxon(change).pvalue))
    return (change.size, *map(float, means), *statistics.mean(change), *tests)


def implied_truth(run: Reads, without: Reads) -> pl.DataFrame:
    """Implied truth effect: engagement with unlabeled posts when others carry a label (Pennycook et al. 2020).

    Returns
    -------
    DataFrame
        One row per class and kind of engagement: ``measure`` (``likes``, ``shares``, ``engagement``), ``unit`` (actions
        per exposure), ``veracity``, ``n`` (injected posts of the class that got neither label nor takedown in ``run``
        and were shown in both runs), ``without`` and ``with`` (mean rate of the same posts in each run), ``value``
        (with less without; above 0 is an implied truth effect) with ``low``, ``high``, ``p_paired``, ``p_rank`` over
        posts.

    Raises
    ------
    RecordError
        The runs have no injected post in common.
    """
    untouched = ~pl.col("labeled") & pl.col("takedown_step").is_null()
    shown = pl.min_horizontal("exposures", "exposures_without") > 0
    kinds = ("likes", "shares", "engagement")
    rates = _pair(run, without).filter(untouched & shown).with_columns(
        (pl.col(f"{kind}{end}") / pl.col(f"exposures{end}")).alias(f"rate_{kind}{end}")
        for kind, end in product(kinds, ("", "_without"))
    )  # fmt: skip
    rows = []
    for veracity in ("true", "false"):
        posts = rates.filter(veracity=veracity)
        rows += [(kind, "actions per exposure", veracity, *_paired_row(posts, f"rate_{kind}")) for kind in kinds]
    return statistics.tidy(rows, PAIRED)


def moderation_by_group(run: Reads) -> pl.DataFrame:
    """Exposures, and own posts and shares that were moderated, by trait and by stance at step 0 or on joining.

    Returns
    -------
    DataFrame
        One row per group and measure: ``grouping``, ``group`` (as in :mod:`~townsquare.analysis.groups`), ``measure``,
        ``unit``, ``n`` (persons), ``value`` (mean over persons), ``low``, ``high`` (Student's interval). Measures:
        ``false_exposures`` and ``true_exposures`` (exposures to injected posts, per person); ``labeled_exposures``
        (exposures that carried a verdict ``false`` or a note); ``own_labeled`` and ``own_removed`` (posts that a
        person wrote or shared whose root was labeled or taken down at any time).
    """
    per_person = _met(run).join(_own(run), on="agent", how="full", coalesce=True)
    frame = all_groups(run).join(per_person, on="agent", how="left").with_columns(pl.col([*_PER_PERSON]).fill_null(0))
    frame = frame.sort("grouping", "group", "agent")
    rows = []
    for (grouping, group), members in frame.group_by("grouping", "group", maintain_order=True):
        for measure, unit in _PER_PERSON.items():
            estimate = statistics.mean(members[measure].to_numpy())
            rows.append((str(grouping), str(group), measure, unit, members.height, *estimate))
    return statistics.tidy(rows, AFFECTED)


def moderation_effects_by_group(run: Reads, without: Reads) -> pl.DataFrame:
    """Effect of moderation on each group of persons, compared with the paired run without moderation.

    Returns
    -------
    DataFrame
        One row per group and measure: ``grouping``, ``group`` (as in :mod:`~townsquare.analysis.groups`, of ``run``),
        ``measure``, ``unit``, ``n`` (persons of both runs), ``value`` (mean of with less without), ``low``, ``high``
        (Student's interval over persons), ``p`` (paired t-test), ``p_corrected`` (Benjamini and Hochberg over the
        groups of a measure). Measures: ``false_exposures``, ``true_exposures`` (exposures to injected posts), and
        ``stance:<proposition>`` (the last stance). Persons of one run move each other, so p-values are too sure.
    """
    both = _of_persons(run).join(_of_persons(without), on=["agent", "measure"], suffix="_without")
    frame = all_groups(run).join(both, on="agent").sort("measure", "grouping", "group", "agent")
    rows: list[tuple[object, ...]] = []
    for (grouping, group, measure), each in frame.group_by("grouping", "group", "measure", maintain_order=True):
        change = (each["value"] - each["value_without"]).to_numpy()
        p = float(scipy.stats.ttest_1samp(change, 0.0).pvalue) if statistics.varies(change) else math.nan
        unit = "stance" if str(measure).startswith("stance:") else "exposures per person"
        rows.append((grouping, group, measure, unit, change.size, *statistics.mean(change), p))
    return statistics.with_corrected(statistics.tidy(rows, CHANGED), by=["measure"])


def _of_persons(run: Reads) -> pl.DataFrame:
    """Return ``agent``, ``measure``, ``value``: exposures and the last stance of each person."""
    met = persons(run).join(_met(run), on="agent", how="left").select("agent", "false_exposures", "true_exposures")
    shown = met.fill_null(0).unpivot(index="agent", variable_name="measure").cast({"value": pl.Float64})
    beliefs = person_beliefs(run).filter(pl.col("step") == run.last_step).pipe(collected)
    named = beliefs.join(names(run), on="proposition")
    return pl.concat([shown, named.select("agent", measure="stance:" + pl.col("name"), value="stance")])


def _met(run: Reads) -> pl.DataFrame:
    known = roots(run).select("root", "veracity").lazy()
    label = CARRIED_LABEL.sum().alias("labeled")
    shown = run.lazy("exposures").group_by("agent", "root").agg(pl.len().alias("n"), label).join(known, on="root")
    is_class = {word: pl.col("veracity") == word for word in ("false", "true")}
    by_class = [pl.col("n").filter(is_class[word]).sum().alias(f"{word}_exposures") for word in is_class]
    return shown.group_by("agent").agg(*by_class, pl.col("labeled").sum().alias("labeled_exposures")).pipe(collected)


def _own(run: Reads) -> pl.DataFrame:
    refuted = run.table("verdicts").filter(pl.col("verdict") == Verdict.FALSE).select("post")
    from_log = run.table("moderation_log").select("post", "kind")
    noted = from_log.filter(pl.col("kind") == LogKind.NOTE_SHOWN).select("post")
    removed = from_log.filter(pl.col("kind") == LogKind.TAKEDOWN).select("post")
    posts = run.table("posts").select("author", "root")
    acted = {"own_labeled": pl.concat([noted, refuted]), "own_removed": removed}
    counts = {name: pl.col("root").is_in(of["post"].implode()).sum() for name, of in acted.items()}
    return posts.group_by(agent="author").agg(**counts)
