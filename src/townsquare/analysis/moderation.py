"""How well moderation told false posts from true ones, how soon, and what it cost.

A post is *positive* when the strategy held that it misleads: a note on it was shown at any time, even if it was
withdrawn later, its verdict was ``false``, or it was downranked. A verdict ``unverified`` is not positive. Only
injected posts whose truth the scenario gives are counted, and recall is over all injected false posts, looked at or
not. Without moderation there is nothing to score: NaN.
"""

from __future__ import annotations

import math
from contextlib import suppress

import polars as pl

from townsquare.analysis.contract import Reads, once_a_run, ratio, section_over_time
from townsquare.analysis.posts import known_posts, root_of_post, roots
from townsquare.analysis.reach import exposure_counts
from townsquare.core import registry
from townsquare.core.actions import ActionKind
from townsquare.core.enums import LogKind, NoteStatus, Verdict
from townsquare.core.errors import UnknownName
from townsquare.core.frames import as_words

_VERDICTS = {int(word): word.name.lower() for word in Verdict}
_LOGGED = {
    int(LogKind.TAKEDOWN): "taken down",
    int(LogKind.NOTE_SHOWN): "note shown",
    int(LogKind.NOTE_WITHDRAWN): "note withdrawn",
    int(LogKind.DOWNRANKED): "downranked",
}
EVENTS = (
    "injected", "verdict true", "verdict unverified", "verdict false", "note shown", "note withdrawn", "downranked",
    "taken down",
)  # fmt: skip


def strategies(run: Reads) -> list[str]:
    """Name of the moderation strategy; where events switch it, all in order. A desk without a response is `none`."""
    names: list[str] = []
    for phase in section_over_time(run, "moderation", "strategy"):
        name = _acting(str(phase.get("strategy", "none")), phase.get("response"))
        names += [name] if [name] != names[-1:] else []
    return names


def _acting(strategy: str, response: object) -> str:
    return "none" if strategy == "desk" and response == "none" else strategy


def strategy(run: Reads) -> str:
    """Return the strategies in words, as ``none, then community``."""
    return ", then ".join(strategies(run))


def moderated(run: Reads) -> bool:
    """Return whether anything moderated the run at any time."""
    return strategies(run) != ["none"]


def added_kinds(run: Reads) -> frozenset[ActionKind]:
    """Return kinds of action that agents had from a strategy of the run, as its moderator says.

    Of a moderator that is not installed here, the record says whether agents wrote notes.
    """
    kinds = {ActionKind.ADD_NOTE} if run.table("notes").filter(pl.col("author") >= 0).height else set()
    for name in strategies(run):
        with suppress(UnknownName, ImportError):
            kinds |= registry.get("moderation", name).adds
    return frozenset(kinds)


def note_scores(run: Reads) -> pl.DataFrame:
    """Return what the note scorer last found of each note that has a row of ``note_scores``.

    Returns
    -------
    DataFrame
        One row per note: ``note``, ``post``, ``step`` (of that row), ``status`` (word), ``intercept`` and ``factor``
        (in the scorer's own unit, null for no number).
    """
    rows = run.table("note_scores").group_by("note").last().join(run.table("notes").select("note", "post"), on="note")
    numbers = pl.col("intercept", "factor").fill_nan(None)
    words = {int(word): word.name.lower() for word in NoteStatus}
    return rows.select("note", "post", "step", as_words("status", words), numbers).sort("note")


def _first(run: Reads, table: str, **where: pl.Expr) -> pl.DataFrame:
    """Return by ``root`` the first step of a row of ``table`` that fits each condition, under its name (int32)."""
    rows = run.table(table).join(root_of_post(run), on="post").group_by("root")
    return rows.agg(pl.col("step").filter(condition).min().alias(name) for name, condition in where.items())


@once_a_run
def labels(run: Reads) -> pl.DataFrame:
    """Acts of moderation on each injected post of known veracity after the warm-up, with their steps.

    Returns
    -------
    DataFrame
        One row per injected true or false post: ``root``, ``step`` (injected), ``veracity``, and the columns of
        :func:`marks`.
    """
    return known_posts(run).select("root", "step", "veracity").join(marks(run), on="root").sort("root")


@once_a_run
def marks(run: Reads) -> pl.DataFrame:
    """Acts of moderation on every post, those by people and those of the warm-up included.

    Returns
    -------
    DataFrame
        One row per root: ``root``; the steps of its first ``verdict_step``, ``false_verdict_step``, ``note_step``
        (first shown), ``label_step`` (the earlier of a false verdict and a shown note; null for a post that came down
        before it could be shown with it), ``takedown_step``, ``downrank_step`` (int32, null where it never happened);
        ``positive`` (bool, see the module).
    """
    verdict, kind = pl.col("verdict"), pl.col("kind")
    verdicts = {"verdict_step": verdict != Verdict.NONE, "false_verdict_step": verdict == Verdict.FALSE}
    logged = {"note_step": LogKind.NOTE_SHOWN, "takedown_step": LogKind.TAKEDOWN, "downrank_step": LogKind.DOWNRANKED}
    of_log = _first(run, "moderation_log", **{name: kind == code for name, code in logged.items()})
    frame = roots(run).select("root").join(_first(run, "verdicts", **verdicts), on="root", how="left")
    frame = frame.join(of_log, on="root", how="left")
    decided, down = pl.min_horizontal("false_verdict_step", "note_step"), pl.col("takedown_step")
    label = pl.when(down.is_null() | (down > decided)).then(decided).alias("label_step")
    acted = (pl.col(name).is_not_null() for name in ("note_step", "false_verdict_step", "downrank_step"))
    positive = pl.any_horizontal(acted).alias("positive")
    events = "verdict_step", "false_verdict_step", "note_step", label, "takedown_step", "downrank_step"
    return frame.select("root", *events, positive)


