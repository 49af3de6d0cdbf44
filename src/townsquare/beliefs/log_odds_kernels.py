"""Compiled sums of Equation 1, and the contribution of each change of a record.

One call does a part of the agents of a block. An agent's records are taken from left to right, by claim, so that the
log odds are exactly reproducible and depend on the active set alone, not on the way that led to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from townsquare.beliefs.arrays import AgentSettings, Table
from townsquare.beliefs.contract import Changes, Records, Replayed
from townsquare.beliefs.equation import contribution, log_odds_at, stance_at
from townsquare.core.array_types import Float
from townsquare.core.enums import HoldingChange, Origin
from townsquare.core.threads import Part

SETTINGS = ("uptake", "anchoring", "confirmation", "prior_scale")
"""Fields of a record of settings ``p`` that the kernels read."""

_SEED, _PEER = int(Origin.SEED), int(Origin.PEER)
_ARCHIVED, _REFUSED = int(HoldingChange.ARCHIVED), int(HoldingChange.REFUSED)
_ROUNDING = 1e-9
"""More than sums of records are off by; what is more is the effect of a changed setting."""


class Weighed(NamedTuple):
    """Strength of each record (k,): ``strength`` after the step, ``before`` until this step."""

    strength: Float
    before: Float


class Summed(NamedTuple):
    """Output of a kernel; all float64, in log odds but for the stance.

    ``log_odds`` and ``stance`` (n, P) after the step; ``change`` (c,) what each change of a record contributed,
    ``reweighed`` (k,) what each unchanged record contributed by counting for more or less than before, and ``clip``
    (n, P) what no row accounts for. The parts of an agent and proposition sum to its move.
    """

    log_odds: Float
    stance: Float
    change: Float
    reweighed: Float
    clip: Float


@nb.njit(cache=True, error_model="numpy")
def amount(p: AgentSettings, polarity: int, strength: float, origin: int, agreed: bool) -> float:
    """Return what an active record adds to the log odds: Equation 1, with γ by origin and agreement."""
    if origin == _SEED:
        seed: float = p.prior_scale * contribution(polarity, strength, p.anchoring)
        return seed
    uptake = p.uptake * (1.0 + p.confirmation if agreed else 1.0 - p.confirmation)
    other: float = contribution(polarity, strength, uptake)
    return other


@nb.njit(cache=True, error_model="numpy")
def _amount_of(x: int, rows: Records, strength: float, p: AgentSettings) -> float:
    added: float = amount(p, rows.polarity[x], strength, rows.origin[x], rows.agreed[x])
    return added


@nb.njit(cache=True, error_model="numpy")
def _sum_agent(
    i: int, rows: Records, strength: Float, prior: Float, old: Float, stance: Float, p: AgentSettings, out: Summed
) -> None:
    for k in range(prior.shape[1]):
        out.log_odds[i, k] = prior[i, k]
    for x in range(rows.indptr[i], rows.indptr[i + 1]):
        if rows.active[x]:
            out.log_odds[i, rows.proposition[x]] += _amount_of(x, rows, strength[x], p)
    for k in range(prior.shape[1]):
        same = out.log_odds[i, k] == old[i, k]
        out.stance[i, k] = stance[i, k] if same else stance_at(out.log_odds[i, k])


@nb.njit(cache=True, error_model="numpy")
def _changed_in(changes: Changes, first: int, end: int, record: int) -> bool:
    """Return whether one of the changes ``first`` to ``end`` is of this record."""
    changed = False
    for c in range(first, end):
        changed |= changes.record[c] == record
    return changed


@nb.njit(cache=True, error_model="numpy")
def _explain_agent(
    i: int, rows: Records, changes: Changes, weighed: Weighed, old: Float, p: AgentSettings, out: Summed
) -> None:
    """Write each change's contribution; the last row of a proposition absorbs rounding, a clip a changed setting."""
    first, end = changes.indptr[i], changes.indptr[i + 1]
    left = out.log_odds[i] - old[i]
    last = np.full(left.shape[0], -1)  # a change c as c, a record x as -2 - x
    for c in range(first, end):
        record = changes.record[c]
        x = rows.indptr[i] + record
        if changes.kind[c] == _REFUSED:
            continue
        if changes.kind[c] == _ARCHIVED:
            # Within one step a record can go, come back and go again: only at first it went as it was before.
            again = _changed_in(changes, first, c, record)
            out.change[c] = -_amount_of(x, rows, weighed.strength[x] if again else weighed.before[x], p)
        else:
            out.change[c] = _amount_of(x, rows, weighed.strength[x], p)
        left[rows.proposition[x]] -= out.change[c]
        last[rows.proposition[x]] = c
    for x in range(rows.indptr[i], rows.indptr[i + 1]):
        weighs_other = rows.active[x] and weighed.strength[x] != weighed.before[x]
        if weighs_other and not _changed_in(changes, first, end, x - rows.indptr[i]):
            now = _amount_of(x, rows, weighed.strength[x], p)
            out.reweighed[x] = now - _amount_of(x, rows, weighed.before[x], p)
            left[rows.proposition[x]] -= out.reweighed[x]
            last[rows.proposition[x]] = -2 - x
    for k in range(left.shape[0]):
        if last[k] == -1 or abs(left[k]) > _ROUNDING:
            out.clip[i, k] = left[k]
        elif last[k] >= 0:
            out.change[last[k]] += left[k]
        else:
            out.reweighed[-2 - last[k]] += left[k]


@nb.njit(nogil=True, cache=True, error_model="numpy")
def sum_up(
    part: Part, rows: Records, changes: Changes, weighed: Weighed, prior: Float, old: Float, stance: Float,
    table: Table, out: Summed,
) -> None:  # fmt: skip
    """Sum L = prior + Σ p ln(1 + s γ) over each agent's active records, left to right, and S = 2σ(L) − 1.

    Parameters
    ----------
    rows, changes, weighed
        Of n agents; k records, c changes.
    prior, old, stance : (n, P) float64
        The prior that is no record; log odds and stance before the step.
    table : (n or 1,) records
        Values of :data:`SETTINGS`.
    out : Summed
        Written.
    """
    for i in range(part.start, part.stop):
        p = table[i % table.shape[0]]
        _sum_agent(i, rows, weighed.strength, prior, old, stance, p, out)
        _explain_agent(i, rows, changes, weighed, old, p, out)


@nb.njit(nogil=True, cache=True, error_model="numpy")
def replay_log_odds(part: Part, rows: Replayed, cells: Table, out: Float) -> None:
    """Write where each person ends; ``cells`` (X, Y) differ in uptake along X and in anchoring along Y alone."""
    # Evidence and prior are sums of their own, so that a grid of U x A cells costs U sums and one logistic a cell.
    for i in range(part.start, part.stop):
        for j in range(out.shape[1]):
            evidence = 0.0
            for x in range(rows.indptr[i], rows.indptr[i + 1]):
                evidence += rows.sign[x] * amount(cells[j, 0], int(rows.polarity[x]), rows.strength[x], _PEER, False)
            for k in range(out.shape[2]):
                p = cells[j, k]
                out[i, j, k] = stance_at(log_odds_at(rows.initial[i], p.anchoring, p.stance_margin) + evidence)
