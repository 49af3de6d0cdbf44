"""Community notes: readers write them, readers rate them, and those found helpful are shown with the post."""

from __future__ import annotations

from townsquare.core.draws import StageDraws
from townsquare.simulation.change import Change
from townsquare.simulation.moderation.contract import Moderator
from townsquare.simulation.moderation.contributors import ContributorParams
from townsquare.simulation.moderation.crowd import CrowdParams, crowd_takedowns
from townsquare.simulation.moderation.log import joined
from townsquare.simulation.moderation.note_scorers.contract import ChosenNoteScorer
from townsquare.simulation.moderation.notes import NOTE_KINDS, review_notes
from townsquare.simulation.world import World


class Params(CrowdParams, ContributorParams):
    """Settings of the strategy `community`."""


def review(world: World, draws: StageDraws, params: Params, takedown: bool, *, scorer: ChosenNoteScorer) -> Change:
    """Notes are shown as they are scored; posts come down by flags or notes only where a threshold is set."""
    return Change(joined(review_notes(world, scorer), crowd_takedowns(world, params) if takedown else {}))


MODERATOR = Moderator("community", Params, NOTE_KINDS, review, scores_notes=True)
