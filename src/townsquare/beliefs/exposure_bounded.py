"""``exposure-bounded``: the weights of ``exposure``, scaled so that a long feed cannot overshoot.

With W the sum of the weights of an agent's rows of one proposition, each weight w becomes
w(1 − e^(−W))/W, so that together they close the share 1 − e^(−W) < 1 of the gap to their weighted mean; for small W
that is ``exposure`` itself. Own posts, if ``own_pull`` is set, are weights among the others.
"""

from __future__ import annotations

from townsquare.beliefs.contract import AgentParams, BeliefInputs, BeliefRule, BeliefState, Trail
from townsquare.beliefs.exposure import Params as ExposureParams
from townsquare.beliefs.exposure import init, move
from townsquare.core.draws import StageDraws


class Params(ExposureParams):
    """The settings of ``exposure``, with the same defaults."""


def step(state: BeliefState, inputs: BeliefInputs, params: AgentParams, rng: StageDraws) -> tuple[BeliefState, Trail]:
    """Move stance, trust and confidence by one step; the trail is in stance units. Draws nothing."""
    return move(state, inputs, params, bounded=True)


RULE = BeliefRule("exposure-bounded", frozenset({"exposures", "own"}), Params, init, step, ordered=True, bounded=True)
