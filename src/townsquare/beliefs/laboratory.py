"""The shipped rules in the settings of experiments: verdicts on claims, repetition, numbers in rounds, arguments read.

A rule that needs exposures is applied by its own ``step``; verdicts and repetition are those of ``credence``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from townsquare.beliefs.arrays import frozen_inputs, frozen_state, settings
from townsquare.beliefs.contract import (
    UNASKED,
    AgentParams,
    BeliefInputs,
    BeliefRule,
    BeliefState,
    Exposed,
    no_contents,
    no_holdings,
    no_own,
    per_agent,
    rows_of,
)
from townsquare.beliefs.credence import Params
from townsquare.beliefs.credence_kernels import veracity
from townsquare.beliefs.equation import stances_of
from townsquare.core import registry
from townsquare.core.array_types import Float, Int64
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import Verdict

RULE = Params()
_SETTINGS = settings(per_agent(RULE, 1), tuple(Params.model_fields), 1)[0]
_SHOWN = {-1.0: int(Verdict.FALSE), 0.0: int(Verdict.NONE), 1.0: int(Verdict.TRUE)}


def share_of(before: float, suits: float = 0.0, sign: float = 0.0, heed: float = 1.0, shift: float = 0.0) -> float:
    """Return the share who believe a claim by ``credence``, for the share ``before`` anything is known of it.

    ``suits`` and ``sign`` are -1, 0 or 1: own side or the other, and the verdict; who heeds a verdict has a ``heed`` of
    0, others 1; ``shift`` in log odds is added.
    """
    return float(0.5 + 0.5 * stances_of(veracity(before, suits, _SHOWN[sign], heed, _SETTINGS) + shift))


def believed(before: float, sign: float, heed: float, shift: float = 0.0) -> float:
    """Return the share who believe with a verdict: a mixture of people who heed it and people who do not.

    >>> round(believed(0.32, -1.0, RULE.heed_false), 3), round(believed(0.69, 1.0, RULE.heed_true), 3)
    (0.222, 0.892)
    """
    return (1.0 - heed) * share_of(before, shift=shift) + heed * share_of(before, sign=sign, heed=0.0, shift=shift)


def familiarity(days: float | Float, size: float | Float = RULE.familiar) -> Float:
    """Return the log odds that one reading so many days ago adds: logarithmic in what is left of its trace.

    >>> familiarity(np.array([0.0, 7.0])).round(3).tolist()
    [0.55, 0.224]
    """
    fast, slow = np.exp(np.divide(days, -RULE.fast_days)), np.exp(np.divide(days, -RULE.slow_days))
    left = RULE.fast_share * fast + (1.0 - RULE.fast_share) * slow
    return np.asarray(size * np.log2(1.0 + left))


def after_rounds(
    rule: str,
    start: Float,
    shown: Sequence[Float],
    own: Mapping[str, float | Float] | None = None,
    now: Float | None = None,
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
    own : mapping of str to float or (n,) float64
        Settings of the rule; others are at their defaults.
    now : (n,) float64, optional
        What each answers before the first of these rounds; default: ``start``.
    """
    n = start.size
    member, params = _rule(rule, n, own or {})
    state = member.init(start[:, None], np.full((n, 1), UNASKED), params)
    if now is not None:
        state = replace(state, stance=now[:, None].copy())
    for at, seen in enumerate(shown):
        state = _step(member, state, np.arange(n + 1), seen, params, at)
    return np.asarray(state.stance[:, 0])


def after_reading(rule: str, start: Float, indptr: Int64, shown: Float, own: Mapping[str, float | Float]) -> Float:
    """Return stances of people who read messages in one sitting: all in one step, by the rule's own ``step``.

    Parameters
    ----------
    rule : str
        A registered rule that needs exposures, and nothing of their authors.
    start : (n,) float64
        Stances before.
    indptr : (n + 1,) int64
        Messages of each, a CSR.
    shown : (m,) float64
        Side of each message times its strength, in [-1, 1].
    own : mapping of str to float or (n,) float64
        Settings of the rule; others are at their defaults.
    """
    n = start.size
    member, params = _rule(rule, n, own)
    state = member.init(start[:, None], np.full((n, 1), UNASKED), params)
    return np.asarray(_step(member, state, indptr, shown, params, 0).stance[:, 0])


def _rule(rule: str, n: int, own: Mapping[str, float | Float]) -> tuple[BeliefRule, AgentParams]:
    member = registry.get("beliefs", rule)
    return member, per_agent(member.params(), n, {name: np.broadcast_to(value, (n,)) for name, value in own.items()})


def _step(
    member: BeliefRule, state: BeliefState, indptr: Int64, shown: Float, params: AgentParams, at: int
) -> BeliefState:
    m, n = shown.size, indptr.size - 1
    row = np.arange(m)
    rows = rows_of(Exposed, indptr, post=row, author=row, stance=shown, credibility=np.nan, first_seen=True, weight=1.0)
    inputs = BeliefInputs(at, rows, no_own(n, 1), no_holdings(n), contents=no_contents(m))
    draws = Draws(0, at + 1)(Stage.BELIEF)
    after, _ = member.step(frozen_state(state), frozen_inputs(inputs), params, draws)
    return after
