"""What debates come to: gaps, shifts and crossings over trials (seeds, ``belief-engine``, Tables A2 and A8).

Stances are (t, r + 1) float64 for t trials: at the start and after each of r rounds, in [-1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Float
from townsquare.experiments.paired import t_interval

JUDGED_LAST = 3
"""Readings of an agent's last messages that a judged final stance is the mean of: one message is one argument."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over trials with its 95% t interval; bounds are NaN for one trial. ``values`` are those of the trials."""

    mean: float
    low: float
    high: float
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Estimate:
        """Estimate the mean of the finite values, (t,).

        >>> Estimate.of([1.0, 2.0, 3.0]).mean
        2.0
        """
        given = np.asarray(values, np.float64)
        known = given[np.isfinite(given)]
        mean, low, high, _, _ = t_interval(known)
        return cls(mean, low, high, tuple(known.tolist()))


def pair_measures(pro: Float, con: Float) -> dict[str, Estimate]:
    """Return measures of debates between two agents.

    Parameters
    ----------
    pro, con : (t, r + 1) float64
        Stances; only the first and the last count.

    Returns
    -------
    dict of str to Estimate
        ``final_pro``, ``final_con``: stances at the end. ``initial_gap``, ``final_gap``: |S_pro − S_con|.
        ``gap_reduction``: initial − final gap, which Table A8 calls convergence. ``absolute_shift``: mean of both
        agents' |S_end − S_start|. ``center_shift``: (initial − final signed gap) / 2. ``crossing``: share of trials
        that end with S_pro < S_con.

    >>> found = pair_measures(np.array([[0.75, -0.1]]), np.array([[-0.75, 0.1]]))
    >>> [round(found[name].mean, 2) for name in ("final_gap", "gap_reduction", "center_shift", "crossing")]
    [0.2, 1.3, 0.85, 1.0]
    """
    first, last = pro[:, 0] - con[:, 0], pro[:, -1] - con[:, -1]
    shift = (np.abs(pro[:, -1] - pro[:, 0]) + np.abs(con[:, -1] - con[:, 0])) / 2
    crossed = np.where(np.isnan(last), np.nan, (last < 0).astype(np.float64))
    columns = {
        "final_pro": pro[:, -1],
        "final_con": con[:, -1],
        "initial_gap": np.abs(first),
        "final_gap": np.abs(last),
        "gap_reduction": np.abs(first) - np.abs(last),
        "absolute_shift": shift,
        "center_shift": (first - last) / 2,
        "crossing": crossed,
    }
    return {name: Estimate.of(values) for name, values in columns.items()}


def single_measures(stance: Float) -> dict[str, Estimate]:
    """Return ``initial``, ``final`` and ``shift`` of an agent's (t, r + 1) stances against a fixed opponent.

    >>> round(single_measures(np.array([[0.9, 0.5], [0.9, 0.3]]))["shift"].mean, 2)
    -0.5
    """
    columns = {"initial": stance[:, 0], "final": stance[:, -1], "shift": stance[:, -1] - stance[:, 0]}
    return {name: Estimate.of(values) for name, values in columns.items()}


def judged_course(initial: Float, judged: Float) -> Float:
    """Return judged stances in the form that :func:`pair_measures` takes.

    Parameters
    ----------
    initial : (t,) float64
        Stances at the start: nothing has been said that could be judged.
    judged : (t, r) float64
        Readings of each agent's messages, NaN where one took no stance.

    Returns
    -------
    (t, 2) float64
        The start, and the mean of the last :data:`JUDGED_LAST` readings; NaN if none of them took a stance.
    """
    return np.stack([initial, known_mean(judged[:, -JUDGED_LAST:], axis=1)], axis=1)


def known_mean(values: Float, axis: int) -> Float:
    """Return means along an axis of the numbers that are known; NaN where none is."""
    known = np.isfinite(values)
    count, total = known.sum(axis=axis), np.where(known, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def steps_between(levels: Float, finals: Float) -> list[tuple[float, float, Estimate]]:
    """Return differences between neighboring levels of a sweep, paired by trial number, since draws are shared.

    Parameters
    ----------
    levels : (l,) float64
        In any order.
    finals : (l, t) float64
        Final stances.

    Returns
    -------
    list of (lower level, upper level, Estimate)
        Of the final stance at the upper less that at the lower level, l − 1 of them.
    """
    order = np.argsort(levels, kind="stable")
    pairs = pairwise(order)
    return [(float(levels[a]), float(levels[b]), Estimate.of(finals[b] - finals[a])) for a, b in pairs]
