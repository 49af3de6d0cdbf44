"""Figure: acts of moderation over time, and their quality."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from townsquare.analysis.clock import Clock, after_warm_up, clock_of
from townsquare.analysis.contract import Reads
from townsquare.analysis.moderation import EVENTS, added_kinds, moderated, moderation, moderation_events, note_scores
from townsquare.analysis.notes import note_course, note_numbers
from townsquare.analysis.posts import VERACITIES, roots
from townsquare.analysis.reach import exposure_counts
from townsquare.analysis.statistics import mean
from townsquare.core.actions import ActionKind
from townsquare.core.text_table import Table, table, turned
from townsquare.core.words import count, listed, number, percent
from townsquare.experiments.note_attack import FEW_ON_ONE_SIDE, smaller_side
from townsquare.pages.report.axes import band, from_zero, over_steps, upright_bars
from townsquare.pages.report.axes import course as over_time
from townsquare.pages.report.chart import Chart
from townsquare.pages.report.section import Section
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import color

_MOST_NOTES = 100
TITLE = "Moderation: quality, speed and timeline"
_AFTER = (
    "Events, exposures by step and last scores of notes: the whole run. Sentences, quality, speed and the course of "
    "notes: posts published after the warm-up."
)
_LANE_OFFSET = {"true": 0.2, "false": -0.2, "unknown": 0.0}
_MARK = {"true": "o", "false": "D", "unknown": "s"}
_TIMED = ("verdict", "label", "takedown")
"""Events on a false post whose time from injection is told."""


def moderation_section(run: Reads) -> Section:
    """Return the section on moderation."""
    events = moderation_events(run)
    row = moderation(run).row(0, named=True) | {"moderated": moderated(run), "kinds": added_kinds(run)}
    hours = clock_of(run).hours
    row |= {name: value * (hours or 1.0) for name, value in row.items() if name.startswith("steps_to_")}
    row |= {"unit": "steps" if hours is None else "hours", "after": after_warm_up(clock_of(run))}
    if not events.height:
        return Section("moderation", TITLE, ["No posts were injected and none were moderated."])
    sentences = (_quality(row), _errors(row), _speed(row), _shown(row))
    return Section(
        "moderation", TITLE, says=[" ".join(filter(None, sentences)), *_says_notes(run)],
        notes=[*_notes(row), *_camps(smaller_side(run)), *([_AFTER] if row["after"] else [])],
        figures=[*_figures(run, events, exposure_counts(run)), *_note_figures(run)],
        open_tables=[_quality_table(row)] if row["moderated"] and _known(row) else [],
        tables=[*_tables(row, events), *_course_tables(run), *_note_tables(note_scores(run))],
    )  # fmt: skip


def _known(row: dict[str, Any]) -> int:
    return int(row["true_posts"] + row["false_posts"])


def _figures(run: Reads, events: pl.DataFrame, counts: pl.DataFrame) -> list[Figure]:
    known = events["event"].unique().sort().to_list()
    kinds = [*(event for event in EVENTS if event in known), *(event for event in known if event not in EVENTS)]
    height = 70 + 34 * len(kinds)
    draw = partial(_draw_timeline, kinds=kinds, clock=clock_of(run))
    acts = "Moderation actions by step and veracity of the post"
    caption = "Events by step; marker area grows with the number of posts"
    timeline = Figure("events", caption, events, draw, acts, height)
    false = roots(run).filter(pl.col("injected") & (pl.col("veracity") == "false")).select("root")
    if not false.height:
        return [timeline]
    shown = counts.join(false, on="root").group_by("step").agg(pl.col("exposures", "labeled").sum())
    steps = pl.DataFrame({"step": range(1, run.last_step + 1)}, schema={"step": pl.Int32})
    by_step = steps.join(shown, on="step", how="left").fill_null(0).sort("step")
    caption, draw = "Exposures to false posts by step", partial(_draw_warned, clock=clock_of(run))
    return [timeline, Figure("warned", caption, by_step, draw, height=max(230, height))]


def _draw_timeline(axes: Chart, events: pl.DataFrame, kinds: list[str], clock: Clock) -> None:
    most = max(1, int(events["posts"].max() or 1))  # type: ignore[arg-type]
    row_of = {event: len(kinds) - 1 - i for i, event in enumerate(kinds)}
    for veracity in ("true", "false", "unknown"):
        of_class = events.filter(pl.col("veracity") == veracity)
        if of_class.height:
            rows = np.array([row_of[event] for event in of_class["event"]]) + _LANE_OFFSET[veracity]
            look: dict[str, Any] = {"marker": _MARK[veracity], "color": color(veracity), "linewidths": 0, "alpha": 0.85}
            sizes, label = 12 + 70 * of_class["posts"].to_numpy() / most, "other" if veracity == "unknown" else veracity
            axes.scatter(of_class["step"].to_numpy(), rows, s=sizes, label=f"{label} posts", **look)
    over_steps(axes, clock, "")
    first = min(0, int(events["step"].min() or 0))  # type: ignore[arg-type]
    rows_shown = {"ylim": (-0.6, len(kinds) - 0.4), "yticks": [row_of[event] for event in kinds], "yticklabels": kinds}
    axes.set(xlim=(first - 0.3, max(1, clock.last) + 0.6), **rows_shown)


def _draw_warned(axes: Chart, by_step: pl.DataFrame, clock: Clock) -> None:
    x, labeled, shown = (by_step[name].to_numpy() for name in ("step", "labeled", "exposures"))
    upright_bars(axes, x, 0 * shown, shown - labeled, "false", "without a label")
    upright_bars(axes, x, shown - labeled, shown, "unknown", "with a label")
    over_steps(axes, clock, "exposures")
    from_zero(axes, shown.tolist())


def _quality(row: dict[str, Any]) -> str:
    if not _known(row):
        return f"No post of known veracity was injected{row['after']}, so moderation cannot be scored."
    posts = count(row["false_posts"], "false post")
    if not row["moderated"]:
        return f"Without moderation, {posts} went unmarked; F1 is undefined."
    marked = row["tp"] + row["fp"]
    recall = f"recall {number(row['recall'])}"
    text = f"Moderation ({row['strategy']}) marked {number(row['tp'])} of {posts} as misleading ({recall})"
    if not marked:
        return f"{text} and no true post, so precision is undefined."
    precision = f"{percent(row['precision'])} were false (precision {number(row['precision'])}, F1 {number(row['f1'])})"
    return f"{text}. Of the {count(marked, 'marked post')}, {precision}."


def _errors(row: dict[str, Any]) -> str:
    if not row["moderated"] or not _known(row):
        return ""
    marked, labeled, removed = (number(row[name]) for name in ("fp", "true_labeled", "true_removed"))
    errors = f"Errors on true posts: {marked} marked as misleading, {labeled} labeled, {removed} taken down."
    return f"{errors} False posts taken down: {number(row['false_removed'])}."


def _speed(row: dict[str, Any]) -> str:
    times = {event: row[f"steps_to_{event}"] for event in _TIMED}
    parts = [f"{number(time, 1)} {row['unit']} to the {event}" for event, time in times.items() if not math.isnan(time)]
    return f"Mean time from injection, over false posts with the event: {listed(parts)}." if parts else ""


def _shown(row: dict[str, Any]) -> str:
    total = row["before_label"] + row["after_label"] + row["never_labeled"]
    if not total or not row["moderated"]:
        return ""
    bare = percent(1 - row["shown_labeled"] / total)
    return f"{bare} of {number(total)} exposures to false posts carried no label."


def _says_notes(run: Reads) -> list[str]:
    """Say how many notes were shown, how right they are, and how late; nothing of a run without notes."""
    numbers = note_numbers(run)
    if math.isnan(numbers["notes_written"]):
        return []
    text = f"{percent(numbers['notes_shown'])} of {count(int(numbers['notes_written']), 'community note')} were shown"
    if not math.isnan(numbers["note_precision"]):
        text += f"; of those on true or false posts, {percent(numbers['note_precision'])} were on false posts"
    if not math.isnan(numbers["views_before_note"]):
        text += f"; {percent(numbers['views_before_note'])} of the exposures to these false posts came before the note"
    if numbers["notes_withdrawn"] > 0:
        text += f"; {percent(numbers['notes_withdrawn'])} of the shown notes were withdrawn at least once"
    return [f"{text}."]


def _note_figures(run: Reads) -> list[Figure]:
    """Return precision and recall of shown notes over time; nothing where no note was shown."""
    course = note_course(run)
    if not course["shown"].sum():
        return []
    lines = {"precision": ("first", "precision"), "recall": ("second", "recall")}
    caption = "Notes shown so far: precision (of those on true or false posts, share on false ones), recall (share of "
    caption += "false posts with a note)"
    return [over_time("notes", caption, course, lines, clock_of(run), "share", top=1.0)]


def _course_tables(run: Reads) -> list[Table]:
    """Return the notes so far at the end of each day, or step where steps have no length."""
    course, clock = note_course(run), clock_of(run)
    if not course.height:
        return []
    each = 1 if clock.hours is None else max(1, round(24 / clock.hours))
    unit = "step" if clock.hours is None else "day"
    by_day = course.filter((pl.col("step") % each == 0) | (pl.col("step") == clock.last))
    rows = by_day.with_columns((pl.col("step") / each).ceil().cast(pl.Int64).alias(unit))
    counts, ratios = (number, unit, "written", "shown", "withdrawn"), (partial(number, digits=3), "precision", "recall")
    return [table(f"Community notes so far by {unit}", rows, counts, ratios)]


def _notes(row: dict[str, Any]) -> list[str]:
    if row["notes_informative"] or ActionKind.ADD_NOTE not in row["kinds"]:
        return []
    return [
        "The scenario gives no plausibility of posts, so readers cannot tell true from false. Measures of community "
        "notes, including F1, are not interpretable here."
    ]


def _camps(side: float | None) -> list[str]:
    """Say whether raters disagree by camp, which the bridging scorer needs."""
    if side is None:
        return []
    text = f"{percent(side)} of the raters of notes are on the smaller side of the factor"
    return [text + (": statuses of notes mean little without two camps." if side < FEW_ON_ONE_SIDE else ".")]


def _effects(unit: str) -> list[tuple[Any, ...]]:
    marks = ("precision", "recall", "F1=f1", "true posts labeled=true_labeled", "true posts removed=true_removed",
             "false posts removed=false_removed")  # fmt: skip
    shown = ("before the label=before_label", "after the label=after_label", "never labeled=never_labeled",
             "with a label shown=shown_labeled")  # fmt: skip
    times = (f"false posts: mean {unit} to {event}=steps_to_{event}" for event in _TIMED)
    exposures = (f"exposures to false posts {which}" for which in shown)
    return [(number, *marks), (partial(number, digits=1), *times), (number, *exposures)]


def _tables(row: dict[str, Any], events: pl.DataFrame) -> list[Table]:
    effects = turned("Quality, speed and effect", ["measure", "value"], [row], *_effects(row["unit"]))
    by_step = table("Events by step", events, (str, "event", "veracity"), (number, "step", "posts"))
    return [effects, _total_table(events), by_step]


def _note_tables(scores: pl.DataFrame) -> list[Table]:
    """Return the last scores of notes, highest first; none where the scorer gave none."""
    if not scores.height:
        return []
    most = scores.sort("intercept", descending=True, nulls_last=True).head(_MOST_NOTES)
    title = "Last recorded scores of notes" + (f": the highest {_MOST_NOTES}" if scores.height > _MOST_NOTES else "")
    words, rounded = most.with_columns(pl.col("status").str.replace("_", " ")), partial(number, digits=3)
    return [table(title, words.drop("step"), (str, "note", "post", "status"), (rounded, "intercept", "factor"))]


def _quality_table(row: dict[str, Any]) -> Table:
    cells = [("false posts", row["tp"], row["fn"]), ("true posts", row["fp"], row["tn"])]
    return table("Marked as misleading, by veracity", cells, (str, ""), (number, "marked", "not marked"))


def _total_table(events: pl.DataFrame) -> Table:
    """Return posts by event over the run; a post with two notes counts twice only if they were shown in two steps."""
    totals = {(e, v): n for e, v, n in events.group_by("event", "veracity").agg(pl.col("posts").sum()).rows()}
    shown = [event for event in EVENTS if any((event, word) in totals for word in VERACITIES)]
    rows = [[event, *(number(totals.get((event, word), 0)) for word in VERACITIES)] for event in shown]
    return Table("Events of the run by veracity", ["", "true", "false", "unknown"], rows)


def attack_figure(table: pl.DataFrame) -> Figure:
    """Return the share of shown notes that a ring of raters flips, by its size and scorer: mean and interval of runs.

    ``table`` is of :func:`townsquare.experiments.note_attack.attack`.
    """
    flipped = table.group_by("scorer", "share", "run").agg(pl.col("flipped").mean()).sort("scorer", "share", "run")
    rows = []
    for (scorer, share), of_runs in flipped.group_by("scorer", "share", maintain_order=True):
        estimate = mean(of_runs["flipped"].to_numpy())
        low, high = max(0.0, estimate.low), min(1.0, estimate.high)
        rows.append({"scorer": scorer, "share": share, "flipped": estimate.value, "low": low, "high": high})
    caption = "Shown notes that coordinated raters flip, by their number as a share of all other raters"
    return Figure("note-attack", caption, pl.DataFrame(rows), _draw_attack)


def _draw_attack(axes: Chart, flipped: pl.DataFrame) -> None:
    for role, (scorer,) in zip(("first", "second"), sorted(flipped.select("scorer").unique().rows()), strict=False):
        rows = flipped.filter(pl.col("scorer") == scorer)
        x, y, low, high = (rows[name].to_numpy() for name in ("share", "flipped", "low", "high"))
        band(axes, x, low, high, role, alpha=0.15)
        axes.plot(x, y, color=color(role), marker="o", label=f"scorer {scorer}")
    axes.set(xlabel="coordinated raters for each other rater", ylabel="share of shown notes flipped", ylim=(0, 1.02))
