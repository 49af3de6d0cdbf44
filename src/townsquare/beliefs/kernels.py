"""Compiled steps of the two exposure rules (``seeds: simswarm-belief-formulation``, sections 1 to 5; DESIGN §2).

One call does a block of agents, in parallel over agents. An agent's rows are taken from left to right: first every
move is made from the stance and the trust that stood at the start of the step, then trust learns, row by row. The
symbols are those of ``docs/belief-rules.md``: S the stance, s that of a post, w the weight of a row.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.beliefs.arrays import Held, Moved, Shown, Written
from townsquare.beliefs.contract import Float

Slots = npt.NDArray[np.int64]

SETTINGS = (
    "novelty_new",
    "novelty_repeat",
    "social_proof_floor",
    "social_proof_per_like",
    "resistance_floor",
    "resistance_slope",
    "pull",
    "trust_rate",
    "confidence_per_like",
    "confidence_per_dislike",
    "anchor",
    "own_pull",
)
"""Columns of the table of settings that the kernels take, one row an agent or one for all."""

_NEW, _REPEAT, _PROOF, _PER_LIKE, _RESIST, _SLOPE, _PULL, _RATE, _LIKED, _DISLIKED, _ANCHOR, _OWN = range(12)


@nb.njit(cache=True, error_model="numpy")
def _clip(value: float, low: float, high: float) -> float:
    # Comparisons, not min and max, whose result for NaN depends on the order of the arguments.
    if value < low:
        return low
    if value > high:
        return high
    return value


@nb.njit(cache=True, error_model="numpy")
def _run_end(proposition: npt.NDArray[np.int16], at: int, end: int, k: int) -> int:
    """Where the run of rows of proposition ``k`` that begins at ``at`` ends."""
    while at < end and proposition[at] == k:
        at += 1
    return at


@nb.njit(cache=True, error_model="numpy")
def _influence(setting: Float, trust: float, likes: int, first_seen: bool, resistance: float) -> float:
    # The page's order of operations, so that results are equal to the last bit.
    social_proof = setting[_PROOF] + likes * setting[_PER_LIKE]
    novelty = setting[_NEW] if first_seen else setting[_REPEAT]
    influence: float = trust * social_proof * novelty / resistance
    return influence


@nb.njit(cache=True, error_model="numpy")
def _trust_and_confidence(
    i: int, setting: Float, rows: Shown, own: Written, held: Held, slot: Slots, trust: Float, moved: Moved
) -> None:
    """Trust steps toward agreement with the stance that resulted; confidence follows own likes and dislikes."""
    for x in range(rows.indptr[i], rows.indptr[i + 1]):
        apart = abs(rows.stance[x] - moved.stance[i, rows.proposition[x]])
        stepped = trust[slot[x]] + ((1.0 - apart / 2.0) - 0.5) * setting[_RATE]
        trust[slot[x]] = _clip(stepped, 0.0, 1.0)
    for k in range(held.stance.shape[1]):
        gain = own.likes[i, k] * setting[_LIKED] - own.dislikes[i, k] * setting[_DISLIKED]
        moved.confidence[i, k] = _clip(held.confidence[i, k] + gain, 0.0, 1.0)


@nb.njit(cache=True, error_model="numpy")
def _anchored(i: int, k: int, setting: Float, held: Held, moved: Moved) -> float:
    if setting[_ANCHOR] != 0.0:
        moved.anchor[i, k] = setting[_ANCHOR] * (held.start[i, k] - held.stance[i, k])
    part: float = moved.anchor[i, k]
    return part


@nb.njit(cache=True, error_model="numpy")
def _finish(i: int, k: int, before: float, delta: float, low: float, high: float, moved: Moved) -> None:
    """Keep the stance within [low, high] and put what that took off into the clip."""
    free = before + delta
    after = _clip(free, low, high)
    moved.stance[i, k] = after
    if after != free:
        moved.clip[i, k] = (after - before) - delta


@nb.njit(cache=True, error_model="numpy")
def _exact_agent(
    i: int, setting: Float, rows: Shown, own: Written, held: Held, slot: Slots, trust: Float, moved: Moved
) -> None:
    at, wrote = rows.indptr[i], own.indptr[i]
    for k in range(held.stance.shape[1]):
        end = _run_end(rows.proposition, at, rows.indptr[i + 1], k)
        wrote_end = _run_end(own.proposition, wrote, own.indptr[i + 1], k)
        before = held.stance[i, k]
        resistance = setting[_RESIST] + held.confidence[i, k] * setting[_SLOPE]
        delta = 0.0
        for x in range(at, end):
            moved.trust[x] = trust[slot[x]]
            influence = _influence(setting, moved.trust[x], rows.likes[x], rows.first_seen[x], resistance)
            moved.exposure[x] = (rows.stance[x] - before) * influence * setting[_PULL] * rows.weight[x]
            delta += moved.exposure[x]
        if setting[_OWN] != 0.0:
            for x in range(wrote, wrote_end):
                moved.own[x] = setting[_OWN] * (own.stance[x] - before)
                delta += moved.own[x]
        delta += _anchored(i, k, setting, held, moved)
        _finish(i, k, before, delta, -1.0, 1.0, moved)
        at, wrote = end, wrote_end


@nb.njit(parallel=True, cache=True, error_model="numpy")
def exact_step(rows: Shown, own: Written, held: Held, slot: Slots, table: Float, trust: Float, moved: Moved) -> None:
    """The SimSwarm page: gains are summed and clipped once.

    Parameters
    ----------
    rows, own, held
        The inputs and the state; n agents, P propositions, m rows.
    slot : (m,) int64
        Where each row's author stands in ``trust``; no two agents share a place.
    table : (n or 1, 12) float64
        Values of :data:`SETTINGS`.
    trust : float64
        Stepped in place.
    moved : Moved
        Written: stance, confidence and the parts of the move.
    """
    for i in nb.prange(held.stance.shape[0]):
        setting = table[i % table.shape[0]]
        _exact_agent(i, setting, rows, own, held, slot, trust, moved)
        _trust_and_confidence(i, setting, rows, own, held, slot, trust, moved)


@nb.njit(cache=True, error_model="numpy")
def _bounded_agent(
    i: int, setting: Float, rows: Shown, own: Written, held: Held, slot: Slots, trust: Float, moved: Moved
) -> None:
    at, wrote = rows.indptr[i], own.indptr[i]
    for k in range(held.stance.shape[1]):
        end = _run_end(rows.proposition, at, rows.indptr[i + 1], k)
        wrote_end = _run_end(own.proposition, wrote, own.indptr[i + 1], k)
        before = held.stance[i, k]
        low = high = before
        resistance = setting[_RESIST] + held.confidence[i, k] * setting[_SLOPE]
        total = 0.0
        for x in range(at, end):
            moved.trust[x] = trust[slot[x]]
            influence = _influence(setting, moved.trust[x], rows.likes[x], rows.first_seen[x], resistance)
            moved.exposure[x] = influence * setting[_PULL] * rows.weight[x]
            total += moved.exposure[x]
            if moved.exposure[x] > 0.0:
                low, high = min(low, rows.stance[x]), max(high, rows.stance[x])
        if setting[_OWN] != 0.0:
            for x in range(wrote, wrote_end):
                total += setting[_OWN]
                low, high = min(low, own.stance[x]), max(high, own.stance[x])
        share = 1.0 if total == 0.0 else -math.expm1(-total) / total
        delta = 0.0
        for x in range(at, end):
            moved.exposure[x] = moved.exposure[x] * share * (rows.stance[x] - before)
            delta += moved.exposure[x]
        if setting[_OWN] != 0.0:
            for x in range(wrote, wrote_end):
                moved.own[x] = setting[_OWN] * share * (own.stance[x] - before)
                delta += moved.own[x]
        if setting[_ANCHOR] != 0.0:
            low, high = min(low, held.start[i, k]), max(high, held.start[i, k])
        delta += _anchored(i, k, setting, held, moved)
        _finish(i, k, before, delta, low, high, moved)
        at, wrote = end, wrote_end


@nb.njit(parallel=True, cache=True, error_model="numpy")
def bounded_step(rows: Shown, own: Written, held: Held, slot: Slots, table: Float, trust: Float, moved: Moved) -> None:
    """The same weights, but together they close at most the share 1 − exp(−W) of the gap, W being their sum.

    Parameters are those of :func:`exact_step`. The stance is kept in the hull of itself, of what moved it, and of the
    start if there is an anchor.
    """
    for i in nb.prange(held.stance.shape[0]):
        setting = table[i % table.shape[0]]
        _bounded_agent(i, setting, rows, own, held, slot, trust, moved)
        _trust_and_confidence(i, setting, rows, own, held, slot, trust, moved)
