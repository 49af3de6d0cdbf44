"""Community notes and a fact-checker together: noted posts are reviewed first, and come down at less confidence."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from townsquare.core import schema
from townsquare.core.array_types import Int32
from townsquare.core.draws import StageDraws
from townsquare.core.enums import LogKind, NoteStatus, PostStatus, Verdict
from townsquare.models.contract import Asker
from townsquare.settings.base import Share, setting
from townsquare.simulation.change import Change
from townsquare.simulation.moderation.checker import CheckerParams, findings_as_rows, queue
from townsquare.simulation.moderation.contract import Moderator
from townsquare.simulation.moderation.contributors import ContributorParams
from townsquare.simulation.moderation.crowd import CrowdParams, crowd_takedowns
from townsquare.simulation.moderation.findings import asks, findings
from townsquare.simulation.moderation.log import joined, logged
from townsquare.simulation.moderation.note_scorers.contract import ChosenNoteScorer
from townsquare.simulation.moderation.notes import NOTE_KINDS, review_notes
from townsquare.simulation.world import World


class Params(CheckerParams, CrowdParams, ContributorParams):
    """Settings of the strategy `hybrid`."""

    takedown_noted_at: Share = setting(0.7, "confidence in `false` from which a post with a shown note is taken down")


def review(
    world: World,
    draws: StageDraws,
    params: Params,
    takedown: bool,
    *,
    scorer: ChosenNoteScorer,
    asker: Asker | None = None,
) -> Change:
    """Score notes first, so that a note shown in this step counts for the verdicts of this step and of earlier ones.

    A post whose verdict is older than its shown note is taken down if the verdict reaches the lower threshold. The
    verdict itself stands: it is not repeated, and takes no slot in the queue.
    """
    rows = review_notes(world, scorer)
    noted = _noted_posts(world, rows)
    posts = queue(world, draws, params.posts_per_step, noted_first=True)
    verdicts = findings(world, posts, draws, params, asker, with_notes=True)
    has_note = np.isin(posts, noted)
    bar = np.where(has_note, params.takedown_noted_at, params.takedown_at)
    down = (verdicts.verdict == Verdict.FALSE) & (verdicts.confidence >= bar) & takedown
    why = [_why(c, b, n) for c, b, n in zip(verdicts.confidence, bar, has_note, strict=True)]
    rows_of_check = findings_as_rows(world, posts, verdicts, down, why)
    if not takedown:
        return Change(joined(rows, rows_of_check))
    again = _past_the_lower_bar(world, noted, params)
    crowd = crowd_takedowns(world, params, without=np.concatenate([posts[down], again]))
    return Change(joined(rows, rows_of_check, _taken_down(world, again, params), crowd))


def _noted_posts(world: World, rows: schema.ByTable) -> Int32:
    """Return posts with a shown note once this step's log is applied, ascending, (k,)."""
    status = world.notes["status"].copy()
    if "moderation_log" in rows:
        kind, note = (np.asarray(rows["moderation_log"][name]) for name in ("kind", "value"))
        status[note.astype(np.int64)] = np.where(kind == LogKind.NOTE_SHOWN, NoteStatus.SHOWN, NoteStatus.PENDING)
    return np.unique(world.notes["post"][status == NoteStatus.SHOWN])


def _past_the_lower_bar(world: World, noted: Int32, params: Params) -> Int32:
    """Return which posts with a shown note are up, though an earlier verdict on them reaches the lower bar."""
    verdict, confidence, status = (world.posts[name][noted] for name in ("verdict", "confidence", "status"))
    qualifies = (verdict == Verdict.FALSE) & (confidence >= params.takedown_noted_at)
    selected: Int32 = noted[qualifies & (status == PostStatus.ACTIVE)]
    return selected


def _taken_down(world: World, posts: Int32, params: Params) -> schema.ByTable:
    """Log rows of posts that come down by an earlier verdict."""
    confidence = world.posts["confidence"][posts]
    reasons = [_why(c, params.takedown_noted_at, noted=True) for c in confidence]
    return logged(world, posts, LogKind.TAKEDOWN, reasons, confidence)


def _why(confidence: float, bar: float, noted: bool) -> str:
    """Return the reason that the log gives for a takedown."""
    for_noted = " for a post with a shown note" if noted else ""
    return f"verdict false with confidence {confidence:.2f}, at least {bar:g}{for_noted}"


def bind(asker: Asker) -> Moderator:
    """Return the moderator with a language model that checks."""
    return replace(MODERATOR, review=partial(review, asker=asker))


MODERATOR = Moderator("hybrid", Params, NOTE_KINDS, review, scores_notes=True, asks=asks, bind=bind)
