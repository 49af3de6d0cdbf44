"""What a rule says where each person ends, under any values of its two fitted numbers.

What a person took in is shown to it in order, one message a step, each message new, without likes or labels; nobody's
confidence was asked, so it stands at 0.5. The moves are those of the rules' own compiled functions in
:mod:`townsquare.beliefs`: a step of the rules themselves also writes a trail. Tests hold each replay to the rule's own
``step``.
"""

from __future__ import annotations

from collections.abc import Callable

import numba as nb
import numpy as np

from townsquare.beliefs import averaging, bounded_confidence, exposure_kernels, log_odds_kernels, social_kernels
from townsquare.beliefs.arrays import AgentSettings, Table, settings
from townsquare.beliefs.averaging import averaged
from townsquare.beliefs.bounded_confidence import followed, is_near
from townsquare.beliefs.contract import per_agent
from townsquare.beliefs.equation import log_odds_at, stance_at
from townsquare.beliefs.exposure_kernels import pulled
from townsquare.beliefs.log_odds_kernels import amount
from townsquare.beliefs.move_kernels import anchored, clipped, learned, settled
from townsquare.beliefs.social_kernels import worth_of
from townsquare.core import registry
from townsquare.core.array_types import Float, Int64
from townsquare.core.schema import Origin
from townsquare.humans.fit.grids import GRIDS, Grid
from townsquare.humans.fit.replayed import Replayed

_CONFIDENCE = 0.5
_PEER = int(Origin.PEER)


@nb.njit(cache=True, error_model="numpy")
def _author_slots(rows: Replayed, i: int, slot: Int64) -> int:
    """Write the number of the author of each event of person ``i``, from 0 as they appear; return how many."""
    first, n = rows.indptr[i], 0
    for x in range(first, rows.indptr[i + 1]):
        slot[x - first] = -1
        for y in range(first, x):
            if rows.author[y] == rows.author[x]:
                slot[x - first] = slot[y - first]
                break
        if slot[x - first] < 0:
            slot[x - first] = n
            n += 1
    return n


@nb.njit(parallel=True, cache=True, error_model="numpy")
def _exposure(rows: Replayed, cells: Table, out: Float) -> None:
    for i in nb.prange(out.shape[0]):
        first, start = rows.indptr[i], rows.initial[i]
        slot = np.empty(rows.indptr[i + 1] - first, np.int64)
        trust = np.empty(_author_slots(rows, i, slot))
        for j in range(out.shape[1]):
            for k in range(out.shape[2]):
                p, stance = cells[j, k], start
                trust[:] = p.trust_start
                for x in range(first, rows.indptr[i + 1]):
                    if rows.sign[x] > 0.0:
                        author = slot[x - first]
                        gain, _ = pulled(p, stance, _CONFIDENCE, rows.shown[x], trust[author], 0, True, 1.0)
                        stance, _ = settled(stance, gain + anchored(stance, start, p.anchor), -1.0, 1.0)
                        trust[author] = learned(trust[author], rows.shown[x], stance, p.trust_rate)
                out[i, j, k] = stance


@nb.njit(parallel=True, cache=True, error_model="numpy")
def _averaging(rows: Replayed, cells: Table, out: Float) -> None:
    for i in nb.prange(out.shape[0]):
        start = rows.initial[i]
        for j in range(out.shape[1]):
            for k in range(out.shape[2]):
                p, stance = cells[j, k], start
                for x in range(rows.indptr[i], rows.indptr[i + 1]):
                    if rows.sign[x] > 0.0:
                        gain, _ = averaged(p, stance, rows.shown[x], 1.0, 1)
                        stance += gain + anchored(stance, start, p.stubbornness)
                out[i, j, k] = clipped(stance, -1.0, 1.0)  # rounding alone can leave the range


@nb.njit(parallel=True, cache=True, error_model="numpy")
def _bounded(rows: Replayed, cells: Table, out: Float) -> None:
    for i in nb.prange(out.shape[0]):
        for j in range(out.shape[1]):
            for k in range(out.shape[2]):
                p, stance = cells[j, k], rows.initial[i]
                for x in range(rows.indptr[i], rows.indptr[i + 1]):
                    if rows.sign[x] > 0.0 and is_near(p, stance, rows.shown[x]):
                        stance += followed(p, stance, rows.shown[x], 1.0, 1)
                out[i, j, k] = clipped(stance, -1.0, 1.0)  # rounding alone can leave the range


