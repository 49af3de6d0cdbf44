"""``bounded_confidence``: agents are moved only by what is not too far from what they hold.

Source: Hegselmann and Krause (2002), "Opinion dynamics and bounded confidence", JASSS 5(3): the mean of all within a
tolerance; Deffuant, Neau, Amblard and Weisbuch (2000), "Mixing beliefs among interacting agents", Adv. Complex Syst.
3:87: only a share of the gap is closed. The defaults are Deffuant's share of 0.5 and a tolerance of 0.4, which is their
0.2 on stances from 0 to 1 and lies near the border between one camp and several.
"""

from __future__ import annotations

import numba as nb
from pydantic import Field

from townsquare.beliefs import arrays
from townsquare.beliefs.arrays import Held, Moved, Shown
from townsquare.beliefs.contract import AgentParams, BeliefInputs, BeliefRule, BeliefState, Float, Trail
from townsquare.beliefs.trail import assemble
from townsquare.core.draws import StageDraws
from townsquare.settings.config import MemberParams


class Params(MemberParams):
    """How far agents listen, and how far they follow."""

    tolerance: float = Field(0.4, ge=0, le=2, description="largest distance of stances that still counts (epsilon)")
    convergence: float = Field(0.5, ge=0, le=1, description="share of the gap to the mean that is closed (mu)")


def init(stance: Float, confidence: Float, params: AgentParams) -> BeliefState:
    """New agents hold the (n, P) ``stance`` in [-1, 1] given."""
    return BeliefState(stance.copy(), confidence.copy(), stance.copy())


@nb.njit(cache=True, error_model="numpy")
def _listen_agent(i: int, tolerance: float, convergence: float, rows: Shown, held: Held, moved: Moved) -> None:
    at = rows.indptr[i]
    for k in range(held.stance.shape[1]):
        first, before, near = at, held.stance[i, k], 0
        while at < rows.indptr[i + 1] and rows.proposition[at] == k:
            near += abs(rows.stance[at] - before) <= tolerance
            at += 1
        low = high = before
        delta = 0.0
        for x in range(first, at):
            gap = rows.stance[x] - before
            if abs(gap) <= tolerance:
                moved.exposure[x] = convergence * rows.weight[x] * gap / near
                delta += moved.exposure[x]
                if rows.weight[x] > 0.0:
                    low, high = min(low, rows.stance[x]), max(high, rows.stance[x])
        # Rounding alone can leave the hull; the clip row says so.
        after = min(max(before + delta, low), high)
        moved.stance[i, k] = after
        moved.clip[i, k] = 0.0 if after == before + delta else (after - before) - delta


@nb.njit(parallel=True, nogil=True, cache=True, error_model="numpy")
def _listen(rows: Shown, held: Held, table: Float, moved: Moved) -> None:
    """Write stance, exposure and clip; ``table`` (n or 1, 2) holds epsilon and mu of each agent."""
    for i in nb.prange(held.stance.shape[0]):
        tolerance, convergence = table[i % table.shape[0]]
        _listen_agent(i, tolerance, convergence, rows, held, moved)


def step(state: BeliefState, inputs: BeliefInputs, params: AgentParams, rng: StageDraws) -> tuple[BeliefState, Trail]:
    """S gains mu·Σ weight·(s − S)/c over the c rows of a proposition within epsilon of S; confidence stays."""
    rows = arrays.shown(inputs.exposures)
    moved = arrays.unmoved(state, rows.stance.shape[0], inputs.own.post.shape[0])
    table = arrays.settings(params, ("tolerance", "convergence"), state.stance.shape[0])
    _listen(rows, arrays.held(state), table, moved)
    after = BeliefState(moved.stance, state.confidence, state.start, state.arrays, state.pairs)
    return after, assemble(inputs, moved)


RULE = BeliefRule(
    name="bounded_confidence",
    needs=frozenset({"exposures"}),
    unit="stance",
    ordered=False,
    bounded=True,
    params=Params,
    init=init,
    step=step,
)
