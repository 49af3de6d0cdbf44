"""The compiled step of the two exposure rules (seeds, ``simswarm-belief-formulation``, sections 1 to 5).

One call does a block of agents, in parallel over agents. An agent's rows are taken from left to right: first every
move is made from the stance and the trust that stood at the start of the step, then trust learns, row by row.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.beliefs.arrays import Held, Moved, Shown, Written
from townsquare.beliefs.contract import Float

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
"""Columns of the table of settings that the kernel takes, one row an agent or one for all."""

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
def learned(trust: float, shown: float, stance: float, rate: float) -> float:
    """Trust in [0, 1] after a row that showed ``shown`` to an agent whose stance came to be ``stance``, both [-1, 1].

    Full agreement adds half of ``rate``, full disagreement takes as much.

    >>> learned(0.5, 1.0, 1.0, 0.05), learned(0.5, 1.0, -1.0, 0.05)
    (0.525, 0.475)
    """
    apart = abs(shown - stance)
    return _clip(trust + ((1.0 - apart / 2.0) - 0.5) * rate, 0.0, 1.0)


@nb.njit(parallel=True, nogil=True, cache=True, error_model="numpy")
def exposure_step(
    rows: Shown,
    own: Written,
    held: Held,
    slot: npt.NDArray[np.int64],
    table: Float,
    trust: Float,
    moved: Moved,
    bounded: bool,
) -> None:
    """Move n agents with P propositions and m rows: ``trust`` is stepped in place, ``moved`` is written.

    ``slot`` (m,) says where each row's author stands in ``trust``; no two agents share a place. ``table`` (n or 1, 12)
    holds :data:`SETTINGS`. Gains are summed and clipped to [-1, 1]; if ``bounded``, they are first scaled by
    (1 − e^(−W))/W, W being the sum of the weights, and clipped to the hull of the stance and of what moved it.
    """
    # One long body: a compiled call with whole arrays costs as much as five rows, and a tuple's fields cannot be
    # written to inside the loop (see townsquare.beliefs.arrays).
    indptr, proposition, shown, likes, first_seen, label = rows
    own_indptr, own_proposition, own_stance, own_likes, own_dislikes = own
    stance, confidence, start = held
    new_stance, new_confidence, exposure, read, own_part, anchor_part, clip_part = moved
    for i in nb.prange(stance.shape[0]):
        s = i % table.shape[0]
        at, wrote = indptr[i], own_indptr[i]
        for k in range(stance.shape[1]):
            first, first_own, before = at, wrote, stance[i, k]
            low = high = before
            resistance = table[s, _RESIST] + confidence[i, k] * table[s, _SLOPE]
            delta, total, share = 0.0, 0.0, 1.0
            while at < indptr[i + 1] and proposition[at] == k:
                # The page's order of operations, so that the exact rule is equal to it to the last bit.
                read[at] = trust[slot[at]]
                social_proof = table[s, _PROOF] + likes[at] * table[s, _PER_LIKE]
                novelty = table[s, _NEW] if first_seen[at] else table[s, _REPEAT]
                influence = read[at] * social_proof * novelty / resistance
                exposure[at] = (shown[at] - before) * influence * table[s, _PULL] * label[at]
                delta += exposure[at]
                weight = influence * table[s, _PULL] * label[at]
                total += weight
                if weight > 0.0:
                    low, high = min(low, shown[at]), max(high, shown[at])
                at += 1
            while wrote < own_indptr[i + 1] and own_proposition[wrote] == k:
                if table[s, _OWN] > 0.0:
                    own_part[wrote] = table[s, _OWN] * (own_stance[wrote] - before)
                    delta += own_part[wrote]
                    total += table[s, _OWN]
                    low, high = min(low, own_stance[wrote]), max(high, own_stance[wrote])
                wrote += 1
            if bounded and total > 0.0:
                share, delta = -math.expm1(-total) / total, 0.0
                for x in range(first, at):
                    exposure[x] *= share
                    delta += exposure[x]
                for x in range(first_own, wrote):
                    own_part[x] *= share
                    delta += own_part[x]
            if table[s, _ANCHOR] > 0.0:
                anchor_part[i, k] = table[s, _ANCHOR] * (start[i, k] - before)
                delta += anchor_part[i, k]
                low, high = min(low, start[i, k]), max(high, start[i, k])
            free = before + delta
            new_stance[i, k] = _clip(free, low, high) if bounded else _clip(free, -1.0, 1.0)
            if new_stance[i, k] != free:
                clip_part[i, k] = (new_stance[i, k] - before) - delta
            gain = own_likes[i, k] * table[s, _LIKED] - own_dislikes[i, k] * table[s, _DISLIKED]
            new_confidence[i, k] = _clip(confidence[i, k] + gain, 0.0, 1.0)
        for x in range(indptr[i], indptr[i + 1]):
            trust[slot[x]] = learned(trust[slot[x]], shown[x], new_stance[i, proposition[x]], table[s, _RATE])
