"""No moderation: the baseline of every comparison."""

from __future__ import annotations

from townsquare.change import NOTHING, Change
from townsquare.config import MemberParams
from townsquare.draws import StageDraws
from townsquare.moderation.contract import Moderator
from townsquare.world import World


class Params(MemberParams):
    """No settings."""


def review(world: World, draws: StageDraws, params: Params, takedown: bool) -> Change:
    """Nothing is done."""
    return NOTHING


MODERATOR = Moderator("none", Params, frozenset(), review)
