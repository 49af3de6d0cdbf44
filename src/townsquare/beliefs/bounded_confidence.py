"""``bounded_confidence``: agents respond only to stances close to their own.

Source: Hegselmann and Krause (2002), "Opinion dynamics and bounded confidence", JASSS 5(3): the mean of all within a
tolerance; Deffuant, Neau, Amblard and Weisbuch (2000), "Mixing beliefs among interacting agents", Adv. Complex Syst.
3:87: only a share of the gap is closed. The defaults are Deffuant's share of 0.5 and a tolerance of 0.4, which is their
0.2 on stances from 0 to 1 and lies near the border between one camp and several.
"""

from __future__ import annotations

import numba as nb

from townsquare.beliefs.arrays import AgentSettings, Beliefs, Moved, Table
from townsquare.beliefs.contract import (
    AgentParams,
    BeliefInputs,
    BeliefRule,
    BeliefState,
    Exposed,
    Replay,
    Replayed,
    Trail,
    start_as_given,
)
from townsquare.beliefs.grids import DISTANCES, UPTAKE
from townsquare.beliefs.move_kernels import clipped, settled
from townsquare.beliefs.trail import step_by
from townsquare.core.array_types import Float
from townsquare.core.draws import StageDraws
from townsquare.core.threads import Part
from townsquare.settings.config import ASSUMED, MemberParams, Share, setting

NEEDS, SETTINGS = frozenset({"exposures"}), ("tolerance", "convergence")


class Params(MemberParams):
    """Tolerance and rate of convergence."""

    convergence: Share = setting(
        0.5, "share of the gap to the mean of the stances within `tolerance` that is closed (mu)", grid=UPTAKE,
        symbol="mu", basis="published: Deffuant and others 2000",
    )  # fmt: skip
    tolerance: float = setting(
        0.4, "maximum distance from the own stance of stances that count (epsilon)", ge=0, le=2, grid=DISTANCES,
        symbol="eps", basis=ASSUMED,
    )  # fmt: skip


@nb.njit(cache=True, error_model="numpy")
def is_near(p: AgentSettings, before: float, shown: float) -> bool:
    """Return whether an agent with a stance of ``before`` listens to a row."""
    near: bool = abs(shown - before) <= p.tolerance
    return near


@nb.njit(cache=True, error_model="numpy")
def followed(p: AgentSettings, before: float, shown: float, label: float, n_near: int) -> float:
    """Return what one of ``n_near`` rows that the agent listens to adds to a stance of ``before``."""
    gain: float = p.convergence * label * (shown - before) / n_near
    return gain


@nb.njit(cache=True, error_model="numpy")
def _listen_agent(i: int, p: AgentSettings, rows: Exposed, beliefs: Beliefs, moved: Moved) -> None:
    at = rows.indptr[i]
    for k in range(beliefs.stance.shape[1]):
        first, before, n_near = at, beliefs.stance[i, k], 0
        while at < rows.indptr[i + 1] and rows.proposition[at] == k:
            n_near += is_near(p, before, rows.stance[at])
            at += 1
        low = high = before
        delta = 0.0
        for x in range(first, at):
            if is_near(p, before, rows.stance[x]):
                moved.exposure[x] = followed(p, before, rows.stance[x], rows.weight[x], n_near)
                delta += moved.exposure[x]
                if rows.weight[x] > 0.0:
                    low, high = min(low, rows.stance[x]), max(high, rows.stance[x])
        # Rounding alone can leave the hull; the clip row says so.
        moved.stance[i, k], moved.clip[i, k] = settled(before, delta, low, high)


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _listen(part: Part, rows: Exposed, beliefs: Beliefs, table: Table, moved: Moved) -> None:
    """Write stance, exposure and clip; ``table`` (n or 1,) holds :data:`SETTINGS`."""
    for i in range(part.start, part.stop):
        _listen_agent(i, table[i % table.shape[0]], rows, beliefs, moved)


@nb.njit(nogil=True, cache=True, error_model="numpy")
def _replay(part: Part, rows: Replayed, cells: Table, out: Float) -> None:
    for i in range(part.start, part.stop):
        for j in range(out.shape[1]):
            for k in range(out.shape[2]):
                p, stance = cells[j, k], rows.initial[i]
                for x in range(rows.indptr[i], rows.indptr[i + 1]):
                    if rows.sign[x] > 0.0 and is_near(p, stance, rows.shown[x]):
                        stance += followed(p, stance, rows.shown[x], 1.0, 1)
                out[i, j, k] = clipped(stance, -1.0, 1.0)  # rounding alone can leave the range


def step(state: BeliefState, inputs: BeliefInputs, params: AgentParams, rng: StageDraws) -> tuple[BeliefState, Trail]:
    """Add mu·Σ weight·(s − S)/c to S, over the c rows within epsilon of S; confidence stays."""
    return step_by(_listen, SETTINGS, state, inputs, params)


_REPLAY = Replay(_replay, SETTINGS)
RULE = BeliefRule("bounded_confidence", NEEDS, Params, start_as_given, step, bounded=True, abrupt=True, replay=_REPLAY)
