"""Equation 1 of the Belief Engine: evidence summed in log odds, and the stance that follows (seeds, section 3.1).

    L = Σ p ln(1 + s γ)        over the active records, from left to right
    S = 2 σ(L) − 1 = 2 / (1 + exp(−L)) − 1

p is the polarity (+1 or −1), s the strength in [0, 1], γ the anchoring *a* for seeds and the uptake *u* for the rest.
exp and log are in compiled functions only, so that every part of Townsquare gets the same last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.beliefs.arrays import read_only
from townsquare.core.array_types import Float

STANCE_MARGIN = 1e-3
"""ε: a starting stance is clipped to ±(1 − ε) before its log odds are taken; 0.99 passes, 1 becomes 0.999."""


@nb.njit(cache=True, error_model="numpy")
def contribution(polarity: float, strength: float, gamma: float) -> float:
    """Return p ln(1 + s γ) of one active record, in log odds.

    >>> round(contribution(-1, 0.5, 0.4), 6)
    -0.182322
    """
    amount: float = polarity * math.log(1.0 + strength * gamma)
    return amount


@nb.njit(cache=True, error_model="numpy")
def stance_at(log_odds: float) -> float:
    """Return the stance in [-1, 1] that log odds represent.

    >>> stance_at(0.0)
    0.0
    """
    stance: float = 2.0 / (1.0 + math.exp(-log_odds)) - 1.0
    return stance


@nb.njit(cache=True, error_model="numpy")
def log_odds_at(stance: float, anchoring: float, margin: float) -> float:
    """Return L₀ = a ln((1 + S₀) / (1 − S₀)) of a stated stance, clipped to ±(1 − margin) first.

    >>> round(log_odds_at(0.5, 1.0, 0.001), 6)
    1.098612
    """
    most = 1.0 - margin
    within = most if stance > most else -most if stance < -most else stance
    start: float = anchoring * math.log((1.0 + within) / (1.0 - within))
    return start


@nb.njit(cache=True, error_model="numpy")
def _contributions(polarity: Float, strength: Float, gamma: Float, out: Float) -> None:
    for x in range(out.shape[0]):
        out[x] = contribution(polarity[x], strength[x], gamma[x])


@nb.njit(cache=True, error_model="numpy")
def _stances(log_odds: Float, out: Float) -> None:
    for x in range(out.shape[0]):
        out[x] = stance_at(log_odds[x])


@nb.njit(cache=True, error_model="numpy")
def _starts(stance: Float, anchoring: Float, margin: Float, out: Float) -> None:
    for x in range(out.shape[0]):
        out[x] = log_odds_at(stance[x], anchoring[x], margin[x])


@nb.njit(cache=True, error_model="numpy")
def _sum(amounts: Float, prior: float) -> float:
    total = prior
    for x in range(amounts.shape[0]):
        total += amounts[x]
    return total


def contributions(polarity: npt.ArrayLike, strength: npt.ArrayLike, gamma: npt.ArrayLike) -> Float:
    """Return what each of k records adds to the log odds, (k,) float64.

    Parameters
    ----------
    polarity : (k,) of -1 or +1
    strength : (k,) in [0, 1]
        As weighted, if it is.
    gamma : (k,) or scalar, at least 0
        Anchoring for seeds, uptake for the rest.

    >>> contributions([1, -1], [0.5, 0.5], 0.4).round(6).tolist()
    [0.182322, -0.182322]
    """
    return _each(_contributions, polarity, strength, gamma)


def sum_of(amounts: npt.ArrayLike, prior: float = 0.0) -> float:
    """Return L: the prior and then the contributions, added from left to right as the rule does."""
    return float(_sum(np.ascontiguousarray(amounts, np.float64), float(prior)))


def stances_of(log_odds: npt.ArrayLike) -> Float:
    """Return S = 2σ(L) − 1 of every entry, in the shape of the input.

    >>> stances_of([0.0, 1.0]).round(6).tolist()
    [0.0, 0.462117]
    """
    return _each(_stances, log_odds)


def start_log_odds(
    stance: npt.ArrayLike, anchoring: npt.ArrayLike = 1.0, margin: npt.ArrayLike = STANCE_MARGIN
) -> Float:
    """Return L₀ = a ln((1 + S₀)/(1 − S₀)) of stances clipped to ±(1 − ``margin``), in the shape of ``stance``.

    ``anchoring`` and ``margin`` broadcast to ``stance``. With a = 1 the stance that follows is the stated one; with
    another a it is not: :func:`stances_of` says what was attained.
    """
    return _each(_starts, stance, anchoring, margin)


def _each(kernel: Callable[..., None], *columns: npt.ArrayLike) -> Float:
    """Return what a kernel gives for each entry of the columns, which broadcast."""
    whole = np.broadcast_arrays(*(np.asarray(column, np.float64) for column in columns))
    out = np.empty(whole[0].shape)
    kernel(*(read_only(column.ravel(), np.float64) for column in whole), out.reshape(-1))
    return out
