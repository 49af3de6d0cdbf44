"""Compiled sums of Equation 1 over blocks of agents, and what each change of a record contributed.

One call does a block, in parallel over agents. An agent's records are taken from left to right, by claim, so that the
log odds are exactly reproducible and depend on the active set alone, not on the way that led to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.beliefs.arrays import read_only
from townsquare.beliefs.contract import Float, Holdings
from townsquare.beliefs.equation import contribution, stance_at
from townsquare.core.schema import HoldingChange, Origin

SETTINGS = ("uptake", "anchoring", "confirmation", "prior_scale")
"""Columns of the table of settings that the kernels take, one row an agent or one for all."""

_UPTAKE, _ANCHORING, _CONFIRMATION, _SCALE = range(4)
_SEED = int(Origin.SEED)
_ARCHIVED, _REFUSED = int(HoldingChange.ARCHIVED), int(HoldingChange.REFUSED)


class Rows(NamedTuple):
    """The columns that kernels read: records (k,) by agent, and what happened to them (c,) by agent.

    ``strength`` is what each record counts with after the step, ``before`` what it counted with before.
    """

    indptr: npt.NDArray[np.int64]
    proposition: npt.NDArray[np.int16]
    polarity: npt.NDArray[np.int8]
    strength: Float
    before: Float
    origin: npt.NDArray[np.uint8]
    active: npt.NDArray[np.bool_]
    agreed: npt.NDArray[np.bool_]
    change_indptr: npt.NDArray[np.int64]
    change_record: npt.NDArray[np.int32]
    change_kind: npt.NDArray[np.uint8]


class Summed(NamedTuple):
    """What a kernel writes; all float64, in log odds but for the stance.

    ``log_odds`` and ``stance`` (n, P) after the step; ``change`` (c,) what each change of a record contributed,
    ``reweighed`` (k,) what each unchanged record contributed by counting for more or less than before, and ``clip``
    (n, P) what no row accounts for. The parts of an agent and proposition sum to its move.
    """

    log_odds: Float
    stance: Float
    change: Float
    reweighed: Float
    clip: Float


def rows_of(holdings: Holdings, strength: Float, before: Float) -> Rows:
    """What kernels read of the holdings, with the strengths as the rule weighs them."""
    records, changes = holdings.records, holdings.changes
    return Rows(
        read_only(records.indptr, np.int64),
        read_only(records.proposition, np.int16),
        read_only(records.polarity, np.int8),
        read_only(strength, np.float64),
        read_only(before, np.float64),
        read_only(records.origin, np.uint8),
        read_only(records.active, np.bool_),
        read_only(records.agreed, np.bool_),
        read_only(changes.indptr, np.int64),
        read_only(changes.record, np.int32),
        read_only(changes.kind, np.uint8),
    )


def room_for(rows: Rows, shape: tuple[int, int]) -> Summed:
    """Room for the results of a block of (n, P) beliefs, every part of the move 0."""
    return Summed(
        log_odds=np.empty(shape),
        stance=np.empty(shape),
        change=np.zeros(rows.change_record.shape[0]),
        reweighed=np.zeros(rows.strength.shape[0]),
        clip=np.zeros(shape),
    )


@nb.njit(cache=True, error_model="numpy")
def _amount(x: int, rows: Rows, strength: float, table: Float, setting: int) -> float:
    """What record ``x`` adds to the log odds while it is active."""
    if rows.origin[x] == _SEED:
        seed: float = table[setting, _SCALE] * contribution(rows.polarity[x], strength, table[setting, _ANCHORING])
        return seed
    asymmetry = table[setting, _CONFIRMATION]
    uptake = table[setting, _UPTAKE] * (1.0 + asymmetry if rows.agreed[x] else 1.0 - asymmetry)
    other: float = contribution(rows.polarity[x], strength, uptake)
    return other


@nb.njit(cache=True, error_model="numpy")
def _sum_agent(i: int, rows: Rows, prior: Float, old: Float, stance: Float, table: Float, out: Summed) -> None:
    setting = i % table.shape[0]
    for k in range(prior.shape[1]):
        out.log_odds[i, k] = prior[i, k]
    for x in range(rows.indptr[i], rows.indptr[i + 1]):
        if rows.active[x]:
            out.log_odds[i, rows.proposition[x]] += _amount(x, rows, rows.strength[x], table, setting)
    for k in range(prior.shape[1]):
        same = out.log_odds[i, k] == old[i, k]
        out.stance[i, k] = stance[i, k] if same else stance_at(out.log_odds[i, k])


@nb.njit(cache=True, error_model="numpy")
def _changed_in(rows: Rows, first: int, end: int, record: int) -> bool:
    """Whether one of the changes ``first`` to ``end`` is of this record."""
    found = False
    for c in range(first, end):
        found |= rows.change_record[c] == record
    return found


@nb.njit(cache=True, error_model="numpy")
def _explain_agent(i: int, rows: Rows, old: Float, table: Float, out: Summed) -> None:
    """What each change contributed; what rounding leaves over goes to the last row of its proposition."""
    setting, first, end = i % table.shape[0], rows.change_indptr[i], rows.change_indptr[i + 1]
    left = out.log_odds[i] - old[i]
    last = np.full(left.shape[0], -1)  # a change c as c, a record x as -2 - x
    for c in range(first, end):
        record = rows.change_record[c]
        x = rows.indptr[i] + record
        if rows.change_kind[c] == _REFUSED:
            continue
        if rows.change_kind[c] == _ARCHIVED:
            # Within one step a record can go, come back and go again: only at first it went as it was before.
            again = _changed_in(rows, first, c, record)
            out.change[c] = -_amount(x, rows, rows.strength[x] if again else rows.before[x], table, setting)
        else:
            out.change[c] = _amount(x, rows, rows.strength[x], table, setting)
        left[rows.proposition[x]] -= out.change[c]
        last[rows.proposition[x]] = c
    for x in range(rows.indptr[i], rows.indptr[i + 1]):
        weighs_other = rows.active[x] and rows.strength[x] != rows.before[x]
        if weighs_other and not _changed_in(rows, first, end, x - rows.indptr[i]):
            now = _amount(x, rows, rows.strength[x], table, setting)
            out.reweighed[x] = now - _amount(x, rows, rows.before[x], table, setting)
            left[rows.proposition[x]] -= out.reweighed[x]
            last[rows.proposition[x]] = -2 - x
    for k in range(left.shape[0]):
        if last[k] >= 0:
            out.change[last[k]] += left[k]
        elif last[k] < -1:
            out.reweighed[-2 - last[k]] += left[k]
        else:
            out.clip[i, k] = left[k]


@nb.njit(parallel=True, nogil=True, cache=True, error_model="numpy")
def sum_up(rows: Rows, prior: Float, old: Float, stance: Float, table: Float, out: Summed) -> None:
    """L = prior + Σ p ln(1 + s γ) over the active records of each agent, from left to right, and S = 2σ(L) − 1.

    Parameters
    ----------
    rows : Rows
        Of n agents; k records, c changes.
    prior, old, stance : (n, P) float64
        The prior that is no record; log odds and stance before the step.
    table : (n or 1, 4) float64
        Values of :data:`SETTINGS`.
    out : Summed
        Written.
    """
    for i in nb.prange(prior.shape[0]):
        _sum_agent(i, rows, prior, old, stance, table, out)
        _explain_agent(i, rows, old, table, out)
