"""Chooses the fact-checker: the embedded one or a language model, as the settings say."""

from __future__ import annotations

from townsquare.core.array_types import Int32
from townsquare.core.draws import StageDraws
from townsquare.models.contract import Asker, needed
from townsquare.simulation.moderation.checker import CheckerParams, Findings, find
from townsquare.simulation.moderation.model_checker import ask_about
from townsquare.simulation.world import World


def findings(
    world: World, posts: Int32, draws: StageDraws, params: CheckerParams, asker: Asker | None, *, with_notes: bool
) -> Findings:
    """Review ``posts``: return verdicts; ``with_notes`` lets a model see the notes under them."""
    if params.checker == "embedded":
        return find(world, posts, draws, params)
    return ask_about(world, posts, params, needed(asker), with_notes=with_notes)


def asks(params: CheckerParams) -> bool:
    """Return whether a language model checks."""
    return params.checker == "model"
