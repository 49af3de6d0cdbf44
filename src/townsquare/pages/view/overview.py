"""The overview: stances over time, their distribution at each step, engagement, moderation, participation.

Measures are those of :mod:`townsquare.analysis`, which docs/measures.md defines; here they only become JSON.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from townsquare.analysis.beliefs import distributions, moves_by, stance_bins, stance_lines, starts_and_ends
from townsquare.analysis.causes.contributions import unit_of
from townsquare.analysis.clock import clock_of
from townsquare.analysis.contract import setting
from townsquare.analysis.engagement import engagement
from townsquare.analysis.health import participation, refusals
from townsquare.analysis.moderation import moderation_events
from townsquare.analysis.outcomes import outcome_table
from townsquare.analysis.polarization import BINS
from townsquare.pages.view import queries
from townsquare.pages.view.answers import columns
from townsquare.pages.view.library import Snapshot, said_of

LINES = 30
"""Single courses drawn for each proposition."""
_COURSE = ("proposition", "step", "agents", "mean", "sd", "q05", "q25", "q50", "q75", "q95")
_MOVES = ("shift", "spread_kept", "changed_side")


def head(of: Snapshot) -> dict[str, Any]:
    """Return what every page of a run shows above its view: names, steps, state, propositions."""
    return {
        "id": of.id,
        "arm": of.location.arm,
        "comparison": of.location.comparison,
        **said_of(of.run, of.location.failure),
        "last_step": of.last_step,
        "propositions": queries.propositions(of.cached).to_dicts(),
        "unit": unit_of(of.run),
        "trail": bool(setting(of.run, "record", "trail", default=True)),
        "memories": not of.cached.table("agent_memories").is_empty(),
    }


def beliefs(of: Snapshot) -> dict[str, Any]:
    """Return bands, histograms, and changes since a step; it reads no posts, so that it is there first."""
    moves = moves_by(starts_and_ends(of.cached), "proposition").sort("proposition")
    return {
        "bins_per_step": BINS,
        "course": columns(distributions(of.cached).select(_COURSE).sort("proposition", "step"), digits=6),
        "bins": columns(stance_bins(of.cached)),
        "change": moves.select("proposition", *_MOVES).to_dicts(),
        "since": clock_of(of.cached).warm_up,
    }


def lines(of: Snapshot) -> dict[str, Any]:
    """Return the courses of single agents."""
    return {"lines": columns(stance_lines(of.cached, LINES), digits=4)}


def outcomes(of: Snapshot) -> dict[str, Any]:
    """Every registered measure that sums up the run in a number: value, unit, direction, definition."""
    return {"outcomes": outcome_table(of.cached).to_dicts()}


def activity(of: Snapshot) -> dict[str, Any]:
    """Return engagement by veracity, moderation events, who was there and what was refused."""
    return {
        "engagement": columns(engagement(of.cached).filter(pl.col("veracity") != "unknown"), digits=4),
        "events": columns(moderation_events(of.cached)),
        "participation": columns(participation(of.cached), digits=6),
        "refusals": refusals(of.cached).to_dicts(),
    }
