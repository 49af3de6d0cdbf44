"""Agents that read and do nothing: the control for what exposure alone does."""

from __future__ import annotations

from townsquare.core.draws import StageDraws
from townsquare.settings.config import MemberParams
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.views import ProposedActions, Views, no_actions


def decide(views: Views, draws: StageDraws, params: MemberParams) -> ProposedActions:
    """Return no action for anybody."""
    return no_actions()


POLICY = Policy("silent", MemberParams, decide)
