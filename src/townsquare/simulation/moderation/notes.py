"""Which community notes are shown: the threshold of MOSAIC's section 3, checked after every step."""

from __future__ import annotations

import numpy as np

from townsquare.core import schema
from townsquare.core.schema import ActionKind, LogKind, NoteStatus
from townsquare.settings.config import MemberParams, setting
from townsquare.simulation.moderation.log import logged
from townsquare.simulation.world import World

NOTE_KINDS = frozenset({ActionKind.ADD_NOTE, ActionKind.RATE_NOTE})


class NoteParams(MemberParams):
    """When a note is shown."""

    helpful_at_least: int = setting(3, "helpful ratings that a shown note needs", ge=1)
    helpful_ratio: float = setting(2.0, "and more than this many times as many as not helpful", ge=0)


def review_notes(world: World, params: NoteParams) -> dict[str, schema.Columns]:
    """Log rows for notes that pass the threshold, and for shown ones that no longer do.

    A note is shown when ``helpful >= helpful_at_least`` and ``helpful > helpful_ratio * not_helpful``; it is withdrawn
    when later ratings take that away.
    """
    helpful, not_helpful = world.notes["helpful"], world.notes["not_helpful"]
    passes = (helpful >= params.helpful_at_least) & (helpful > params.helpful_ratio * not_helpful)
    shown = world.notes["status"] == NoteStatus.SHOWN
    changed = np.flatnonzero(passes != shown)
    kinds = np.where(passes[changed], LogKind.NOTE_SHOWN, LogKind.NOTE_WITHDRAWN)
    reasons = [f"{helpful[note]} helpful, {not_helpful[note]} not helpful" for note in changed]
    return logged(world, world.notes["post"][changed], kinds, reasons, changed.astype(np.float64))
