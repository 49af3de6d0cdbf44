"""Any registered rule over rounds in which each person sees one number: what others answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from townsquare.beliefs.arrays import frozen_inputs, frozen_state
from townsquare.beliefs.contract import UNASKED, BeliefInputs, Exposed, no_holdings, no_own, per_agent, rows_of
from townsquare.core import registry
from townsquare.core.array_types import Float
from townsquare.core.draws import Draws, Stage


def after_rounds(
    rule: str, start: Float, shown: Sequence[Float], own: Mapping[str, Float] | None = None, now: Float | None = None
) -> Float:
    """Return stances after rounds, by the rule's own ``step``.

    Parameters
    ----------
    rule : str
        A registered rule that needs exposures alone.
    start : (n,) float64
        What each person knew by itself, in [-1, 1].
    shown : sequence of (n,) float64
        What each saw, round by round.
    own : mapping of str to (n,) float64
        Settings of the rule; others are at their defaults.
    now : (n,) float64, optional
        What each answers before the first of these rounds; default: ``start``.
    """
    member, n = registry.get("beliefs", rule), start.size
    params = per_agent(member.params(), n, {name: np.broadcast_to(value, (n,)) for name, value in (own or {}).items()})
    state = member.init(start[:, None], np.full((n, 1), UNASKED), params)
    if now is not None:
        state = replace(state, stance=now[:, None].copy())
    for at, seen in enumerate(shown):
        rows = rows_of(Exposed, np.arange(n + 1), post=np.arange(n), author=np.arange(n), stance=seen)
        inputs = frozen_inputs(BeliefInputs(at, rows, no_own(n, 1), no_holdings(n)))
        state, _ = member.step(frozen_state(state), inputs, params, Draws(0, at + 1)(Stage.BELIEF))
    return np.asarray(state.stance[:, 0])
