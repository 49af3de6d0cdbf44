"""``social_log_odds``: evidence weighted by trust in its source, its likes, its novelty and its labels.

The rule that joins the seeds. It is ``log_odds`` (Equation 1 of the Belief Engine) in which the strength s of each
record that came from others becomes

    s · trust · social proof · novelty · label

Each factor has a switch, and is 1 where it is off, for seeds, and for what the agent said itself; with all switches
off the rule is ``log_odds`` bit for bit. The factors are those of SimSwarm (``exposure``):

* *trust* in whoever passed the post on, as it stood at the start of the step;
* *social proof* = ``social_proof_floor`` + likes of the root as shown · ``social_proof_per_like``, of at most
  ``likes_at_most`` likes;
* *novelty* = ``novelty_new`` if the root was shown for the first time, else ``novelty_repeat``;
* *label* = the label weight of the row, in [0, 1].

The first three are read once, from the exposure that made the record active for the first time: how an argument came
fixes what it is worth. The label is that of the last exposure to the claim, whoever passed it on, so that a label acts
on records that are held already, and ceases to when the claim is shown without it. Such a change is a row of the trail
of kind exposure, with the exposure that brought it about.

Trust learns as in ``exposure``, from all posts shown that take a stance; confidence does not move.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from townsquare.beliefs import arrays, log_odds, social_kernels
from townsquare.beliefs.contract import (
    AgentParams,
    BeliefInputs,
    BeliefRule,
    BeliefState,
    Changes,
    ClaimExposures,
    Records,
    Replay,
    Trail,
)
from townsquare.beliefs.exposure import SIMSWARM, Factors
from townsquare.beliefs.log_odds_kernels import Summed
from townsquare.beliefs.social_kernels import Weights
from townsquare.beliefs.trail import trail_rows
from townsquare.beliefs.trust import TRUST, author_trust, learn_trust
from townsquare.core.array_types import Float, Int64
from townsquare.core.draws import StageDraws
from townsquare.core.enums import TrailKind
from townsquare.core.pairs import PairBlock, empty_block, lookup
from townsquare.core.threads import in_parts
from townsquare.settings.config import ASSUMED, Share, setting

WORTH, LABEL = "worth", "label"
SWITCHES = ("weigh_trust", "weigh_social_proof", "weigh_novelty", "weigh_labels")
SETTINGS = (*SWITCHES, *Factors.model_fields)
"""Fields of a record of settings that the kernels read; a switch is 0 or 1."""
REPLAYED = ("trust_start", "trust_rate", *log_odds.REPLAYED, *SETTINGS)
NEEDS = frozenset({"exposures", "holdings", "claim_exposures"})


class Params(Factors, log_odds.Params):
    """Settings of ``log_odds``, the constants of SimSwarm, and a switch for each factor."""

    weigh_trust: bool = setting(
        True, "multiply strength by trust in the account that passed the claim on", basis=ASSUMED
    )
    weigh_social_proof: bool = setting(True, "multiply strength by social proof", basis=ASSUMED)
    weigh_novelty: bool = setting(True, "multiply strength by novelty", basis=ASSUMED)
    weigh_labels: bool = setting(
        True, "multiply strength by the label weight of the last exposure to the claim", basis=ASSUMED
    )
    trust_start: Share = setting(0.5, "initial trust in an author without a credibility", basis=SIMSWARM)
    trust_rate: Share = setting(
        0.05, "twice the increase in trust after one exposure at full agreement", basis=SIMSWARM
    )


def init(stance: Float, confidence: Float, params: AgentParams) -> BeliefState:
    """Return new agents as in ``log_odds``, who have met nobody."""
    state = log_odds.init(stance, confidence, params)
    return replace(state, pairs={name: empty_block(stance.shape[0], np.float64) for name in (TRUST, WORTH, LABEL)})


def step(state: BeliefState, inputs: BeliefInputs, params: AgentParams, rng: StageDraws) -> tuple[BeliefState, Trail]:
    """Weigh the records, sum them, and let trust learn; the trail is in log odds. Draws nothing."""
    records, shown = inputs.holdings.records, inputs.holdings.claim_exposures
    met, _ = author_trust(state, shown, params)
    block, slot = author_trust(replace(state, pairs={**state.pairs, TRUST: met}), inputs.exposures, params)
    trust: Float = arrays.read_only(block.value, np.float64).copy()
    pairs_shown = arrays.read_only(shown.indptr, np.int64), arrays.read_only(shown.author, np.int32)
    read = trust[lookup(block, *pairs_shown)]
    weights = _weights(state, inputs, params, read)
    strength = records.strength * weights.worth * weights.label
    before = records.strength * weights.worth * weights.label_before
    summed = log_odds.summed_over(state, inputs, params, strength, before)
    learn_trust(trust, slot, inputs.exposures, summed.stance, params)
    pairs = {
        **state.pairs,
        TRUST: PairBlock(block.indptr, block.key, trust),
        WORTH: PairBlock(records.indptr, records.claim, weights.worth),
        LABEL: PairBlock(records.indptr, records.claim, weights.label),
    }
    reweighed = _reweighed(inputs, summed, weights.shown, read if params["weigh_trust"] else np.full_like(read, np.nan))
    trail = log_odds.trail_of(inputs, summed, weights.change_trust, reweighed)
    return replace(log_odds.moved(state, summed), pairs=pairs), trail


def _reweighed(inputs: BeliefInputs, summed: Summed, shown: Int64, trust: Float) -> Trail:
    """Return rows of records whose label changed, each by its last exposure and the trust in its author."""
    records, claim_exposures = inputs.holdings.records, inputs.holdings.claim_exposures
    at = np.flatnonzero(summed.reweighed != 0.0)
    return trail_rows(
        at.size, agent=arrays.owners(records.indptr)[at], proposition=records.proposition[at], kind=TrailKind.EXPOSURE,
        rank=claim_exposures.rank[shown[at]], post=claim_exposures.post[shown[at]], amount=summed.reweighed[at],
        trust=trust[shown[at]],
    )  # fmt: skip


def _weights(state: BeliefState, inputs: BeliefInputs, params: AgentParams, trust: Float) -> Weights:
    records = arrays.columns(Records, inputs.holdings.records)
    changes = arrays.columns(Changes, inputs.holdings.changes)
    k = records.claim.shape[0]
    worth, label, shown = np.empty(k), np.empty(k), np.full(k, -1, np.int64)
    old_worth, old_label = (arrays.pairs_of(state.pairs[name]) for name in (WORTH, LABEL))
    in_parts(social_kernels.carry_over, records.indptr.shape[0] - 1, old_worth, old_label, records, worth, label)
    out = Weights(worth, label.copy(), label, shown, np.full(changes.record.shape[0], np.nan))
    claim_exposures = arrays.columns(ClaimExposures, inputs.holdings.claim_exposures)
    table = arrays.settings(params, SETTINGS, state.stance.shape[0])
    trust = arrays.read_only(trust, np.float64)
    in_parts(social_kernels.weigh, records.indptr.shape[0] - 1, records, changes, claim_exposures, trust, table, out)
    return out


_REPLAY = Replay(social_kernels.replay_social, REPLAYED)
RULE = BeliefRule("social_log_odds", NEEDS, Params, init, step, unit="log odds", ordered=True, replay=_REPLAY)
