"""Rules that answer to exposures, replayed for all people and cells at once: one message a step.

What a person took in is shown to it in order, each message new, without likes or labels; nobody's confidence was asked,
so it stands at 0.5. The moves are those of ``exposure``, ``averaging`` and ``bounded_confidence`` in
:mod:`townsquare.beliefs` for a feed of one row, written out because a step of the rules themselves also writes a trail:
tests hold them to the rules' own ``step``, message by message.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from townsquare.beliefs.exposure import Params
from townsquare.humans.fit.replayed import Replayed, author_slots
from townsquare.humans.trajectories import Float

_CONFIDENCE = 0.5


@nb.njit(parallel=True, cache=True, error_model="numpy")
def _exposure(rows: Replayed, pull: Float, anchor: Float, known: Float, out: Float) -> None:
    """``known``: trust at first, its rate, and social proof times novelty over resistance."""
    for i in nb.prange(out.shape[0]):
        n = rows.indptr[i + 1] - rows.indptr[i]
        slot = np.empty(n, np.int64)
        trust = np.empty(author_slots(rows, i, slot))
        first, start = rows.indptr[i], rows.initial[i]
        for j in range(pull.shape[0]):
            for k in range(anchor.shape[0]):
                stance = start
                trust[:] = known[0]
                for x in range(first, rows.indptr[i + 1]):
                    if rows.sign[x] < 0.0:
                        continue
                    read = trust[slot[x - first]]
                    free = stance + (rows.shown[x] - stance) * read * known[2] * pull[j] + anchor[k] * (start - stance)
                    stance = -1.0 if free < -1.0 else 1.0 if free > 1.0 else free
                    apart = abs(rows.shown[x] - stance)
                    stepped = read + ((1.0 - apart / 2.0) - 0.5) * known[1]
                    trust[slot[x - first]] = 0.0 if stepped < 0.0 else 1.0 if stepped > 1.0 else stepped
                out[i, j, k] = stance


@nb.njit(parallel=True, cache=True, error_model="numpy")
def _averaging(rows: Replayed, weight: Float, stubbornness: Float, out: Float) -> None:
    for i in nb.prange(out.shape[0]):
        start = rows.initial[i]
        for j in range(weight.shape[0]):
            for k in range(stubbornness.shape[0]):
                stance = start
                for x in range(rows.indptr[i], rows.indptr[i + 1]):
                    if rows.sign[x] > 0.0:
                        others = (1.0 - stubbornness[k]) * weight[j] * (rows.shown[x] - stance)
                        stance += others + stubbornness[k] * (start - stance)
                out[i, j, k] = stance


@nb.njit(parallel=True, cache=True, error_model="numpy")
def _bounded(rows: Replayed, convergence: Float, tolerance: Float, out: Float) -> None:
    for i in nb.prange(out.shape[0]):
        for j in range(convergence.shape[0]):
            for k in range(tolerance.shape[0]):
                stance = rows.initial[i]
                for x in range(rows.indptr[i], rows.indptr[i + 1]):
                    gap = rows.shown[x] - stance
                    if rows.sign[x] > 0.0 and abs(gap) <= tolerance[k]:
                        stance += convergence[j] * gap
                out[i, j, k] = stance


def exposure(rows: Replayed, margin: float, pull: Float, anchor: Float) -> Float:
    """Final stances under every pull (X,) and anchor (Y,): (n, X, Y) float64 in [-1, 1]; ``margin`` is not used."""
    out = np.empty((rows.initial.size, pull.size, anchor.size))
    rule = Params()
    resistance = rule.resistance_floor + _CONFIDENCE * rule.resistance_slope
    influence = rule.social_proof_floor * rule.novelty_new / resistance
    _exposure(rows, pull, anchor, np.array([rule.trust_start, rule.trust_rate, influence]), out)
    return out


def averaging(rows: Replayed, margin: float, weight: Float, stubbornness: Float) -> Float:
    """Final stances under every weight on others (X,) and stubbornness (Y,): (n, X, Y) float64 in [-1, 1]."""
    out = np.empty((rows.initial.size, weight.size, stubbornness.size))
    _averaging(rows, weight, stubbornness, out)
    return np.clip(out, -1.0, 1.0)  # rounding alone can leave the range


def bounded_confidence(rows: Replayed, margin: float, convergence: Float, tolerance: Float) -> Float:
    """Final stances under every convergence (X,) and tolerance (Y,): (n, X, Y) float64 in [-1, 1]."""
    out = np.empty((rows.initial.size, convergence.size, tolerance.size))
    _bounded(rows, convergence, tolerance, out)
    return np.clip(out, -1.0, 1.0)
