"""Community notes: readers write them, readers rate them, and those found helpful are shown with the post."""

from __future__ import annotations

from townsquare.change import Change
from townsquare.draws import StageDraws
from townsquare.moderation.contract import Moderator
from townsquare.moderation.notes import NOTE_KINDS, NoteParams, review_notes
from townsquare.world import World


class Params(NoteParams):
    """Settings of the strategy `community`."""


def review(world: World, draws: StageDraws, params: Params, takedown: bool) -> Change:
    """Notes that pass the threshold are shown; nothing is ever taken down."""
    return Change(review_notes(world, params))


MODERATOR = Moderator("community", Params, NOTE_KINDS, review)
