"""A fact-checker reviews some posts a step; what it is sure is false is taken down."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from townsquare.core.draws import StageDraws
from townsquare.core.enums import Verdict
from townsquare.models.contract import Asker
from townsquare.simulation.change import Change
from townsquare.simulation.moderation.checker import CheckerParams, findings_as_rows, queue
from townsquare.simulation.moderation.contract import Moderator
from townsquare.simulation.moderation.findings import asks, findings
from townsquare.simulation.world import World


class Params(CheckerParams):
    """Settings of the strategy `third_party`."""


def review(world: World, draws: StageDraws, params: Params, takedown: bool, asker: Asker | None = None) -> Change:
    """Verdicts on the next posts of the queue; "false" at ``takedown_at`` or above goes down, with all its shares."""
    posts = queue(world, draws, params.posts_per_step, noted_first=False)
    checked = findings(world, posts, draws, params, asker, with_notes=False)
    down = (checked.verdict == Verdict.FALSE) & (checked.confidence >= params.takedown_at) & takedown
    why = [f"verdict false with confidence {c:.2f}, at least {params.takedown_at:g}" for c in checked.confidence]
    return Change(findings_as_rows(world, posts, checked, down, why))


def bind(asker: Asker) -> Moderator:
    """Return the moderator with a language model that checks."""
    return replace(MODERATOR, review=partial(review, asker=asker))


MODERATOR = Moderator("third_party", Params, frozenset(), review, asks=asks, bind=bind)
