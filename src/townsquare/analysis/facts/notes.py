"""Facts about community notes, and facts that compare a run with its paired run: same people, posts and draws."""

from __future__ import annotations

import numpy as np
import polars as pl

from townsquare.analysis.contract import Reads
from townsquare.analysis.facts.contract import Reading, Unmeasured, at_least, change, few, hours_of
from townsquare.analysis.facts.people import FEWEST_PEOPLE, moves_of
from townsquare.analysis.notes import all_notes, note_effects
from townsquare.analysis.posts import measured_roots

FEWEST_NOTES = 5


def _by_people(run: Reads) -> pl.DataFrame:
    """Return notes by people on posts after the warm-up; those of a fact-checking desk are right by its settings."""
    return all_notes(run).filter(pl.col("author") >= 0).join(measured_roots(run).select("root", "veracity"), on="root")


def notes_are_right(run: Reads) -> Reading:
    """Measure the proportion of shown notes on injected posts of known veracity that are on false posts."""
    known = _by_people(run).drop_nulls("shown").filter(pl.col("veracity") != "unknown")
    at_least(FEWEST_NOTES, known.height, "notes by people shown on injected posts of known veracity")
    return Reading(float((known["veracity"] == "false").mean()))  # type: ignore[arg-type]


def few_notes_are_shown(run: Reads) -> Reading:
    """Measure the proportion of notes that were ever shown."""
    written = _by_people(run)
    at_least(FEWEST_NOTES, written.height, "notes by people on posts after the warm-up")
    return Reading(written["shown"].count() / written.height)


def note_effect_after(run: Reads, without: Reads) -> Reading:
    """Measure the change of shares in the 48 hours after a note was first shown, against the run without moderation."""
    hours_of(run)  # or there are no 48 hours
    return _change(run, without, "shares_after")


def note_effect_life(run: Reads, without: Reads) -> Reading:
    """Measure the change of all shares of posts on which a note was ever shown, against the run without moderation."""
    return _change(run, without, "shares_life")


def _change(run: Reads, without: Reads, measure: str) -> Reading:
    """Return shares of noted injected posts divided by those of the same posts in the other run, minus 1."""
    row = note_effects(run, without).row(by_predicate=pl.col("measure") == measure, named=True)
    return change(row["with"], row["without"], "shares of posts with a note, in the run without moderation")


def feed_changes_move_attitudes_little(run: Reads, without: Reads) -> Reading:
    """Measure how much more stances moved than in the run with the first feed, largest in size over propositions."""
    values = []
    for (proposition,), moves in moves_of(run).group_by("proposition", maintain_order=True):
        base = moves_of(without).filter(pl.col("proposition") == proposition)
        start, end = (base[name].to_numpy() for name in ("start", "end"))
        if min(moves.height, base.height) >= FEWEST_PEOPLE and np.std(start) > 0:
            moved = np.mean(moves["end"].to_numpy() - moves["start"].to_numpy())
            values.append(float((moved - np.mean(end - start)) / np.std(start)))
    if not values:
        raise Unmeasured(few(0, FEWEST_PEOPLE, "people with a stance at the start and the end"))
    return Reading(max(values, key=abs))
