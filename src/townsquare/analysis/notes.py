"""How community notes did: how many were shown and when, on which posts, how late, and what they averted.

A note counts as shown from the first step in which it was, even if it was withdrawn later. Notes of a fact-checking
desk are right and shown by its settings; those by people may be wrong.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl

from townsquare.analysis.contract import Reads, columns, once_a_run, ratio, row_count
from townsquare.analysis.facts.contract import FOLLOWED_HOURS, window_of
from townsquare.analysis.posts import known_posts, measured_roots
from townsquare.analysis.reach import exposure_counts
from townsquare.core.enums import LogKind, PostKind

COURSE = columns("step:row written:int shown:int withdrawn:int precision recall")
FOLLOWED = pl.Schema(
    {"key": pl.UInt64(), "shown": pl.Int32(), "until": pl.Float64(), "changes": pl.List(pl.Int32()),
     "step": pl.Int32(), "views": pl.Int64(), "shares": pl.Int64()}
)  # fmt: skip
_EFFECTS = (
    "shares_life", "views_life", "shares_after", "views_after", "shares_per_view_after", "shares_shown", "views_shown",
    "shares_per_view_shown",
)  # fmt: skip
EFFECTS = columns("measure:str unit:str posts:int without with averted change")


@once_a_run
def all_notes(run: Reads) -> pl.DataFrame:
    """Return notes: ``note``, ``root``, ``author``; when ``written``, and first ``shown`` and ``withdrawn`` (steps)."""
    of_note = run.table("moderation_log").select(pl.col("value").cast(pl.Int32).alias("note"), "kind", "step")
    first = {"shown": LogKind.NOTE_SHOWN, "withdrawn": LogKind.NOTE_WITHDRAWN}
    of_note = of_note.filter(pl.col("kind").is_in([int(kind) for kind in first.values()]))
    steps = (pl.col("step").filter(pl.col("kind") == kind).min().alias(name) for name, kind in first.items())
    notes = run.table("notes").select("note", pl.col("post").alias("root"), "author", pl.col("step").alias("written"))
    return notes.join(of_note.group_by("note").agg(*steps), on="note", how="left").sort("note")


def shown_posts(run: Reads) -> pl.DataFrame:
    """Return posts on which a note was ever shown, with the first step in which one was: ``root``, ``shown``."""
    return all_notes(run).drop_nulls("shown").group_by("root").agg(pl.col("shown").min()).sort("root")


@once_a_run
def note_course(run: Reads) -> pl.DataFrame:
    """Community notes so far at the end of each step: written, shown, withdrawn; precision and recall of those shown.

    Returns
    -------
    DataFrame
        One row per step from 1, none without notes; of posts after the warm-up: ``step``; ``written``, ``shown``,
        ``withdrawn`` (notes so far); ``precision`` (of notes shown so far on injected posts of known veracity, the
        proportion on false posts; NaN for none) and ``recall`` (of injected false posts so far, the proportion with a
        note shown so far).
    """
    notes = all_notes(run).join(measured_roots(run).select("root"), on="root")
    if not notes.height:
        return pl.DataFrame(schema=COURSE)
    false = known_posts(run).filter(pl.col("veracity") == "false").select("root", "step")
    known = notes.join(known_posts(run).select("root", "veracity"), on="root")
    counts = {
        **{name: notes[name] for name in ("written", "shown", "withdrawn")},
        "known": known["shown"], "right": known.filter(pl.col("veracity") == "false")["shown"],
        "false": false["step"], "noted": shown_posts(run).join(false, on="root")["shown"],
    }  # fmt: skip
    n = run.last_step + 1
    so_far = {name: np.bincount(steps.drop_nulls(), minlength=n)[:n].cumsum() for name, steps in counts.items()}
    course = pl.DataFrame({"step": range(n), **so_far}).filter(pl.col("step") > 0)
    ratios = (pl.col("right") / pl.col("known")).alias("precision"), (pl.col("noted") / pl.col("false")).alias("recall")
    return course.with_columns(ratios).select(list(COURSE)).cast(COURSE)


def note_numbers(run: Reads) -> dict[str, float]:
    """Return how notes on posts after the warm-up did, under the names of the outcomes; NaN without notes."""
    course = note_course(run).tail(1)
    last = course.row(0, named=True) if course.height else dict.fromkeys(COURSE, math.nan)
    false = known_posts(run).filter(pl.col("veracity") == "false").select("root")
    views = views_before(run, shown_posts(run).join(false, on="root"), "root")
    return {
        "notes_written": float(last["written"]),
        "notes_shown": ratio(last["shown"], last["written"]),
        "notes_withdrawn": ratio(last["withdrawn"], last["shown"]),
        "note_precision": last["precision"],
        "note_recall": last["recall"],
        "views_before_note": ratio(float(views["early"].sum()), float(views["views"].sum())),
    }


def views_before(run: Reads, shown: pl.DataFrame, by: str) -> pl.DataFrame:
    """Return views of posts, and those up to a step ``shown``, for each row of ``shown`` (``root``, ``shown``, ``by``).

    Returns
    -------
    DataFrame
        ``by``, ``views`` and ``early`` (int64).
    """
    known = shown.drop_nulls("shown").select(*dict.fromkeys((by, "root", "shown")))
    views = exposure_counts(run).join(known, on="root")
    early = pl.col("exposures").filter(pl.col("step") <= pl.col("shown")).sum().alias("early")
    return views.group_by(by).agg(pl.col("exposures").sum().alias("views"), early).sort(by)


def note_effects(run: Reads, without: Reads) -> pl.DataFrame:
    """Shares and views of posts on which a note was shown, against those of the same posts in a run without notes.

    Parameters
    ----------
    run, without : Reads
        Two paired runs, as of a comparison: same people, posts and draws.

    Returns
    -------
    DataFrame
        One row per measure: ``measure``, ``unit``, ``posts`` (noted injected posts after the warm-up), ``without`` and
        ``with`` (sums), ``averted`` (without minus with), ``change`` (with / without - 1; NaN where there were none
        without). Measures: ``shares_life`` and ``views_life`` (to the end of the run); ``shares_after`` and
        ``views_after`` (from the step after a note was first shown, for 48 hours where steps have a length) and
        ``shares_per_view_after``; ``shares_shown``, ``views_shown`` and ``shares_per_view_shown`` (of these, without
        steps in which all notes were withdrawn).
    """
    return effects_of_pairs([(followed_posts(run), followed_posts(without))])


def followed_posts(run: Reads) -> pl.DataFrame:
    """Return what the effects of notes are counted from: views and shares of injected posts by step.

    Returns
    -------
    DataFrame
        One row per injected post after the warm-up and step with a view or a share; one without them for a post that
        had none: ``key``;
        ``shown`` (the first step with a note on it; null for none), ``until`` (the last step in which the effect is
        followed), ``changes`` (steps after which it alternately has a shown note and none), ``step``, ``views`` and
        ``shares``.
    """
    window = window_of(run)
    until = math.inf if window.hours is None else window.steps(FOLLOWED_HOURS)
    made = run.table("posts").filter(pl.col("kind") == PostKind.SHARE)
    shares = made.group_by("root", "step").agg(row_count("shares"))
    views = exposure_counts(run).select("root", "step", views="exposures")
    by_step = views.join(shares, on=["root", "step"], how="full", coalesce=True)
    rows = injected_keys(run)
    for part in (shown_posts(run), _note_changes(run), by_step):
        rows = rows.join(part, on="root", how="left")
    until_step, counts = (pl.col("shown") + until).alias("until"), pl.col("views", "shares").fill_null(0)
    return rows.select("key", "shown", until_step, "changes", "step", counts).cast(FOLLOWED)


def _note_changes(run: Reads) -> pl.DataFrame:
    """Return ``root`` and ``changes`` as in :func:`followed_posts`, of posts on which a note was ever shown."""
    more = pl.when(pl.col("kind") == LogKind.NOTE_SHOWN).then(1).when(pl.col("kind") == LogKind.NOTE_WITHDRAWN).then(-1)
    log = run.table("moderation_log").select("step", more=more, root="post").drop_nulls("more")
    notes = log.group_by("root", "step").agg(pl.col("more").sum()).sort("step")
    on = notes.with_columns(on=pl.col("more").cum_sum().over("root") > 0)
    turned = on.filter(pl.col("on") != pl.col("on").shift(fill_value=False).over("root"))
    return turned.group_by("root").agg(changes=pl.col("step").cast(pl.Int32))


def effects_of_pairs(pairs: Iterable[tuple[pl.DataFrame, pl.DataFrame]]) -> pl.DataFrame:
    """Return :func:`note_effects` of :func:`followed_posts` with notes and without, added up over several pairs."""
    sums: dict[str, Counter[str]] = {"with": Counter(), "without": Counter()}
    for posts, without in pairs:
        noted = posts.drop_nulls("shown").select("key", "shown", "until", "changes").unique("key")
        for name, compared in (("with", posts), ("without", without)):
            life = compared.select("key", "step", "views", "shares").join(noted, on="key")
            after = life.filter(pl.col("step").is_between(pl.col("shown") + 1, pl.col("until")))
            turned = after.explode("changes").filter(pl.col("changes") < pl.col("step"))
            shown = turned.group_by("key", "step", "views", "shares").agg(row_count("n")).filter(pl.col("n") % 2 == 1)
            counted = {f"{what}_{when}": int(rows[what].sum()) for what in ("shares", "views")
                       for when, rows in (("life", life), ("after", after), ("shown", shown))}  # fmt: skip
            sums[name].update(posts=noted.height, **counted)
    rows: list[tuple[object, ...]] = []
    for measure in _EFFECTS:
        before, now = (_effect(sums[name], measure) for name in ("without", "with"))
        unit = measure.rpartition("_")[0].replace("_", " ")
        rows.append((measure, unit, sums["with"]["posts"], before, now, before - now, ratio(now, before) - 1))
    return pl.DataFrame(rows, EFFECTS, orient="row", strict=False)


def _effect(sums: Mapping[str, int], measure: str) -> float:
    when = measure.removeprefix("shares_per_view_")
    return sums[measure] if when == measure else ratio(sums[f"shares_{when}"], sums[f"views_{when}"])


def injected_keys(run: Reads) -> pl.DataFrame:
    """Return the keys by which injected posts of paired runs are matched, without the warm-up: ``root``, ``key``."""
    injected = measured_roots(run).filter("injected").select("root")
    return injected.join(run.table("posts").select("key", root="post"), on="root")
