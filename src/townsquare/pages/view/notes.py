"""The notes view: notes in the plane of intercept and factor, raters by side, and why a note is shown or not.

What the run recorded is shown as it is. Sides, rounds and conditions are not recorded: the ratings up to the step are
scored again with the settings of the run, from a new start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from townsquare.analysis.contract import setting
from townsquare.analysis.moderation import strategy
from townsquare.analysis.notes import all_notes, views_before
from townsquare.core.array_types import Bool, Float
from townsquare.core.enums import LogKind, NoteStatus
from townsquare.core.errors import SettingError
from townsquare.core.schema import NONE
from townsquare.core.words import count
from townsquare.experiments.note_attack import FEW_ON_ONE_SIDE
from townsquare.pages.view import post_queries, queries
from townsquare.pages.view.answers import columns
from townsquare.pages.view.library import Snapshot
from townsquare.simulation.moderation.note_scorers import bridging
from townsquare.simulation.moderation.note_scorers.contract import NoteRatings, NoteScores

_DIGITS = 4
_THRESHOLDS = ("shown_intercept", "largest_factor", "not_helpful_intercept", "not_helpful_factor")


def notes(of: Snapshot) -> dict[str, Any]:
    """Return the scorer of a run, its thresholds (null for other scorers), and its notes with the posts they are on.

    A note has ``published`` (step of its post), ``shown`` (the first step in which it was; null: never) and ``late``
    (share of the ``views`` of its post until then).
    """
    scorer, params = str(setting(of.run, "moderation", "note_scorer", default="")), _params(of)
    return {
        "scorer": scorer,
        "strategy": strategy(of.run),
        "thresholds": params and {name: getattr(params, name) for name in _THRESHOLDS},
        "few": FEW_ON_ONE_SIDE,
        "extent": _extent(of),
        "notes": _with_posts(of).to_dicts(),
    }


def notes_at(of: Snapshot, step: int, number: int) -> dict[str, Any]:
    """Return what :func:`post_queries.note_states` has after a step, and raters as columns with factor and stance."""
    states = post_queries.note_states(of.cached, step)
    return {"notes": columns(states, _DIGITS), "raters": columns(raters(of, step, number), _DIGITS)}


def note(of: Snapshot, number: int, step: int) -> dict[str, Any]:
    """Return why a note is shown or not after a step: ratings by side, rounds, conditions, history.

    Raises
    ------
    SettingError
        There is no such note.
    """
    known = of.cached.table("notes").filter((pl.col("note") == number) & (pl.col("step") <= step))
    if known.is_empty():
        last = of.cached.table("notes").height - 1
        raise SettingError("note", got=f"{number} at step {step}", allowed=f"0 to {last}, from the step it was written")
    scores = of.cached.table("note_scores").filter(pl.col("note") == number)
    course = queries.worded(scores, "note_scores").with_columns(pl.col("intercept", "factor").fill_nan(None))
    scored = _scored(of, step)
    why = {"rounds": None} if scored is None else _why(scored, number)
    return {"course": columns(course.drop("note"), _DIGITS), "history": _history(of, number).to_dicts(), **why}


def _with_posts(of: Snapshot) -> pl.DataFrame:
    texts = queries.post_texts(of.cached).filter(pl.col("post") == pl.col("root"))
    posts = of.cached.table("posts").select(root="post", published="step")
    first = all_notes(of.cached).select("note", "root", "shown")
    views = views_before(of.cached, first, "note").select("note", "views", late=pl.col("early") / pl.col("views"))
    on_roots = (texts.select("root", "veracity", post="content"), posts)
    rows = queries.joined(post_queries.note_list(of.cached), "root", *on_roots)
    return queries.joined(rows, "note", first.drop("root"), views)


def _extent(of: Snapshot) -> dict[str, float | None]:
    """Return the largest size of a factor and the lowest and highest intercept over all steps, for axes that stay."""
    scores = of.cached.table("note_scores").select(pl.col("factor", "intercept").fill_nan(None))
    row = scores.select(pl.col("factor").abs().max(), low=pl.col("intercept").min(), high=pl.col("intercept").max())
    return row.row(0, named=True)


def _history(of: Snapshot, number: int) -> pl.DataFrame:
    """Return ``step``, ``what`` and ``reason`` of each change of status of a note."""
    log = of.cached.table("moderation_log").filter(pl.col("value") == number)
    acts = log.filter(pl.col("kind").is_in([int(LogKind.NOTE_SHOWN), int(LogKind.NOTE_WITHDRAWN)]))
    shown = queries.worded(acts, "moderation_log").select("step", what="kind", reason="reason")
    low, status = int(NoteStatus.NOT_HELPFUL), pl.col("status")
    changes_of = of.cached.table("note_scores").filter(pl.col("note") == number).with_columns(before=status.shift())
    other = changes_of.filter(status.ne_missing(pl.col("before")) & ((status == low) | (pl.col("before") == low)))
    reason = pl.Series([f"intercept {intercept:.2f}" for intercept in other["intercept"]], dtype=pl.String)
    named = queries.worded(other, "note_scores").select("step", what="status", reason=reason)
    return pl.concat([shown, named.filter(pl.col("what") != "shown")]).sort("step", maintain_order=True)


# --- scored again ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scored:
    """Ratings of a step as the rules take them, what the rounds give, and the factor with the sign that is recorded."""

    params: bridging.Params
    rows: bridging.RatedNotes
    results: bridging.NoteResults
    sign: float
    waits: Bool
    """Notes that are helpful by the rules now, and were not yet ``stable_for`` steps ago."""

    @property
    def factor(self) -> Float:
        """Factors of raters, NaN for those that do not count."""
        return np.asarray(self.sign * self.results.people.second.raters.factor)


def _params(of: Snapshot) -> bridging.Params | None:
    given = dict(setting(of.run, "moderation", default={}))
    if given.get("note_scorer") != "bridging":
        return None
    return bridging.Params(**{name: given[name] for name in bridging.Params.model_fields if name in given})


def _scored(of: Snapshot, step: int) -> Scored | None:
    return of.cached.once(f"notes scored at {step}", lambda: _score(of, step))


def _score(of: Snapshot, step: int) -> Scored | None:
    """Score the ratings up to a step again; None for other scorers, and without ratings enough."""
    params = _params(of)
    if params is None:
        return None
    ratings, previous = _ratings(of, step)
    rows, results = bridging.rated(ratings, previous, params), bridging.results_of(ratings, previous, params)
    at_once = bridging.results_of(ratings, previous, params.model_copy(update={"stable_for": 0}))
    if results is None or at_once is None:
        return None
    waits = (at_once.status == NoteStatus.SHOWN) & (results.status != NoteStatus.SHOWN)
    recorded = post_queries.note_states(of.cached, step)["factor"].to_numpy()
    # The sign of factors is free: it is chosen so that notes stand where they are recorded.
    return Scored(params, rows, results, -1.0 if np.nansum(recorded * results.notes.factor) < 0 else 1.0, waits)


def _ratings(of: Snapshot, step: int) -> tuple[NoteRatings, NoteScores]:
    """Return what the scorer was given in a step: ratings so far, and the scores of the step before."""
    written = of.cached.table("notes").filter(pl.col("step") <= step)
    given = of.cached.table("note_ratings").filter(pl.col("step") <= step)
    value = given["rating"].fill_nan(None).fill_null(given["helpful"].cast(pl.Float64))
    changes = of.cached.table("note_scores").filter(pl.col("step") < step)
    changed = pl.col("status") != pl.col("status").shift(fill_value=int(NoteStatus.PENDING)).over("note")
    since = changes.filter(changed).group_by("note").agg(decided=pl.col("step").last(), settled=pl.col("step").first())
    last = changes.group_by("note").agg(pl.col("status", "intercept", "factor").last())
    known = queries.joined(written.select("note"), "note", last, since)
    status = known["status"].fill_null(int(NoteStatus.PENDING)).to_numpy().astype(np.uint8)
    numbers = (known[name].fill_null(float("nan")).to_numpy() for name in ("intercept", "factor"))
    decided, settled = (known[name].fill_null(NONE).to_numpy() for name in ("decided", "settled"))
    note, whole = given["note"].to_numpy(), value.to_numpy()
    helpful, low = (np.bincount(note[whole == at], minlength=written.height).astype(np.int32) for at in (1, 0))
    ratings = NoteRatings(
        note, given["agent"].to_numpy(), whole, given["step"].to_numpy(), written["author"].to_numpy(),
        written["step"].to_numpy(), decided, settled, helpful, low, step,
    )  # fmt: skip
    return ratings, NoteScores(status, *numbers)


def raters(of: Snapshot, step: int, number: int) -> pl.DataFrame:
    """Return raters that count: ``agent``, ``factor``, ``intercept``, ``stance`` on a proposition, ``passed`` (bool).

    ``passed`` says that the rater agrees enough with provisional statuses to count in the second round.
    """
    schema = {"agent": pl.Int32, "factor": pl.Float64, "intercept": pl.Float64, "passed": pl.Boolean}
    scored, known = _scored(of, step), pl.DataFrame(schema=schema)
    if scored is not None:
        rater = np.unique(scored.rows.rater)
        intercept = scored.results.people.second.raters.intercept[rater]
        columns = rater, scored.factor[rater], intercept, scored.results.people.passed[rater]
        known = pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=schema)
        known = known.with_columns(pl.col("factor", "intercept").fill_nan(None))
    stances = queries.stances_at(of.run, step, number).select("agent", "stance")
    return queries.joined(known, "agent", stances)


def plane(of: Snapshot, step: int) -> pl.DataFrame:
    """Return notes as they stood after a step with their posts, for the CSV."""
    states = post_queries.note_states(of.cached, step)
    return queries.joined(states, "note", _with_posts(of))


def _why(scored: Scored, number: int) -> dict[str, Any]:
    """Return rounds, ratings by side and conditions of a note."""
    rows, results, c = scored.rows, scored.results, scored.params
    votes = bridging.votes_by_side(rows, results.people.passed, scored.factor)
    of_note = rows.note == number
    intercept, factor = (float(part[number]) for part in (results.notes.intercept, scored.sign * results.notes.factor))
    was_shown = rows.status[number] == NoteStatus.SHOWN
    least = c.shown_intercept - (c.shown_margin if was_shown else 0.0)
    low = c.not_helpful_intercept - c.not_helpful_factor * abs(factor)
    net, both = float(votes.net[number]), float(votes.both[number])
    stays = f"; {c.shown_margin:g} lower for a note that is shown" if c.shown_margin else ""
    share = c.net_helpful_share * both
    conditions = [
        ("ratings", float(of_note.sum()), "at least", float(c.note_ratings_at_least), ""),
        ("intercept", intercept, "at least", least, f"found helpful beyond sides{stays}"),
        ("size of the factor", abs(factor), "at most", c.largest_factor, "not of one side alone"),
        ("helpful minus not helpful, on the side where it is smaller", net, "at least",
         max(float(c.net_helpful_at_least), share if net <= bridging.SMALL_SIDE else 0.0), "by raters who count"),
    ]  # fmt: skip
    if scored.waits[number]:
        before = f"found helpful by its ratings of {count(c.stable_for, 'step')} ago (1: yes, 0: no)"
        conditions.append((before, 0.0, "at least", 1.0, "so that a note is not shown for a moment"))
    judged = [
        {"what": what, "value": value, "rule": rule, "limit": limit, "about": about,
         "holds": value >= limit if rule == "at least" else value <= limit}
        for what, value, rule, limit, about in conditions
    ]  # fmt: skip
    return {
        "rounds": {
            "first": float(results.people.first.notes.intercept[number]),
            "provisional": NoteStatus(int(results.people.provisional[number])).name.lower(),
            "intercept": intercept,
            "factor": factor,
            "bound": float(results.bound[number]),
            "status": NoteStatus(int(results.status[number])).name.lower(),
            "not_helpful": low,
            "not_helpful_bound": c.not_helpful_bound,
        },
        "conditions": judged,
        "sides": _sides(scored, of_note),
    }


def _sides(scored: Scored, of_note: np.ndarray) -> list[dict[str, Any]]:
    """Return the ratings of a note by the side of the rater; raters without a factor, or who did not pass, apart."""
    rater, value = scored.rows.rater[of_note], scored.rows.value[of_note]
    factor, passed = scored.factor[rater], scored.results.people.passed[rater]
    sides = {"left": passed & (factor < 0), "right": passed & (factor >= 0), "not counted": ~passed | np.isnan(factor)}
    words = {"helpful": 1.0, "somewhat": 0.5, "not_helpful": 0.0}
    counts = {side: {word: int((value[of] == at).sum()) for word, at in words.items()} for side, of in sides.items()}
    return [{"side": side, **counted} for side, counted in counts.items()]
