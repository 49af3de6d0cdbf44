"""A fact-checker reviews some posts a step; what it is sure is false is taken down."""

from __future__ import annotations

from townsquare.change import Change
from townsquare.draws import StageDraws
from townsquare.moderation.checker import CheckerParams, find, findings_as_rows, queue
from townsquare.moderation.contract import Moderator
from townsquare.schema import Verdict
from townsquare.world import World


class Params(CheckerParams):
    """Settings of the strategy `third_party`."""


def review(world: World, draws: StageDraws, params: Params, takedown: bool) -> Change:
    """Verdicts on the next posts of the queue; "false" at ``takedown_at`` or above goes down, with all its shares."""
    posts = queue(world, draws, params.posts_per_step, noted_first=False)
    found = find(world, posts, draws, params)
    down = (found.verdict == Verdict.FALSE) & (found.confidence >= params.takedown_at) & takedown
    why = [f"verdict false with confidence {c:.2f}, at least {params.takedown_at:g}" for c in found.confidence]
    return Change(findings_as_rows(world, posts, found, down, why))


MODERATOR = Moderator("third_party", Params, frozenset(), review)
