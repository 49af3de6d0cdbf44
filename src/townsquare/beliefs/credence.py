"""``credence``: arguments move an attitude as far as they are believed, and what a feed moved leaks away.

    A = A₀ + D                                        S = 2σ(A) − 1
    D ← D · 2^(−days / half_life)                     term "anchor"
    D += ± 2 atanh(r g |s|) · new · Δw / n            term "exposure", of each of n rows of one side that are new
    w(k) = k / (1 + (k − 1) overlap)                  k: recent readings of the side, `attention` a row, fading in a day
    g = min(σ(V) / credence, 1)                       for news; 1 for opinions
    V = logit(plausibility) + concord/2 · (±1) ± verdict

A₀ is an agent's own baseline for life. A claim counts as evidence as far as it is believed: V is the veracity that the
reader gives it with the label beside it. The verdict counts for those who heed it, a lasting draw: ``heed_false`` of
people heed "false" and notes, ``heed_true`` heed "true". Nothing pushes away from a speaker. The sizes are those of a
feed, not of a conversation in a laboratory; ``docs/beliefs-and-people.md`` says what they were fitted to.
"""

from __future__ import annotations

import numpy as np

from townsquare.beliefs import arrays
from townsquare.beliefs.contract import AgentParams, BeliefInputs, BeliefRule, BeliefState, Contents, Exposed, Trail
from townsquare.beliefs.credence_kernels import Held, Step, credence_step
from townsquare.beliefs.equation import STANCE_MARGIN, stances_of, start_log_odds
from townsquare.beliefs.trail import assemble
from townsquare.core.array_types import Float
from townsquare.core.draws import StageDraws
from townsquare.settings.config import ASSUMED, MemberParams, setting

FITTED = "fitted: experiments with labels,"


class Params(MemberParams):
    """Log odds and days. Intervals and sources of the fitted numbers are in ``docs/beliefs-and-people.md``."""

    verdict: float = setting(3.0, "log odds of a verdict to somebody who heeds it", ge=0, basis=f"{FITTED} 2.5 to 3.4")
    heed_false: float = setting(
        0.33, "proportion of people who heed the verdict `false` or a note", ge=0, le=1, basis=f"{FITTED} 0.10 to 0.45"
    )
    heed_true: float = setting(
        0.70, "proportion who heed the verdict `true`", ge=0, le=1, basis=f"{FITTED} 0.57 to 0.79"
    )
    concord: float = setting(
        0.37, "log odds of being true that a claim on one's own side has over one on the other",
        basis=f"{FITTED} 0.28 to 0.46",
    )  # fmt: skip
    credence: float = setting(
        0.69, "credence from which a claim counts in full: that of ordinary true headlines", gt=0, le=1,
        basis=f"{FITTED} control arms",
    )  # fmt: skip
    reliability: float = setting(
        0.12, "weight of an argument by an ordinary source; a credibility of 0.5 is ordinary", ge=0, lt=1,
        basis="fitted: chats and debates, 0.03 to 0.43",
    )  # fmt: skip
    cap: float = setting(0.95, "largest weight of an argument", gt=0, lt=1, basis=ASSUMED)
    overlap: float = setting(
        0.5, "correlation of arguments of one side on a day: n count n/(1 + (n - 1) overlap); 0.2 to 1", ge=0, le=1,
        basis=ASSUMED,
    )  # fmt: skip
    attention: float = setting(0.05, "proportion of exposures that are read; 0.02 to 0.1", ge=0, le=1, basis=ASSUMED)
    new: float = setting(
        0.2, "proportion of an argument that is new to its reader; 1 for a new topic, else 0.05 to 1", ge=0, le=1,
        basis=ASSUMED,
    )  # fmt: skip
    half_life: float = setting(
        14.0, "half-life of what exposures moved, back to the own baseline; 3 to 60", gt=0, unit="days", basis=ASSUMED
    )


_SETTINGS = tuple(Params.model_fields)
LOG_ODDS, BASELINE, HOURS, READ = "log_odds", "baseline", "hours", "read"


def init(stance: Float, confidence: Float, params: AgentParams) -> BeliefState:
    """Return new agents at the log odds of (n, P) ``stance``, clipped to within 0.001 of the ends of the scale."""
    start = start_log_odds(stance, 1.0, STANCE_MARGIN)
    attained = stances_of(start)
    hours, read = np.zeros(stance.shape[0]), np.zeros((*stance.shape, 2))
    kept = {LOG_ODDS: start.copy(), BASELINE: start, HOURS: hours, READ: read}
    return BeliefState(attained, confidence.copy(), attained.copy(), arrays=kept)


def step(state: BeliefState, inputs: BeliefInputs, params: AgentParams, rng: StageDraws) -> tuple[BeliefState, Trail]:
    """Let attitudes leak and add the arguments of a step; the trail is in log odds."""
    rows, n = arrays.columns(Exposed, inputs.exposures), state.stance.shape[0]
    said = Contents(
        *(arrays.read_only(getattr(inputs.contents, name), dtype)
          for name, dtype in zip(Contents._fields, ("f8", "u1", "?"), strict=True))
    )  # fmt: skip
    held = Held(*(arrays.read_only(state.arrays[name], "f8") for name in (LOG_ODDS, BASELINE, HOURS, READ)))
    moved = arrays.unmoved(state, rows.stance.shape[0], inputs.own.post.shape[0])
    out = Step(
        np.empty_like(held.log_odds), np.empty(n), np.empty_like(held.read), moved.stance, moved.exposure, moved.trust,
        moved.anchor,
    )  # fmt: skip
    heed = rng.uniform("heed", inputs.first + np.arange(n), lasting=True)
    credence_step(rows, said, held, inputs.hours, heed, arrays.settings(params, _SETTINGS, n), out)
    kept = {LOG_ODDS: out.log_odds, BASELINE: state.arrays[BASELINE], HOURS: out.hours, READ: out.read}
    after = BeliefState(out.stance, state.confidence, state.start, kept, state.pairs)
    return after, assemble(inputs, moved)


RULE = BeliefRule("credence", frozenset({"exposures", "contents"}), Params, init, step, unit="log odds")
