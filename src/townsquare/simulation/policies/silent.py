"""Agents that read and do nothing: the control for what exposure alone does."""

from __future__ import annotations

from townsquare.core.draws import StageDraws
from townsquare.settings.config import MemberParams
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.views import Chosen, Views, nothing_chosen


def decide(views: Views, draws: StageDraws, params: MemberParams) -> Chosen:
    """Nothing, for everybody."""
    return nothing_chosen()


POLICY = Policy("silent", MemberParams, decide)
