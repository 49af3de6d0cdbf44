"""Predict final stances by a rule, for any values of its two fitted settings.

Every registered rule can be asked. Its ``step`` is called message by message (:mod:`townsquare.humans.fit.stepped`);
a rule that has a compiled :class:`~townsquare.beliefs.contract.Replay` of the same steps is asked by that. The public
check of belief rules holds each replay to the rule's own ``step``.
"""

from __future__ import annotations

import numpy as np

from townsquare.beliefs.arrays import settings
from townsquare.beliefs.contract import AgentParams, BeliefRule, Replay, Replayed, per_agent
from townsquare.beliefs.grids import Grid
from townsquare.core import registry
from townsquare.core.array_types import Float
from townsquare.core.threads import in_parts
from townsquare.humans.fit.stepped import Steps, ends_of


def predict(rows: Replayed, grid: Grid, margin: float, x: Float, y: Float) -> Float:
    """Return final stances under every x (X,) and y (Y,): (n, X, Y) float64 in [-1, 1].

    Parameters
    ----------
    rows : Replayed
        n starts with their events.
    grid : Grid
        The rule and what its numbers are called; its other settings are at their defaults.
    margin : float
        ε: starting stances are clipped to ±(1 − ε) before log odds are taken; rules without the setting
        ``stance_margin`` do not use it.
    x, y : float64
        Values of the two numbers.

    Raises
    ------
    ContractError
        A step of the rule breaks its contract.
    """
    rule = registry.get("beliefs", grid.rule)
    shape = np.size(x), np.size(y)
    numbers = {grid.x_name: np.repeat(np.asarray(x, np.float64), shape[1]), grid.y_name: np.tile(y, shape[0])}
    if rule.replay is None:
        return stepped(rows, rule, margin, numbers).reshape(-1, *shape)
    return compiled(rows, rule, rule.replay, margin, numbers, shape)


def stepped(rows: Replayed, rule: BeliefRule, margin: float, numbers: dict[str, Float]) -> Float:
    """Return final stances by the rule's ``step`` for every set of ``numbers``, (cells,) each: (n, cells)."""
    n, steps = rows.initial.size, Steps.of(rows, rule.needs)
    defaults = _defaults(rule, n, margin)
    ends = [
        ends_of(rule, steps, {**defaults, **{name: np.broadcast_to(value, (n,)) for name, value in cell.items()}})
        for cell in (dict(zip(numbers, values, strict=True)) for values in zip(*numbers.values(), strict=True))
    ]
    return np.stack(ends, axis=1)


def compiled(
    rows: Replayed, rule: BeliefRule, replay: Replay, margin: float, numbers: dict[str, Float], shape: tuple[int, int]
) -> Float:
    """Return final stances by the rule's compiled replay: (n, X, Y)."""
    cells = shape[0] * shape[1]
    table = settings({**_defaults(rule, cells, margin), **numbers}, replay.settings, cells)
    out = np.empty((rows.initial.size, *shape))
    in_parts(replay.run, rows.initial.shape[0], rows, table.reshape(shape), out)
    return out


def _defaults(rule: BeliefRule, n: int, margin: float) -> AgentParams:
    params = per_agent(rule.params(), n)
    own = {"stance_margin": np.broadcast_to(np.float64(margin), (n,))} if "stance_margin" in params else {}
    return {**params, **own}


def predict_cell(rows: Replayed, grid: Grid, margin: float, x: float, y: float) -> Float:
    """Return final stances under one x and y: (n,) float64 in [-1, 1]."""
    return predict(rows, grid, margin, np.array([x]), np.array([y]))[:, 0, 0]


def predict_grid(rows: Replayed, grid: Grid, margin: float) -> Float:
    """Return final stances in every cell of the grid: (n, X * Y) float64, cells along y first."""
    return predict(rows, grid, margin, np.array(grid.x), np.array(grid.y)).reshape(rows.initial.size, -1)
