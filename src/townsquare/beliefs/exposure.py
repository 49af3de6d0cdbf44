"""``exposure``: stances move toward what was shown, exactly as in SimSwarm's formulation.

Source: seeds, ``simswarm-belief-formulation``, sections 1 to 6. Every constant of the
page is a setting with the page's value as default. The gains of all rows are summed, so that the rule can overshoot
and, from about 58 posts a step at trust 0.5, diverge: bundled scenarios use ``exposure-bounded``.
"""

from __future__ import annotations

import numpy as np

from townsquare.beliefs import arrays
from townsquare.beliefs.contract import AgentParams, BeliefInputs, BeliefRule, BeliefState, Exposed, Own, Replay, Trail
from townsquare.beliefs.exposure_kernels import exposure_step, replay_exposure
from townsquare.beliefs.grids import SHARES, UPTAKE
from townsquare.beliefs.trail import assemble
from townsquare.beliefs.trust import TRUST, author_trust
from townsquare.core.array_types import Float
from townsquare.core.draws import StageDraws
from townsquare.core.pairs import empty_block
from townsquare.core.threads import in_parts
from townsquare.settings.config import ASSUMED, MemberParams, Share, setting

SIMSWARM = "published: SimSwarm"


class Factors(MemberParams):
    """The constants of the page on the likes of a root, and whether it is new."""

    novelty_new: float = setting(1.5, "weight factor of a root seen for the first time", ge=0, basis=SIMSWARM)
    novelty_repeat: float = setting(0.5, "weight factor of a root seen before", ge=0, basis=SIMSWARM)
    social_proof_floor: float = setting(0.3, "social proof of a root without likes", ge=0, basis=SIMSWARM)
    social_proof_per_like: float = setting(0.07, "social proof added by each like shown", ge=0, basis=SIMSWARM)
    likes_at_most: int | None = setting(
        None, "maximum likes of a root that count as social proof; unset: all", ge=0, basis=SIMSWARM
    )


class Params(Factors):
    """The constants of the page, and two additions that are off: ``anchor`` and ``own_pull``."""

    resistance_floor: float = setting(
        0.3, "resistance at confidence 0; influence is divided by resistance", gt=0, basis=SIMSWARM
    )
    resistance_slope: float = setting(0.7, "resistance added per unit of confidence", ge=0, basis=SIMSWARM)
    pull: Share = setting(
        0.1, "influence rate: share of the gap closed by an influence of 1", grid=UPTAKE, basis=SIMSWARM
    )
    trust_start: Share = setting(0.5, "initial trust in an author without a credibility", basis=SIMSWARM)
    trust_rate: Share = setting(
        0.05, "twice the increase in trust after one exposure at full agreement", basis=SIMSWARM
    )
    confidence_per_like: Share = setting(0.005, "confidence gained by a like received on a post", basis=SIMSWARM)
    confidence_per_dislike: Share = setting(0.008, "confidence lost by a dislike received on a post", basis=SIMSWARM)
    anchor: Share = setting(
        0.0, "stubbornness: share of the gap to the initial stance closed in each step", grid=SHARES, basis=ASSUMED
    )
    own_pull: Share = setting(
        0.0, "share of the gap to the stance of an own post that writing the post closes", basis=ASSUMED
    )


SETTINGS = tuple(Params.model_fields)
"""Fields of a record of settings that the kernels read."""


def init(stance: Float, confidence: Float, params: AgentParams) -> BeliefState:
    """Return new agents with the (n, P) ``stance`` in [-1, 1] and ``confidence`` in [0, 1] given, and no trust yet."""
    trust = empty_block(stance.shape[0], np.float64)
    return BeliefState(stance.copy(), confidence.copy(), stance.copy(), pairs={TRUST: trust})


def move(state: BeliefState, inputs: BeliefInputs, params: AgentParams, *, bounded: bool) -> tuple[BeliefState, Trail]:
    """Return one step of either exposure rule; they differ only in how the gains of a step are combined."""
    block, slot = author_trust(state, inputs.exposures, params)
    moved = arrays.unmoved(state, slot.shape[0], inputs.own.post.shape[0])
    rows, own = arrays.columns(Exposed, inputs.exposures), arrays.columns(Own, inputs.own)
    before, table = arrays.columns(arrays.Beliefs, state), arrays.settings(params, SETTINGS, state.stance.shape[0])
    trust = np.asarray(block.value, dtype=np.float64)
    in_parts(exposure_step, before.stance.shape[0], rows, own, before, slot, table, trust, moved, bounded)
    after = BeliefState(moved.stance, moved.confidence, state.start, state.arrays, {**state.pairs, TRUST: block})
    return after, assemble(inputs, moved)


def step(state: BeliefState, inputs: BeliefInputs, params: AgentParams, rng: StageDraws) -> tuple[BeliefState, Trail]:
    """Move stance, trust and confidence by one step; the trail is in stance units. Draws nothing."""
    return move(state, inputs, params, bounded=False)


_REPLAY = Replay(replay_exposure, SETTINGS)
RULE = BeliefRule("exposure", frozenset({"exposures", "own"}), Params, init, step, ordered=True, replay=_REPLAY)