@nb.njit(cache=True, error_model="numpy")
def _social_end(rows: Replayed, i: int, p: AgentSettings, slot: Int64, trust: Float, worth: Float) -> float:
    """Where person ``i`` ends; ``trust`` by author and ``worth`` by event are scratch."""
    log_odds, first = log_odds_at(rows.initial[i], p.anchoring, p.stance_margin), rows.indptr[i]
    trust[:] = p.trust_start
    for x in range(first, rows.indptr[i + 1]):
        at, polarity = x - first, int(rows.polarity[x])
        if rows.sign[x] < 0.0:
            # What a record of an earlier stretch was worth is not known here: as from an author never met.
            own = at - rows.back[x]
            was = worth[own] if own >= 0 else worth_of(p, p.trust_start, 0, True)
            log_odds -= amount(p, polarity, rows.strength[x] * was, _PEER, False)
            continue
        author = slot[at]
        worth[at] = worth_of(p, trust[author], 0, True)
        log_odds += amount(p, polarity, rows.strength[x] * worth[at], _PEER, False)
        trust[author] = learned(trust[author], rows.shown[x], stance_at(log_odds), p.trust_rate)
    return stance_at(log_odds)


@nb.njit(parallel=True, cache=True, error_model="numpy")
def _social(rows: Replayed, cells: Table, out: Float) -> None:
    for i in nb.prange(out.shape[0]):
        n = rows.indptr[i + 1] - rows.indptr[i]
        slot, worth = np.empty(n, np.int64), np.zeros(n)
        trust = np.empty(_author_slots(rows, i, slot))
        for j in range(out.shape[1]):
            for k in range(out.shape[2]):
                out[i, j, k] = _social_end(rows, i, cells[j, k], slot, trust, worth)


@nb.njit(parallel=True, cache=True, error_model="numpy")
def _log_odds(rows: Replayed, cells: Table, out: Float) -> None:
    # Evidence and prior are sums of their own, so that a grid of U x A cells costs U sums and one logistic a cell.
    for i in nb.prange(out.shape[0]):
        for j in range(out.shape[1]):
            evidence = 0.0
            for x in range(rows.indptr[i], rows.indptr[i + 1]):
                evidence += rows.sign[x] * amount(cells[j, 0], int(rows.polarity[x]), rows.strength[x], _PEER, False)
            for k in range(out.shape[2]):
                p = cells[j, k]
                out[i, j, k] = stance_at(log_odds_at(rows.initial[i], p.anchoring, p.stance_margin) + evidence)


# No table is another one continued: Numba would take its record for a kind of the other's, and warn.
_SUMMED = ("stance_margin", *log_odds_kernels.SETTINGS)
REPLAYS: dict[str, tuple[Callable[[Replayed, Table, Float], None], tuple[str, ...]]] = {
    "log_odds": (_log_odds, _SUMMED),
    "social_log_odds": (_social, ("trust_start", "trust_rate", *_SUMMED, *social_kernels.SETTINGS)),
    "exposure": (_exposure, exposure_kernels.SETTINGS),
    "averaging": (_averaging, averaging.SETTINGS),
    "bounded_confidence": (_bounded, bounded_confidence.SETTINGS),
}
"""How each rule of :data:`townsquare.humans.fit.grids.GRIDS` is replayed, and the settings that it reads."""


def predict(rows: Replayed, grid: Grid, margin: float, x: Float, y: Float) -> Float:
    """Final stances under every x (X,) and y (Y,): (n, X, Y) float64 in [-1, 1].

    Parameters
    ----------
    rows : Replayed
        n starts with their events.
    grid : Grid
        The rule and what its numbers are called; its other settings stand at their defaults.
    margin : float
        ε: starting stances are clipped to ±(1 − ε) before log odds are taken; other rules do not use it.
    x, y : float64
        Values of the two numbers.
    """
    replay, names = REPLAYS[grid.rule]
    shape = np.size(x), np.size(y)
    cells = shape[0] * shape[1]
    numbers = {grid.x_name: np.repeat(np.asarray(x, np.float64), shape[1]), grid.y_name: np.tile(y, shape[0])}
    defaults = per_agent(registry.get("beliefs", grid.rule).params(), cells)
    table = settings({**defaults, "stance_margin": margin, **numbers}, names, cells)
    out = np.empty((rows.initial.size, *shape))
    replay(rows, table.reshape(shape), out)
    return out


def predict_cell(rows: Replayed, grid: Grid, margin: float, x: float, y: float) -> Float:
    """Final stances under one x and y: (n,) float64 in [-1, 1]."""
    return predict(rows, grid, margin, np.array([x]), np.array([y]))[:, 0, 0]


def predict_grid(rows: Replayed, grid: Grid, margin: float) -> Float:
    """Final stances in every cell of the grid: (n, X * Y) float64, cells along y first."""
    return predict(rows, grid, margin, np.array(grid.x), np.array(grid.y)).reshape(rows.initial.size, -1)


def prior_only(rows: Replayed, margin: float, anchoring: Float) -> Float:
    """Final stances of ``log_odds`` with u = 0, for every a (A,): (n, A) float64 in [-1, 1]."""
    return predict(rows, GRIDS["log_odds"], margin, np.zeros(1), anchoring)[:, 0, :]
