"""The compiled part of ``credence``: how far a claim is believed, what an argument adds, what leaks away."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba as nb

from townsquare.beliefs.arrays import Table
from townsquare.beliefs.contract import Contents, Exposed
from townsquare.beliefs.equation import stance_at
from townsquare.core.array_types import Float
from townsquare.core.enums import Verdict

_FALSE, _TRUE = int(Verdict.FALSE), int(Verdict.TRUE)
_CERTAIN = 1e-6
DAY = 24.0


class Held(NamedTuple):
    """What a block holds: log odds and their baseline (n, P), hours since they were brought up to date (n,).

    ``read`` (n, P, 2) are recent readings of arguments against and for, which fade within a day.
    """

    log_odds: Float
    baseline: Float
    hours: Float
    read: Float


class Step(NamedTuple):
    """Results: what is held afterwards, as in :class:`Held`; stances (n, P); and the parts of the move.

    ``exposure`` and ``trust`` (m,) are of rows, ``anchor`` (n, P) is what leaked away.
    """

    log_odds: Float
    hours: Float
    read: Float
    stance: Float
    exposure: Float
    trust: Float
    anchor: Float


@nb.njit(inline="always", cache=True, error_model="numpy")
def veracity(plausibility: float, suits: float, verdict: int, noted: bool, heed: float, p: Any) -> float:
    """Return the log odds that somebody gives a claim of being true, with the label that is shown beside it.

    ``suits`` is 1 where the claim suits the reader's side, -1 where it does not, 0 for no side. ``heed`` is the
    reader's lasting draw in [0, 1): who heeds "false" also heeds "true". A note counts as the verdict "false".
    """
    within = min(max(plausibility, _CERTAIN), 1.0 - _CERTAIN)
    out: float = math.log(within / (1.0 - within)) + p.concord * suits / 2.0
    if verdict == _FALSE or noted:
        out -= p.verdict if heed < p.heed_false else 0.0
    elif verdict == _TRUE:
        out += p.verdict if heed < p.heed_true else 0.0
    return out


@nb.njit(inline="always", cache=True, error_model="numpy")
def gate(log_odds: float, p: Any) -> float:
    """Return how far a claim counts as evidence: its credence over that of an ordinary true one, at most 1."""
    counts: float = min(1.0, 1.0 / (1.0 + math.exp(-log_odds)) / p.credence)
    return counts


@nb.njit(inline="always", cache=True, error_model="numpy")
def independent(n: float, overlap: float) -> float:
    """Return how many independent witnesses ``n`` correlated ones are worth: at most 1/overlap."""
    return n / (1.0 + (n - 1.0) * overlap) if n > 1.0 else n


@nb.njit(inline="always", cache=True, error_model="numpy")
def _amount(stance: float, own: float, x: int, rows: Exposed, said: Contents, heed: float, p: Any) -> float:
    """Return the log odds of one argument that is read and new, without its witnesses."""
    credibility = rows.credibility[x]
    reliability = p.reliability if math.isnan(credibility) else min(1.0, 2.0 * p.reliability * credibility)
    if not math.isnan(said.plausibility[x]):
        suits = 0.0 if own == 0.0 or stance == 0.0 else math.copysign(1.0, own * stance)
        believed = veracity(said.plausibility[x], suits, said.verdict[x], said.noted[x], heed, p)
        reliability *= gate(believed, p)
    return math.copysign(2.0 * math.atanh(min(reliability * abs(stance), p.cap)), stance)


@nb.njit(cache=True, error_model="numpy")
def _group(i: int, first: int, stop: int, rows: Exposed, said: Contents, heed: float, p: Any, out: Step) -> None:
    """Add the rows ``first`` to ``stop`` of one proposition to an agent's log odds."""
    k = rows.proposition[first]
    own = out.log_odds[i, k]
    for side in range(2):
        new = 0
        for x in range(first, stop):
            new += rows.first_seen[x] and rows.weight[x] > 0.0 and (rows.stance[x] > 0.0) == (side == 1)
        if new == 0:
            continue
        before = out.read[i, k, side]
        after = before + p.attention * new
        share = (independent(after, p.overlap) - independent(before, p.overlap)) / new
        out.read[i, k, side] = after
        for x in range(first, stop):
            if rows.first_seen[x] and rows.weight[x] > 0.0 and (rows.stance[x] > 0.0) == (side == 1):
                out.exposure[x] = _amount(rows.stance[x], own, x, rows, said, heed, p) * share * p.new
    total = out.log_odds[i, k]
    for x in range(first, stop):
        total += out.exposure[x]
    out.log_odds[i, k] = total


@nb.njit(cache=True, error_model="numpy")
def _agent(i: int, rows: Exposed, said: Contents, held: Held, hours: float, heed: float, p: Any, out: Step) -> None:
    since = held.hours[i] + hours
    first, stop = rows.indptr[i], rows.indptr[i + 1]
    due = stop > first or since >= DAY - 1e-9
    out.hours[i] = 0.0 if due else since
    left, fresh = 1.0, 1.0
    if due:
        left, fresh = 2.0 ** (-since / (DAY * p.half_life)), math.exp(-since / DAY)
    for k in range(held.log_odds.shape[1]):
        lost = (held.log_odds[i, k] - held.baseline[i, k]) * (left - 1.0)
        out.anchor[i, k], out.log_odds[i, k] = lost, held.log_odds[i, k] + lost
        for side in range(2):
            out.read[i, k, side] = held.read[i, k, side] * fresh
    while first < stop:
        end = first + 1
        while end < stop and rows.proposition[end] == rows.proposition[first]:
            end += 1
        _group(i, first, end, rows, said, heed, p, out)
        first = end
    for k in range(held.log_odds.shape[1]):
        out.stance[i, k] = stance_at(out.log_odds[i, k])


@nb.njit(parallel=True, nogil=True, cache=True, error_model="numpy")
def credence_step(
    rows: Exposed, said: Contents, held: Held, hours: float, heed: Float, table: Table, out: Step
) -> None:
    """Take a step of ``hours`` for every agent of a block; ``heed`` (n,) are lasting draws, ``table`` settings."""
    for i in nb.prange(held.hours.shape[0]):
        _agent(i, rows, said, held, hours, heed[i], table[i % table.shape[0]], out)
