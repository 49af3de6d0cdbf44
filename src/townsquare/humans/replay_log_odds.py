"""``log_odds`` replayed for all people and all (u, a) at once: L = a ln((1 + S₀)/(1 − S₀)) + Σ p ln(1 + s u).

The formula is that of the rule itself (:mod:`townsquare.beliefs.equation`). Evidence and prior are sums of their own,
so that a grid of U x A cells costs U sums of evidence and one logistic a cell.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from townsquare.beliefs.equation import contribution, log_odds_at, stance_at
from townsquare.humans.replayed import Replayed
from townsquare.humans.trajectories import Float


@nb.njit(parallel=True, cache=True, error_model="numpy")
def _ends(rows: Replayed, margin: float, uptake: Float, anchoring: Float, out: Float) -> None:
    for i in nb.prange(out.shape[0]):
        for j in range(uptake.shape[0]):
            evidence = 0.0
            for x in range(rows.indptr[i], rows.indptr[i + 1]):
                evidence += rows.sign[x] * contribution(int(rows.polarity[x]), rows.strength[x], uptake[j])
            for k in range(anchoring.shape[0]):
                out[i, j, k] = stance_at(log_odds_at(rows.initial[i], anchoring[k], margin) + evidence)


def ends(rows: Replayed, margin: float, uptake: Float, anchoring: Float) -> Float:
    """Final stances of n people under every u (U,) and a (A,): (n, U, A) float64 in [-1, 1]."""
    out = np.empty((rows.initial.size, uptake.size, anchoring.size))
    _ends(rows, margin, uptake, anchoring, out)
    return out
