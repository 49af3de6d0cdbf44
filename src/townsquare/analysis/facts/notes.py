"""Facts about community notes, and facts that compare a run with its paired run: same people, posts and draws."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from townsquare.analysis.contract import Reads, row_count
from townsquare.analysis.facts.contract import FOLLOWED_HOURS, NO_HOURS, Reading, change, few, missing, window_of
from townsquare.analysis.facts.people import FEWEST_PEOPLE, moves_of
from townsquare.analysis.posts import roots
from townsquare.core.enums import LogKind, PostKind

FEWEST_NOTES = 5


def _shown(run: Reads) -> pl.DataFrame:
    """Return the first step in which each note was shown: ``note``, ``root``, ``step``."""
    log = run.table("moderation_log").filter(pl.col("kind") == LogKind.NOTE_SHOWN)
    by_note = log.group_by(pl.col("value").cast(pl.Int32).alias("note"), pl.col("post").alias("root"))
    return by_note.agg(pl.col("step").min()).sort("note")


def _by_people(run: Reads) -> pl.DataFrame:
    """Return notes that people of the run wrote: those of a fact-checking desk are right and shown by its settings."""
    return run.table("notes").filter(pl.col("author") >= 0).select("note")


def notes_are_right(run: Reads) -> Reading:
    """Measure the proportion of shown notes on injected posts of known truth that are on false posts."""
    known = (
        _shown(run)
        .join(_by_people(run), on="note")
        .join(roots(run).select("root", "veracity"), on="root")
        .filter(pl.col("veracity") != "unknown")
    )
    if known.height < FEWEST_NOTES:
        return few(known.height, FEWEST_NOTES, "notes by people shown on injected posts of known truth")
    return Reading(float((known["veracity"] == "false").mean()))  # type: ignore[arg-type]


def few_notes_are_shown(run: Reads) -> Reading:
    """Measure the proportion of notes that were ever shown."""
    written = _by_people(run)
    if written.height < FEWEST_NOTES:
        return few(written.height, FEWEST_NOTES, "notes by people of the run")
    return Reading(_shown(run).join(written, on="note")["note"].n_unique() / written.height)


def note_effect_after(run: Reads, without: Reads) -> Reading:
    """Measure the change of shares in the 48 hours after a note was first shown, against the run without moderation."""
    window = window_of(run)
    if window.hours is None:
        return missing(NO_HOURS)
    after = pl.col("at").is_between(pl.col("step") + 1, pl.col("step") + window.steps(FOLLOWED_HOURS))
    return _change(run, without, after)


def note_effect_life(run: Reads, without: Reads) -> Reading:
    """Measure the change of all shares of posts on which a note was ever shown, against the run without moderation."""
    return _change(run, without, pl.lit(value=True))


def _change(run: Reads, without: Reads, counted: pl.Expr) -> Reading:
    """Return shares of noted injected posts divided by those of the same posts in the other run, minus 1."""
    noted = _shown(run).group_by("root").agg(pl.col("step").min()).join(_keys(run), on="root").select("key", "step")
    shares = []
    for paired in (run, without):
        at = paired.table("posts").filter(pl.col("kind") == PostKind.SHARE).select("root", at="step")
        of_noted = at.join(_keys(paired), on="root").join(noted, on="key").filter(counted)
        shares.append(of_noted.select(row_count("n")).item())
    return change(shares[0], shares[1], "shares of posts with a note, in the run without moderation")


def _keys(run: Reads) -> pl.DataFrame:
    """Return the keys of injected posts, by which posts of paired runs are matched."""
    injected = run.table("posts").filter(pl.col("kind") == PostKind.INJECTED)
    return injected.select(pl.col("post").alias("root"), "key")


def feed_changes_move_attitudes_little(run: Reads, without: Reads) -> Reading:
    """Measure how much more stances moved than in the run with the first feed, largest in size over propositions."""
    values = []
    for (proposition,), moves in moves_of(run).group_by("proposition", maintain_order=True):
        base = moves_of(without).filter(pl.col("proposition") == proposition)
        start, end = (base[name].to_numpy() for name in ("start", "end"))
        if min(moves.height, base.height) >= FEWEST_PEOPLE and np.std(start) > 0:
            moved = np.mean(moves["end"].to_numpy() - moves["start"].to_numpy())
            values.append(float((moved - np.mean(end - start)) / np.std(start)))
    value = max(values, key=abs, default=math.nan)
    return Reading(value) if values else few(0, FEWEST_PEOPLE, "people with a stance at the start and the end")
