"""``credence``: arguments move an attitude as far as they are believed, and what a feed moved leaks away.

    A = A₀ + D                                        S = 2σ(A) − 1
    D ← D · 2^(−days / half_life)                     term "anchor"
    D += ± 2 atanh(r g |s|) · new · Δw / n            term "exposure", of each of n rows of one side that are new
    w(k) = k / (1 + (k − 1) overlap)                  k: recent readings of the side, `attention` a row, fading in a day
    g = min(σ(V) / credence, 1)                       for news; 1 for opinions
    D −= retract · (what is left of a claim's terms) · (1 − g now / g then)   term "retracted", where V fell
    V = logit(plausibility) + concord/2 · (±1) + source + familiar · log2(1 + T) ± verdict · h · m − note · h · m

A₀ is an agent's own baseline for life. A claim counts as evidence as far as it is believed: V is the veracity that a
reader gives it, kept for each claim met. T are the readings left in memory, m is 1 while a verdict or a note stands
beside the claim and what memory keeps of it later; both fade fast and slowly, within days and weeks. h is 1 for those
who heed a verdict, a lasting draw: ``heed_false`` of people heed "false" and notes, ``heed_true`` heed "true".
Verdict and note are parts of their own, but one piece of evidence: the later replaces the earlier, and both at once
count as the stronger. A showing is judged before it counts as a reading. Nothing pushes away from a speaker. The
sizes are those of a feed, not of a conversation in a laboratory; ``docs/beliefs-and-people.md`` says what they were
fitted to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from townsquare.beliefs import arrays
from townsquare.beliefs.contract import (
    AgentParams,
    BeliefInputs,
    BeliefRule,
    BeliefState,
    Contents,
    Exposed,
    Trail,
    Veracities,
)
from townsquare.beliefs.credence_claim_kernels import Claims, judge_shown, met_claims, no_claims, take_step
from townsquare.beliefs.credence_kernels import Attitudes, Step
from townsquare.beliefs.equation import STANCE_MARGIN, stances_of, start_log_odds
from townsquare.beliefs.trail import assemble
from townsquare.core.array_types import Float
from townsquare.core.draws import StageDraws
from townsquare.core.pairs import PairBlock
from townsquare.core.threads import in_parts
from townsquare.settings.config import ASSUMED, MemberParams, Share, setting

FITTED, REPEATED = "fitted: experiments with labels,", "fitted: truth effect over a month,"


class Params(MemberParams):
    """Log odds and days. Intervals and sources of the fitted numbers are in ``docs/beliefs-and-people.md``."""

    verdict: float = setting(
        3.0, "strength of a verdict, in log odds, for a person who heeds (believes) it", ge=0,
        basis=f"{FITTED} 2.5 to 3.4",
    )  # fmt: skip
    note: float = setting(
        3.0, "strength of a note, in log odds, for a person who heeds (believes) it; plausible: 0 to 3.4", ge=0,
        basis=ASSUMED,
    )  # fmt: skip
    heed_false: Share = setting(
        0.33, "proportion of people who heed the verdict `false` or a note", basis=f"{FITTED} 0.10 to 0.45"
    )
    heed_true: Share = setting(0.70, "proportion of people who heed the verdict `true`", basis=f"{FITTED} 0.57 to 0.79")
    concord: float = setting(
        0.37, "difference in log odds between belief in a claim on one's own side and on the other side",
        basis=f"{FITTED} 0.28 to 0.46",
    )  # fmt: skip
    credence: float = setting(
        0.69,
        "probability above which belief in a claim has its full effect on attitudes: the mean belief in true headlines",
        gt=0, le=1, basis=f"{FITTED} control arms",
    )  # fmt: skip
    reliability: float = setting(
        0.12, "weight of a post of stance ±1 by a person or a source of credibility 0.5; proportional to |stance| and "
        "credibility", ge=0, lt=1, basis="fitted: chats and debates, 0.03 to 0.43",
    )  # fmt: skip
    cap: float = setting(0.95, "maximum weight of an argument", gt=0, lt=1, basis=ASSUMED)
    overlap: Share = setting(
        0.5, "n readings of one side (fading to 1/e in a day) count as n/(1 + (n - 1) overlap); plausible: 0.2 to 1",
        basis=ASSUMED,
    )  # fmt: skip
    attention: Share = setting(0.05, "readings that one exposure counts as; plausible: 0.02 to 0.1", basis=ASSUMED)
    new: Share = setting(
        0.2, "proportion of an argument that is new to its reader; plausible: 0.05 to 1, and 1 for a new topic",
        basis=ASSUMED,
    )  # fmt: skip
    half_life: float = setting(
        14.0, "half-life of a change of attitude; plausible: 3 to 60", gt=0, unit="days", basis=ASSUMED
    )
    retract: Share = setting(
        0.5, "share of the attitude change by a claim that is reversed if belief in it falls to 0; plausible: 0 to 1",
        basis=ASSUMED,
    )  # fmt: skip
    familiar: float = setting(
        0.55, "log odds that the first reading of a claim adds to belief in it, before memory fades", ge=0,
        basis=f"{REPEATED} 0.48 to 0.61",
    )  # fmt: skip
    fast_share: Share = setting(0.61, "share of a memory that fades fast", basis=f"{REPEATED} 0.52 to 0.69")
    fast_days: float = setting(
        0.5, "time in which the fast part of a memory falls to 1/e", gt=0, unit="days", basis=ASSUMED
    )
    slow_days: float = setting(
        39.0, "time in which the slow part of a memory falls to 1/e", gt=0, unit="days", basis=f"{REPEATED} 26 to 67"
    )


_SETTINGS = tuple(Params.model_fields)
LOG_ODDS, BASELINE, HOURS, READ, CLOCK = "log_odds", "baseline", "hours", "read", "clock"


def init(stance: Float, confidence: Float, params: AgentParams) -> BeliefState:
    """Return new agents at the log odds of (n, P) ``stance``, clipped to within 0.001 of the ends of the scale."""
    start, n = start_log_odds(stance, 1.0, STANCE_MARGIN), stance.shape[0]
    attained = stances_of(start)
    read = np.zeros((*stance.shape, 2))
    stored = {LOG_ODDS: start.copy(), BASELINE: start, HOURS: np.zeros(n), READ: read, CLOCK: np.zeros(n)}
    return BeliefState(attained, confidence.copy(), attained.copy(), stored, no_claims(n, stance.shape[1]))


def step(state: BeliefState, inputs: BeliefInputs, params: AgentParams, rng: StageDraws) -> tuple[BeliefState, Trail]:
    """Let attitudes leak, judge claims, and add the arguments of a step; the trail is in log odds."""
    given = _given(state, inputs, params, rng)
    indptr, key, claims, slot = met_claims(state.pairs, given.rows.indptr, given.contents)
    m, n = given.rows.stance.shape[0], state.stance.shape[0]
    moved = arrays.unmoved(state, m, inputs.own.post.shape[0])._replace(retracted=np.zeros(m))
    out = Step(
        np.empty(state.stance.shape), np.empty(n), np.empty((*state.stance.shape, 2)), moved.stance, moved.exposure,
        moved.trust, moved.anchor, moved.retracted,
    )  # fmt: skip
    in_parts(take_step, n, *given[:-1], slot, given.table, indptr, claims, np.full(m, np.nan), out)
    stored = {**state.arrays, LOG_ODDS: out.log_odds, HOURS: out.hours, READ: out.read, CLOCK: given.clock}
    pairs = {name: PairBlock(indptr, key, part) for name, part in claims._asdict().items()}
    return BeliefState(out.stance, state.confidence, state.start, stored, pairs), assemble(inputs, moved)


def judge(state: BeliefState, inputs: BeliefInputs, params: AgentParams, rng: StageDraws) -> Float:
    """Return how far readers believe the claim of each exposure, (m,) log odds, NaN for opinions: what step finds."""
    given = _given(state, inputs, params, rng)
    indptr, _, claims, slot = met_claims(state.pairs, given.rows.indptr, given.contents, alone=True)
    believed, own = np.full(given.rows.stance.shape[0], np.nan), np.empty(state.stance.shape)
    in_parts(judge_shown, state.stance.shape[0], *given[:-1], slot, given.table, indptr, claims, believed, own)
    return believed


class _Given(NamedTuple):
    """What the kernels read of a step: ``clock`` (n,) hours of the run at its end, ``heed`` (n,) lasting draws."""

    rows: Exposed
    contents: Contents
    before: Attitudes
    hours: float
    clock: Float
    heed: Float
    table: arrays.Table


def _given(state: BeliefState, inputs: BeliefInputs, params: AgentParams, rng: StageDraws) -> _Given:
    n = state.stance.shape[0]
    before = Attitudes(*(arrays.read_only(state.arrays[name], "f8") for name in (LOG_ODDS, BASELINE, HOURS, READ)))
    clock = arrays.read_only(np.asarray(state.arrays[CLOCK], np.float64) + inputs.hours, "f8")
    return _Given(
        arrays.columns(Exposed, inputs.exposures), arrays.columns(Contents, inputs.contents), before, inputs.hours,
        clock, rng.uniform("heed", inputs.first + np.arange(n), lasting=True), arrays.settings(params, _SETTINGS, n),
    )  # fmt: skip


def veracities(state: BeliefState, params: AgentParams) -> Veracities:
    """Return the claims that people met in the step that led to this state, and how far they believe them now."""
    claims = Claims(*(np.asarray(state.pairs[name].value, np.float64) for name in Claims._fields))
    block = state.pairs[Claims._fields[0]]
    clock = np.repeat(state.arrays[CLOCK], np.diff(block.indptr))
    at = np.flatnonzero((claims.met == clock) & (clock > 0))
    agent, of = np.searchsorted(block.indptr, at, "right") - 1, Claims(*(part[at] for part in claims))
    verdict = params["verdict"][agent] * (of.verdict_fast + of.verdict_slow)
    note = params["note"][agent] * (of.note_fast + of.note_slow)
    repetition = params["familiar"][agent] * np.log2(1.0 + of.read_fast + of.read_slow)
    remembered = of.prior + of.source + (verdict + note) + repetition
    return Veracities(
        agent.astype(np.int32), block.key[at], of.judged, remembered, of.source, verdict, repetition, note,
        of.judged_verdict, of.judged_note,
    )  # fmt: skip


_NEEDS = frozenset({"exposures", "contents"})
RULE = BeliefRule("credence", _NEEDS, Params, init, step, unit="log odds", veracities=veracities, judge=judge)
