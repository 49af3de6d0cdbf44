"""No moderation: the baseline of every comparison."""

from __future__ import annotations

from townsquare.core.draws import StageDraws
from townsquare.settings.config import MemberParams
from townsquare.simulation.change import NOTHING, Change
from townsquare.simulation.moderation.contract import Moderator
from townsquare.simulation.world import World


def review(world: World, draws: StageDraws, params: MemberParams, takedown: bool) -> Change:
    """Return nothing."""
    return NOTHING


MODERATOR = Moderator("none", MemberParams, frozenset(), review)
