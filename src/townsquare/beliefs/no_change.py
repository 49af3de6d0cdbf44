"""``no_change``: beliefs never move. The baseline in comparisons of rules and in fits to people."""

from __future__ import annotations

from townsquare.beliefs.contract import AgentParams, BeliefInputs, BeliefRule, BeliefState, Trail, start_as_given
from townsquare.beliefs.trail import no_trail
from townsquare.core.draws import StageDraws
from townsquare.settings.config import MemberParams


def step(state: BeliefState, inputs: BeliefInputs, params: AgentParams, rng: StageDraws) -> tuple[BeliefState, Trail]:
    """Return the same state, and no trail."""
    return state, no_trail()


RULE = BeliefRule("no_change", frozenset(), MemberParams, start_as_given, step, bounded=True)
