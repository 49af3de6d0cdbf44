"""Compiled step of both exposure rules (seeds, ``simswarm-belief-formulation``, sections 1 to 5).

One call does a part of the agents of a block. An agent's rows are taken from left to right: first every
move is made from the stance and the trust that stood at the start of the step, then trust learns, row by row.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from townsquare.beliefs.arrays import AgentSettings, Beliefs, Moved, Table
from townsquare.beliefs.contract import UNASKED, Exposed, Own, Replayed
from townsquare.beliefs.move_kernels import anchored, author_slots, clipped, learned, settled
from townsquare.core.array_types import Float, Int64
from townsquare.core.threads import Part


@nb.njit(cache=True, error_model="numpy")
def social_proof(p: AgentSettings, likes: int) -> float:
    """Return the factor of a root that was shown with ``likes`` likes."""
    proof: float = p.social_proof_floor + min(likes, p.likes_at_most) * p.social_proof_per_like
    return proof


@nb.njit(cache=True, error_model="numpy")
def novelty(p: AgentSettings, first_seen: bool) -> float:
    """Return the factor of a root at first sight, or of one that was shown before."""
    factor: float = p.novelty_new if first_seen else p.novelty_repeat
    return factor


@nb.njit(cache=True, error_model="numpy")
def pulled(
    p: AgentSettings,
    before: float,
    confidence: float,
    shown: float,
    trust: float,
    likes: int,
    first_seen: bool,
    label: float,
) -> tuple[float, float]:
    """Return what one row adds to a stance of ``before``, and its weight: the share of the gap that it closes."""
    # The page's order of operations, so that the exact rule is equal to it to the last bit.
    resistance = p.resistance_floor + confidence * p.resistance_slope
    influence = trust * social_proof(p, likes) * novelty(p, first_seen) / resistance
    return (shown - before) * influence * p.pull * label, influence * p.pull * label


@nb.njit(nogil=True, cache=True, error_model="numpy")
def exposure_step(
    part: Part, rows: Exposed, own: Own, beliefs: Beliefs, slot: Int64, table: Table, trust: Float, moved: Moved,
    bounded: bool,
) -> None:  # fmt: skip
    """Move n agents with P propositions and m rows: ``trust`` is stepped in place, ``moved`` is written.

    ``slot`` (m,) says where each row's author is in ``trust``; no two agents share a place. ``table`` (n or 1,)
    holds all settings of ``exposure``. Gains add up and are clipped to [-1, 1]; if ``bounded``, they are scaled by
    (1 − e^(−W))/W, W being the sum of the weights, and clipped to the hull of the stance and of what moved it.
    """
    # Arrays stay in this body: a compiled call that takes whole arrays costs as much as five rows.
    indptr, proposition, _, _, _, _, shown, likes, first_seen, label = rows
    own_likes, own_dislikes, own_indptr, own_proposition, _, own_stance = own
    stance, confidence, start = beliefs
    new_stance, new_confidence, exposure, read, own_part, anchor_part, clip_part = moved[:7]
    for i in range(part.start, part.stop):
        p = table[i % table.shape[0]]
        at, wrote = indptr[i], own_indptr[i]
        for k in range(stance.shape[1]):
            first, first_own, before = at, wrote, stance[i, k]
            low = high = before
            delta, total = 0.0, 0.0
            while at < indptr[i + 1] and proposition[at] == k:
                read[at] = trust[slot[at]]
                exposure[at], weight = pulled(
                    p, before, confidence[i, k], shown[at], read[at], likes[at], first_seen[at], label[at]
                )
                delta, total = delta + exposure[at], total + weight
                if weight > 0.0:
                    low, high = min(low, shown[at]), max(high, shown[at])
                at += 1
            while wrote < own_indptr[i + 1] and own_proposition[wrote] == k:
                if p.own_pull > 0.0:
                    own_part[wrote] = p.own_pull * (own_stance[wrote] - before)
                    delta, total = delta + own_part[wrote], total + p.own_pull
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
            if p.anchor > 0.0:
                anchor_part[i, k] = anchored(before, start[i, k], p.anchor)
                delta += anchor_part[i, k]
                low, high = min(low, start[i, k]), max(high, start[i, k])
            if not bounded:
                low, high = -1.0, 1.0
            new_stance[i, k], clip_part[i, k] = settled(before, delta, low, high)
            gain = own_likes[i, k] * p.confidence_per_like - own_dislikes[i, k] * p.confidence_per_dislike
            new_confidence[i, k] = clipped(confidence[i, k] + gain, 0.0, 1.0)
        for x in range(indptr[i], indptr[i + 1]):
            trust[slot[x]] = learned(trust[slot[x]], shown[x], new_stance[i, proposition[x]], p.trust_rate)


@nb.njit(nogil=True, cache=True, error_model="numpy")
def replay_exposure(part: Part, rows: Replayed, cells: Table, out: Float) -> None:
    """Write where each person ends: one message per step, all new, without likes or labels (not ``bounded``)."""
    for i in range(part.start, part.stop):
        first, start = rows.indptr[i], rows.initial[i]
        slot = np.empty(rows.indptr[i + 1] - first, np.int64)
        trust = np.empty(author_slots(rows, i, slot))
        for j in range(out.shape[1]):
            for k in range(out.shape[2]):
                p, stance = cells[j, k], start
                trust[:] = p.trust_start
                for x in range(first, rows.indptr[i + 1]):
                    if rows.sign[x] > 0.0:
                        author = slot[x - first]
                        gain, _ = pulled(p, stance, UNASKED, rows.shown[x], trust[author], 0, True, 1.0)
                        stance, _ = settled(stance, gain + anchored(stance, start, p.anchor), -1.0, 1.0)
                        trust[author] = learned(trust[author], rows.shown[x], stance, p.trust_rate)
                out[i, j, k] = stance
