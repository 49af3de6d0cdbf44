"""``log_odds``: beliefs as the sum of active argument records, in log odds.

Source: seeds, ``belief-engine``, section 3.1, Equation 1, defaults of table A5; decisions in ``docs/evidence.md``.

    L = prior + κ Σ_seeds p ln(1 + s a) + Σ_others p ln(1 + s u)        S = 2σ(L) − 1

over the active records, recomputed from them in each step. With ``start: records`` the prior is 0 and the seeds are
all there is, as in the paper; with ``start: stated`` there are no seeds and the prior is a ln((1 + S₀)/(1 − S₀)).
Confidence does not move.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from townsquare.beliefs import arrays
from townsquare.beliefs.contract import (
    AgentParams,
    BeliefInputs,
    BeliefRule,
    BeliefState,
    Changes,
    Records,
    Replay,
    Trail,
)
from townsquare.beliefs.equation import STANCE_MARGIN, stances_of, start_log_odds
from townsquare.beliefs.grids import ANCHORING, UPTAKE
from townsquare.beliefs.log_odds_kernels import SETTINGS, Summed, Weighed, replay_log_odds, sum_up
from townsquare.beliefs.trail import trail_rows
from townsquare.core.array_types import Array, Float
from townsquare.core.draws import StageDraws
from townsquare.core.enums import HoldingChange, TrailKind
from townsquare.core.errors import SettingError
from townsquare.core.schema import NONE
from townsquare.core.threads import in_parts
from townsquare.settings.config import ASSUMED, MemberParams, Share, setting

LOG_ODDS, PRIOR = "log_odds", "prior"
REPLAYED = ("stance_margin", *SETTINGS)
"""Settings that the replay reads. No table is another one continued: Numba would take its record for a kind of the
other's, and warn."""


PAPER = "published: Belief Engine"


class Params(MemberParams):
    """Uptake, anchoring, and how an agent starts."""

    uptake: float = setting(
        0.40, "u: effect of later evidence on the log odds", ge=0, grid=UPTAKE, symbol="u", search_to=20.0, basis=PAPER
    )
    anchoring: float = setting(
        0.70, "a: weight of the initial stance; may exceed 1", ge=0, grid=ANCHORING, symbol="a", search_to=5.0,
        basis=PAPER,
    )  # fmt: skip
    confirmation: Share = setting(
        0.0, "B: a record that agrees with the stance at acceptance counts with u(1+B), others with u(1-B)",
        basis=ASSUMED,
    )  # fmt: skip
    start: Literal["stated", "records"] = setting(
        "stated", "initial belief: a prior from the drawn stance, or seed records that match it", basis=ASSUMED
    )
    seed_records: int = setting(
        10, "with `start: records`, seed records per agent and proposition", ge=1, basis=ASSUMED
    )
    prior_scale: float = setting(
        1.0, "factor on the contribution of each seed record; 1 is Equation 1", gt=0, basis=PAPER
    )
    stance_margin: float = setting(
        STANCE_MARGIN, "with `start: stated`, stances are first clipped to ±(1 − this value)", gt=0, lt=1, basis=ASSUMED
    )
    profiles: str = setting(
        "", "file of profiles (profile, u, a, share); each agent draws one for the whole run; unset: all have `uptake` "
        "and `anchoring`", file="scenario", basis=ASSUMED,
    )  # fmt: skip

    def check_change(self, before: MemberParams) -> None:
        """Refuse to change what agents have of their own."""
        for name in ("uptake", "anchoring") if self.profiles else ():
            if getattr(before, name) != getattr(self, name):
                do = "agents have it of their own, by beliefs.profiles"
                raise SettingError(f"beliefs.{name}", got=str(getattr(self, name)), do=do)


def init(stance: Float, confidence: Float, params: AgentParams) -> BeliefState:
    """Return new agents at log odds a ln((1 + S)/(1 − S)) of (n, P) ``stance``, or at 0 before their seeds.

    The stance that they start with is that of their log odds: the given one only for a = 1.
    """
    prior = np.zeros(stance.shape)
    if params["start"] != "records":
        prior = start_log_odds(stance, params["anchoring"][:, None], params["stance_margin"][:, None])
    attained = stances_of(prior)
    return BeliefState(attained, confidence.copy(), attained.copy(), arrays={LOG_ODDS: prior.copy(), PRIOR: prior})


