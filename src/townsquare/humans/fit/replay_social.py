"""``social_log_odds`` replayed for all people and cells: strength times trust, social proof and novelty.

People's conversations have no likes and no labels, and every message is new: social proof is its floor, novelty that of
a first sight. Trust in each author learns from what the author says, message by message, as in the rule; tests hold
this to :mod:`townsquare.beliefs.social_log_odds`.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from townsquare.beliefs.equation import contribution, log_odds_at, stance_at
from townsquare.beliefs.social_log_odds import Params
from townsquare.humans.fit.replayed import Replayed, author_slots
from townsquare.humans.trajectories import Float, Int


@nb.njit(cache=True, error_model="numpy")
def _end(
    rows: Replayed, i: int, start: float, uptake: float, known: Float, slot: Int, trust: Float, worth: Float
) -> float:
    """Where person ``i`` ends; ``known`` holds trust at first, its rate, and social proof times novelty."""
    log_odds, first = start, rows.indptr[i]
    trust[:] = known[0]
    for x in range(first, rows.indptr[i + 1]):
        at = x - first
        if rows.sign[x] < 0.0:
            # What a record of an earlier stretch was worth is not known here: as from an author never met.
            own = at - rows.back[x]
            was = worth[own] if own >= 0 else known[0] * known[2]
            log_odds -= contribution(int(rows.polarity[x]), rows.strength[x] * was, uptake)
            continue
        worth[at] = trust[slot[at]] * known[2]
        log_odds += contribution(int(rows.polarity[x]), rows.strength[x] * worth[at], uptake)
        apart = abs(rows.shown[x] - stance_at(log_odds))
        stepped = trust[slot[at]] + ((1.0 - apart / 2.0) - 0.5) * known[1]
        trust[slot[at]] = 0.0 if stepped < 0.0 else 1.0 if stepped > 1.0 else stepped
    return stance_at(log_odds)


@nb.njit(parallel=True, cache=True, error_model="numpy")
def _ends(rows: Replayed, margin: float, uptake: Float, anchoring: Float, known: Float, out: Float) -> None:
    for i in nb.prange(out.shape[0]):
        n = rows.indptr[i + 1] - rows.indptr[i]
        slot, worth = np.empty(n, np.int64), np.zeros(n)
        trust = np.empty(author_slots(rows, i, slot))
        for k in range(anchoring.shape[0]):
            start = log_odds_at(rows.initial[i], anchoring[k], margin)
            for j in range(uptake.shape[0]):
                out[i, j, k] = _end(rows, i, start, uptake[j], known, slot, trust, worth)


def ends(rows: Replayed, margin: float, uptake: Float, anchoring: Float) -> Float:
    """Final stances of n people under every u (U,) and a (A,): (n, U, A) float64 in [-1, 1]."""
    out = np.empty((rows.initial.size, uptake.size, anchoring.size))
    rule = Params()
    known = np.array([rule.trust_start, rule.trust_rate, rule.social_proof_floor * rule.novelty_new])
    _ends(rows, margin, uptake, anchoring, known, out)
    return out


# `log_odds` replayed for all people and all (u, a) at once: L = a ln((1 + S₀)/(1 − S₀)) + Σ p ln(1 + s u).
#
# The formula is that of the rule itself (:mod:`townsquare.beliefs.equation`). Evidence and prior are sums of their own,
# so that a grid of U x A cells costs U sums of evidence and one logistic a cell.


@nb.njit(parallel=True, cache=True, error_model="numpy")
def _log_odds_ends(rows: Replayed, margin: float, uptake: Float, anchoring: Float, out: Float) -> None:
    for i in nb.prange(out.shape[0]):
        for j in range(uptake.shape[0]):
            evidence = 0.0
            for x in range(rows.indptr[i], rows.indptr[i + 1]):
                evidence += rows.sign[x] * contribution(int(rows.polarity[x]), rows.strength[x], uptake[j])
            for k in range(anchoring.shape[0]):
                out[i, j, k] = stance_at(log_odds_at(rows.initial[i], anchoring[k], margin) + evidence)


def log_odds_ends(rows: Replayed, margin: float, uptake: Float, anchoring: Float) -> Float:
    """Final stances of n people under every u (U,) and a (A,): (n, U, A) float64 in [-1, 1]."""
    out = np.empty((rows.initial.size, uptake.size, anchoring.size))
    _log_odds_ends(rows, margin, uptake, anchoring, out)
    return out
