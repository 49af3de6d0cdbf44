"""The compiled part of ``credence``: how far a claim is believed, what an argument adds, what leaks away."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba as nb

from townsquare.beliefs.contract import Exposed
from townsquare.core.array_types import Float
from townsquare.core.enums import Verdict

_FALSE, _TRUE = int(Verdict.FALSE), int(Verdict.TRUE)
_CERTAIN = 1e-6
DAY = 24.0


class Attitudes(NamedTuple):
    """Attitudes of a block: log odds and their baseline (n, P), hours since they were brought up to date (n,).

    ``read`` (n, P, 2) are recent readings of arguments against and for, which fade within a day.
    """

    log_odds: Float
    baseline: Float
    hours: Float
    read: Float


class Step(NamedTuple):
    """Results: attitudes after the step, as in :class:`Attitudes`; stances (n, P); and the parts of the move.

    ``exposure``, ``trust`` and ``retracted`` (m,) are of rows, ``anchor`` (n, P) is what leaked away.
    """

    log_odds: Float
    hours: Float
    read: Float
    stance: Float
    exposure: Float
    trust: Float
    anchor: Float
    retracted: Float


class Marks(NamedTuple):
    """What a verdict and a community note add to the log odds of a claim."""

    verdict: float
    note: float


@nb.njit(inline="always", cache=True, error_model="numpy")
def prior_of(plausibility: float, suits: float, p: Any) -> float:
    """Return the log odds that a claim is true, to somebody who meets it; ``suits`` has the sign of own side times its.

    It is 0 where the reader or the claim takes no side.
    """
    within = min(max(plausibility, _CERTAIN), 1.0 - _CERTAIN)
    side = 0.0 if suits == 0.0 else math.copysign(0.5, suits)
    out: float = math.log(within / (1.0 - within)) + p.concord * side
    return out


@nb.njit(inline="always", cache=True, error_model="numpy")
def marks_of(verdict: int, noted: bool, heed: float, p: Any) -> Marks:
    """Return what a verdict and a note beside a claim add to its log odds, NaN where neither stands there.

    ``heed`` is the reader's lasting draw in [0, 1): who heeds "false" and notes also heeds "true". A note replaces the
    verdict "true". Beside the verdict "false", the stronger of the two counts, and each is given half of what they
    share. A verdict or note without strength is no evidence: as if it did not stand there.
    """
    out = Marks(math.nan, math.nan)
    if noted and p.note > 0.0:
        note = p.note if heed < p.heed_false else 0.0
        false = p.verdict if verdict == _FALSE and heed < p.heed_false else 0.0
        shared = 0.5 * min(note, false)
        out = Marks(shared - false, shared - note)
    elif verdict == _FALSE and p.verdict > 0.0:
        out = Marks(-p.verdict if heed < p.heed_false else 0.0, 0.0)
    elif verdict == _TRUE and p.verdict > 0.0:
        out = Marks(p.verdict if heed < p.heed_true else 0.0, 0.0)
    return out


@nb.njit(inline="always", cache=True, error_model="numpy")
def veracity(plausibility: float, suits: float, verdict: int, heed: float, p: Any) -> float:
    """Return the log odds of a claim at the first meeting, with a verdict beside it."""
    mark = marks_of(verdict, False, heed, p).verdict
    return prior_of(plausibility, suits, p) + (0.0 if math.isnan(mark) else mark)


@nb.njit(inline="always", cache=True, error_model="numpy")
def reliability_of(credibility: float, p: Any) -> float:
    """Return the weight of a source: ordinary for people, by credibility for others."""
    out: float = p.reliability if math.isnan(credibility) else min(1.0, 2.0 * p.reliability * credibility)
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


@nb.njit(cache=True, error_model="numpy")
def _group(i: int, first: int, stop: int, rows: Exposed, believed: Float, p: Any, out: Step) -> None:
    """Add the rows ``first`` to ``stop`` of one proposition to an agent's log odds."""
    k = rows.proposition[first]
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
                counts = 1.0 if math.isnan(believed[x]) else gate(believed[x], p)
                weight = reliability_of(rows.credibility[x], p) * counts * abs(rows.stance[x])
                size = 2.0 * math.atanh(min(weight, p.cap))
                out.exposure[x] = math.copysign(size, rows.stance[x]) * share * p.new
    total = out.log_odds[i, k]
    for x in range(first, stop):
        total += out.exposure[x]
    out.log_odds[i, k] = total


@nb.njit(inline="always", cache=True, error_model="numpy")
def left_after(days: float, p: Any) -> float:
    """Return how much of what exposures moved is left after some days."""
    out: float = 2.0 ** (-days / p.half_life)
    return out


@nb.njit(inline="always", cache=True, error_model="numpy")
def leaked(i: int, k: int, before: Attitudes, left: float) -> float:
    """Return what the log odds of agent ``i`` on proposition ``k`` lose where ``left`` of what was moved is left."""
    out: float = (before.log_odds[i, k] - before.baseline[i, k]) * (left - 1.0)
    return out


@nb.njit(inline="always", cache=True, error_model="numpy")
def leak(i: int, due: bool, before: Attitudes, since: float, p: Any, out: Step) -> None:
    """Bring the log odds and recent readings of agent ``i`` up to date after ``since`` hours, if that is due."""
    left = left_after(since / DAY, p) if due else 1.0
    fresh = math.exp(-since / DAY) if due else 1.0
    out.hours[i] = 0.0 if due else since
    for k in range(before.log_odds.shape[1]):
        lost = leaked(i, k, before, left)
        out.anchor[i, k], out.log_odds[i, k] = lost, before.log_odds[i, k] + lost
        for side in range(2):
            out.read[i, k, side] = before.read[i, k, side] * fresh


@nb.njit(cache=True, error_model="numpy")
def persuade(i: int, rows: Exposed, believed: Float, p: Any, out: Step) -> None:
    """Add the arguments shown to agent ``i`` to its log odds; ``believed`` (m,) is NaN for opinions."""
    first, stop = rows.indptr[i], rows.indptr[i + 1]
    while first < stop:
        end = first + 1
        while end < stop and rows.proposition[end] == rows.proposition[first]:
            end += 1
        _group(i, first, end, rows, believed, p, out)
        first = end