def step(state: BeliefState, inputs: BeliefInputs, params: AgentParams, rng: StageDraws) -> tuple[BeliefState, Trail]:
    """Sum the active records again; the trail is in log odds. Draws nothing."""
    strength = inputs.holdings.records.strength
    summed = summed_over(state, inputs, params, strength, strength)
    return moved(state, summed), trail_of(inputs, summed)


def summed_over(
    state: BeliefState, inputs: BeliefInputs, params: AgentParams, strength: Float, earlier: Float
) -> Summed:
    """Return sums of records with ``strength`` (k,) now and ``earlier`` (k,) until this step."""
    rows = arrays.columns(Records, inputs.holdings.records)
    changes = arrays.columns(Changes, inputs.holdings.changes)
    weighed = Weighed(arrays.read_only(strength, np.float64), arrays.read_only(earlier, np.float64))
    cells = state.stance.shape
    change, reweighed = np.zeros(changes.record.shape[0]), np.zeros(strength.shape[0])
    summed = Summed(np.empty(cells), np.empty(cells), change, reweighed, np.zeros(cells))
    before = (state.arrays[PRIOR], state.arrays[LOG_ODDS], state.stance)
    prior, old, stance = (arrays.read_only(column, np.float64) for column in before)
    table = arrays.settings(params, SETTINGS, cells[0])
    in_parts(sum_up, cells[0], rows, changes, weighed, prior, old, stance, table, summed)
    return summed


def moved(state: BeliefState, summed: Summed) -> BeliefState:
    """Return the state after the step."""
    all_arrays = {**state.arrays, LOG_ODDS: summed.log_odds}
    return BeliefState(summed.stance, state.confidence, state.start, all_arrays, state.pairs)


def trail_of(inputs: BeliefInputs, summed: Summed, trust: Float | None = None, reweighed: Trail | None = None) -> Trail:
    """Return the rows of a step in log odds, agent by agent: changes of records, then reweighed records.

    A record that became active is an exposure, or an own post; one that was archived counts negative; what no row
    accounts for is a clip.

    Parameters
    ----------
    inputs, summed
        Of the step.
    trust : (c,) float64, optional
        Trust that was read for each change.
    reweighed : Trail, optional
        Rows of records that weigh otherwise than before.
    """
    records, changes = inputs.holdings.records, inputs.holdings.changes
    at = np.flatnonzero(changes.kind != HoldingChange.REFUSED)
    agent = arrays.owners(changes.indptr)[at]
    kind = np.full(at.size, TrailKind.EXPOSURE, np.uint8)
    kind[changes.rank[at] == NONE] = TrailKind.OWN
    kind[changes.kind[at] == HoldingChange.ARCHIVED] = TrailKind.ARCHIVED
    kind[changes.kind[at] == HoldingChange.RESTORED] = TrailKind.RESTORED
    proposition = records.proposition[records.indptr[agent] + changes.record[at]]
    read = np.full(at.size, np.nan) if trust is None else trust[at]
    changed = trail_rows(
        at.size, agent=agent, proposition=proposition, kind=kind, rank=changes.rank[at], post=changes.post[at],
        amount=summed.change[at], trust=read,
    )  # fmt: skip
    parts = (changed, *(() if reweighed is None else (reweighed,)), _clipped(summed.clip))
    columns: list[Array] = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return Trail(*(column[order] for column in columns))


def _clipped(clip: Float) -> Trail:
    agent, proposition = np.nonzero(clip)
    amount = clip[agent, proposition]
    return trail_rows(agent.size, agent=agent, proposition=proposition, kind=TrailKind.CLIP, amount=amount)


_REPLAY = Replay(replay_log_odds, REPLAYED)
RULE = BeliefRule("log_odds", frozenset({"holdings"}), Params, init, step, unit="log odds", replay=_REPLAY)
