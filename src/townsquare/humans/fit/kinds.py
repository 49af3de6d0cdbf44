"""Kinds of people: a mixture of parameter sets of one rule, fitted by expectation-maximization.

Every kind has a cell of the grid, a share of the people, and a normal error of its own: keepers answer as before to
within little, updaters scatter. A person is of one kind in all answers. Since errors of two sizes alone already fit
answers better than one, the mixture stands beside one profile with as many errors (``spreads``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from townsquare.core.array_types import Float, Int64
from townsquare.humans.fit.alignment import STABLE_WITHIN
from townsquare.humans.fit.scores import sums_by

KINDS, KINDS_NEXT, SPREADS = "kinds", "kinds_known", "spreads"
ROUNDS = 200
_ENOUGH = 1e-6


class Kinds(NamedTuple):
    """Kinds in the order of their cells: cell, share and error of each, (K,), and the log likelihood."""

    cell: Int64
    share: Float
    error: Float
    likelihood: float


class Mixture(NamedTuple):
    """Normal distributions around predictions, mixed: weight, mean and error of each component, (k, K)."""

    weight: Float
    mean: Float
    error: Float


def fit_kinds(square: Float, person: Int64, change: Float, n: int, *, one_cell: bool = False) -> Kinds:
    """Return the kinds that make what people held most likely.

    Parameters
    ----------
    square : (k, cells) float64
        Squared error of every stretch in every cell.
    person : (k,) int64
        Whose stretch it is; any codes.
    change : (k,) float64
        From the first to the last answer of the stretch.
    n : int
        Number of kinds.
    one_cell : bool
        All kinds share one cell, and differ in their errors alone.
    """
    sums, rows = sums_by(square, person)
    moved, _ = sums_by((change**2)[:, None], person)
    best = int(np.argmin(sums.sum(axis=0)))
    # From two starts: people in equal parts by how far they moved, or by how far one profile is off.
    starts = (_parts(of / rows, n) for of in (moved[:, 0], sums[:, best]))
    fitted = max((_maximized(sums, rows, weight, one_cell) for weight in starts), key=lambda kinds: kinds.likelihood)
    order = np.lexsort((fitted.error, fitted.cell))
    return Kinds(fitted.cell[order], fitted.share[order], fitted.error[order], fitted.likelihood)


def _parts(of: Float, n: int) -> Float:
    """Return (p, n) memberships of people cut into equal parts by the order of a number."""
    rank = np.argsort(np.argsort(of, kind="stable"), kind="stable")
    return np.eye(n)[rank * n // of.size]


def _maximized(sums: Float, rows: Float, weight: Float, one_cell: bool) -> Kinds:
    kinds, before = None, -math.inf
    for _ in range(ROUNDS):
        kinds = _kinds_of(sums, rows, weight, None if kinds is None else kinds.error, one_cell)
        power = _power(sums[:, kinds.cell], rows, kinds)
        top = power.max(axis=1, keepdims=True)
        weight = np.exp(power - top)
        total = weight.sum(axis=1, keepdims=True)
        weight /= total
        likelihood = float((top + np.log(total)).sum())
        kinds = kinds._replace(likelihood=likelihood)
        if likelihood - before < _ENOUGH:
            break
        before = likelihood
    assert kinds is not None
    return kinds


def _kinds_of(sums: Float, rows: Float, weight: Float, error: Float | None, one_cell: bool) -> Kinds:
    """Return the most likely kinds, given who is of which: ``weight`` (p, K)."""
    off = weight.T @ sums  # (K, cells)
    if one_cell:
        by = np.ones(len(off)) if error is None else 1.0 / error**2
        cell = np.full(len(off), int(np.argmin(by @ off)))
    else:
        cell = off.argmin(axis=1)
    square = off[np.arange(len(off)), cell] / np.maximum(weight.T @ rows, 1e-12)
    return Kinds(cell, weight.mean(axis=0), np.sqrt(np.maximum(square, STABLE_WITHIN**2)), -math.inf)


def _power(sums: Float, rows: Float, kinds: Kinds) -> Float:
    """Return (p, K) log likelihood of each person's answers and kind; ``sums`` (p, K) in the kinds' cells."""
    with np.errstate(divide="ignore"):
        share = np.log(kinds.share)
    spread = np.log(kinds.error * math.sqrt(2 * math.pi))
    return np.asarray(share - sums / (2.0 * kinds.error**2) - rows[:, None] * spread)


def mixture_of(predicted: Float, kinds: Kinds) -> Mixture:
    """Return what is expected of people of whom nothing is known, from predictions (k, cells)."""
    return Mixture(*np.broadcast_arrays(kinds.share, predicted[:, kinds.cell], kinds.error))


def mixture_next(predicted: Float, square: Float, person: Int64, kinds: Kinds) -> Mixture:
    """Return the same, given the earlier stretches of each person; rows of one person are in order."""
    out = mixture_of(predicted, kinds)
    own = square[:, kinds.cell]
    order = np.argsort(person, kind="stable")
    first = np.searchsorted(person[order], person[order], side="left")
    at = np.arange(person.size)
    before = np.cumsum(own[order], axis=0) - own[order]
    power = _power(before - before[first], (at - first).astype(np.float64), kinds)
    weight = np.empty_like(own)
    weight[order] = special.softmax(power, axis=1)
    return out._replace(weight=weight)
