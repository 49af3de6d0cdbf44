"""``no_change``: nobody changes their mind. The baseline of every comparison of rules, and of human replay."""

from __future__ import annotations

from townsquare.beliefs.contract import AgentParams, BeliefInputs, BeliefRule, BeliefState, Trail
from townsquare.beliefs.trail import no_trail
from townsquare.core.array_types import Float
from townsquare.core.draws import StageDraws
from townsquare.settings.config import MemberParams


class Params(MemberParams):
    """No settings."""


def init(stance: Float, confidence: Float, params: AgentParams) -> BeliefState:
    """New agents hold the (n, P) ``stance`` in [-1, 1] given, for good."""
    return BeliefState(stance.copy(), confidence.copy(), stance.copy())


def step(state: BeliefState, inputs: BeliefInputs, params: AgentParams, rng: StageDraws) -> tuple[BeliefState, Trail]:
    """The same state, and no trail."""
    return state, no_trail()


RULE = BeliefRule(
    name="no_change",
    needs=frozenset(),
    unit="stance",
    ordered=False,
    bounded=True,
    params=Params,
    init=init,
    step=step,
)
