"""The threshold of MOSAIC's section 3: enough helpful ratings, and enough times as many as not helpful.

A note is shown while that holds. It is withdrawn when later ratings take it away. A rating "somewhat helpful" counts
for neither side.
"""

from __future__ import annotations

import numpy as np

from townsquare.core.enums import NoteStatus
from townsquare.settings.config import MemberParams, setting
from townsquare.simulation.moderation.note_scorers.contract import NoteRatings, NoteScorer, NoteScores


class Params(MemberParams):
    """When a note is shown."""

    helpful_at_least: int = setting(3, "minimum helpful ratings of a shown note", ge=1)
    helpful_ratio: float = setting(
        2.0, "a shown note has more than this many times as many helpful as not helpful ratings", ge=0
    )


def score(ratings: NoteRatings, previous: NoteScores, params: Params) -> NoteScores:
    """Show a note when ``helpful >= helpful_at_least`` and ``helpful > helpful_ratio * not_helpful``."""
    helpful = ratings.helpful
    passes = (helpful >= params.helpful_at_least) & (helpful > params.helpful_ratio * ratings.not_helpful)
    status = np.where(passes, NoteStatus.SHOWN, NoteStatus.PENDING).astype(np.uint8)
    none = np.full(ratings.n_notes, np.nan)
    return NoteScores(status, none, none)


SCORER = NoteScorer("threshold", Params, score)