def notes_informative(run: Reads) -> bool:
    """Return whether readers could tell true from false posts: some posts have a plausibility other than 0.5.

    Without it agents' notes cannot know the truth, and F1 of the community says nothing of the strategy.
    """
    return bool((known_posts(run)["plausibility"] != 0.5).any())


def scores(tp: int, fp: int, fn: int) -> dict[str, float]:
    """Return precision tp/(tp + fp), recall tp/(tp + fn) and F1 2tp/(2tp + fp + fn); NaN where the divisor is 0.

    >>> scores(30, 18, 20)
    {'precision': 0.625, 'recall': 0.6, 'f1': 0.6122448979591837}
    """
    ratios = {"precision": (tp, tp + fp), "recall": (tp, tp + fn), "f1": (2 * tp, 2 * tp + fp + fn)}
    return {name: ratio(part, whole) for name, (part, whole) in ratios.items()}


def moderation(run: Reads) -> pl.DataFrame:
    """Quality, errors, speed and effect of moderation in one row.

    Returns
    -------
    DataFrame
        ``strategy``; ``false_posts`` and ``true_posts`` (injected); ``tp``, ``fp``, ``fn``, ``tn`` (counts);
        ``precision``, ``recall``, ``f1`` (0 to 1, NaN without moderation); ``notes_informative`` (bool);
        ``true_labeled`` (true posts with a label, see :func:`labels`), ``true_removed``, ``false_removed`` (counts);
        ``steps_to_verdict``, ``steps_to_label``, ``steps_to_takedown`` (mean steps from the injection of a false post,
        over those it happened to; NaN for none); exposures of false posts: ``before_label``
        (up to the step in which the label was decided), ``after_label``, ``never_labeled`` (of posts without a
        label), and ``shown_labeled`` (those that carried a label when they were shown).
    """
    marked = labels(run)
    false, true = (marked.filter(pl.col("veracity") == word) for word in ("false", "true"))
    tp, fp = int(false["positive"].sum()), int(true["positive"].sum())
    fn, tn = false.height - tp, true.height - fp
    quality = scores(tp, fp, fn) if moderated(run) else dict.fromkeys(("precision", "recall", "f1"), math.nan)
    counts = {"false_posts": false.height, "true_posts": true.height, "tp": tp, "fp": fp, "fn": fn, "tn": tn}
    acted = {"true_labeled": true["label_step"].count(), "true_removed": true["takedown_step"].count()}
    acted["false_removed"] = false["takedown_step"].count()
    delays = {f"steps_to_{event}": _delay(false, f"{event}_step") for event in ("verdict", "label", "takedown")}
    numbers = {**counts, **quality, "notes_informative": notes_informative(run), **acted, **delays}
    return pl.DataFrame({"strategy": strategy(run), **numbers, **_false_exposures(false, exposure_counts(run))})


def _delay(posts: pl.DataFrame, event: str) -> float:
    mean = (posts[event] - posts["step"]).mean()
    return float(mean) if isinstance(mean, int | float) else math.nan


def _false_exposures(false: pl.DataFrame, counts: pl.DataFrame) -> dict[str, int]:
    shown = counts.join(false.select("root", "label_step"), on="root")
    step, label = pl.col("step"), pl.col("label_step")
    which = {"before_label": step <= label, "after_label": step > label, "never_labeled": label.is_null()}
    exposures = {name: pl.col("exposures").filter(condition).sum() for name, condition in which.items()}
    sums = shown.select(**exposures, shown_labeled=pl.col("labeled").sum())
    return {name: int(value) for name, value in sums.row(0, named=True).items()}


def moderation_events(run: Reads) -> pl.DataFrame:
    """Injections and acts of moderation by step and veracity.

    Returns
    -------
    DataFrame
        ``step`` (int32), ``event`` (one of ``EVENTS``), ``veracity``, ``posts`` (int64 count); no row for nothing.
    """
    every = roots(run)
    logged = run.table("moderation_log").filter(pl.col("kind").is_in(list(_LOGGED)))
    verdicts = run.table("verdicts").filter(pl.col("verdict") != Verdict.NONE)
    parts = [
        every.filter("injected").select("step", pl.col("root").alias("post"), pl.lit("injected").alias("event")),
        logged.select("step", "post", as_words("kind", _LOGGED).alias("event")),
        verdicts.select("step", "post", ("verdict " + as_words("verdict", _VERDICTS)).alias("event")),
    ]
    rows = pl.concat(parts).join(root_of_post(run), on="post").join(every.select("root", "veracity"), on="root")
    posts = pl.col("root").n_unique().cast(pl.Int64).alias("posts")
    return rows.group_by("step", "event", "veracity").agg(posts).sort("step", "event", "veracity")
