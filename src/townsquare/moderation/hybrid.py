"""Community notes and a fact-checker together: noted posts are reviewed first, and come down at less confidence."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
from pydantic import Field

from townsquare import schema
from townsquare.change import Change
from townsquare.draws import StageDraws
from townsquare.models.contract import Asker
from townsquare.moderation.checker import CheckerParams, findings_as_rows, queue
from townsquare.moderation.contract import Moderator
from townsquare.moderation.crowd import CrowdParams, crowd_takedowns
from townsquare.moderation.findings import asks, findings
from townsquare.moderation.log import joined
from townsquare.moderation.notes import NOTE_KINDS, review_notes
from townsquare.schema import LogKind, NoteStatus, Verdict
from townsquare.world import World


class Params(CheckerParams, CrowdParams):
    """Settings of the strategy `hybrid`."""

    takedown_noted_at: float = Field(
        0.7, ge=0, le=1, description="confidence in `false` from which a post with a shown note is taken down"
    )


def review(world: World, draws: StageDraws, params: Params, takedown: bool, asker: Asker | None = None) -> Change:
    """Notes first, so that a note that passes in this step counts for the verdicts of this step."""
    rows = review_notes(world, params)
    posts = queue(world, draws, params.posts_per_step, noted_first=True)
    found = findings(world, posts, draws, params, asker, with_notes=True)
    noted = _noted(world, posts, rows)
    bar = np.where(noted, params.takedown_noted_at, params.takedown_at)
    down = (found.verdict == Verdict.FALSE) & (found.confidence >= bar) & takedown
    why = [
        f"verdict false with confidence {c:.2f}, at least {b:g}{' for a post with a shown note' if n else ''}"
        for c, b, n in zip(found.confidence, bar, noted, strict=True)
    ]
    checked = findings_as_rows(world, posts, found, down, why)
    crowd = crowd_takedowns(world, params, without=posts[down]) if takedown else {}
    return Change(joined(rows, checked, crowd))


def _noted(world: World, posts: npt.NDArray[np.int32], rows: dict[str, schema.Columns]) -> npt.NDArray[np.bool_]:
    """Whether a note is shown with each post once this step's log is applied."""
    status = world.notes["status"].copy()
    if "moderation_log" in rows:
        kind, note = (np.asarray(rows["moderation_log"][name]) for name in ("kind", "value"))
        status[note.astype(np.int64)] = np.where(kind == LogKind.NOTE_SHOWN, NoteStatus.SHOWN, NoteStatus.PENDING)
    return np.isin(posts, world.notes["post"][status == NoteStatus.SHOWN])


def bind(asker: Asker) -> Moderator:
    """The moderator with a language model that checks."""
    return replace(MODERATOR, review=partial(review, asker=asker))


MODERATOR = Moderator("hybrid", Params, NOTE_KINDS, review, asks, bind)
