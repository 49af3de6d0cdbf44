"""The two numbers of each rule that are fitted, and the values that are tried (appendix E for the log-odds rules).

Every rule has one number for how far evidence moves a person and one for how strongly the start is held, or, for
bounded confidence, how far off it still listens. What else a rule has stands at its defaults.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from townsquare.core.array_types import Float
from townsquare.core.errors import UnknownName
from townsquare.core.registry import did_you_mean

UPTAKE = (0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
ANCHORING = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.5)
"""The paper's grids (appendix E)."""
SHARES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
TOLERANCE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)


class Grid(NamedTuple):
    """The fitted numbers of one rule.

    Attributes
    ----------
    rule : str
        As in the registry.
    x_name, y_name : str
        Settings of the rule: x is how far evidence moves, y how the start is held.
    x_short, y_short : str
        What tables call them.
    x, y : tuple of float
        Values that are tried, ascending.
    x_bounds, y_bounds : tuple of float
        Within which continuous optimization stays.
    """

    rule: str
    x_name: str
    y_name: str
    x_short: str
    y_short: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    x_bounds: tuple[float, float]
    y_bounds: tuple[float, float]

    @property
    def shape(self) -> tuple[int, int]:
        """How many values of x and of y."""
        return len(self.x), len(self.y)

    def cell(self, number: int) -> tuple[float, float]:
        """x and y of a cell, counted along y first.

        >>> GRIDS["log_odds"].cell(14)
        (0.01, 0.05)
        """
        return self.x[number // len(self.y)], self.y[number % len(self.y)]

    def cells(self) -> Float:
        """(X * Y, 2) x and y of every cell."""
        return np.array([(x, y) for x in self.x for y in self.y], np.float64)


_LOG_ODDS = ("uptake", "anchoring", "u", "a", UPTAKE, ANCHORING, (0.0, 20.0), (0.0, 5.0))
GRIDS: dict[str, Grid] = {
    "log_odds": Grid("log_odds", *_LOG_ODDS),
    "social_log_odds": Grid("social_log_odds", *_LOG_ODDS),
    "exposure": Grid("exposure", "pull", "anchor", "pull", "anchor", UPTAKE, SHARES, (0.0, 1.0), (0.0, 1.0)),
    "bounded_confidence": Grid(
        "bounded_confidence", "convergence", "tolerance", "mu", "eps", UPTAKE, TOLERANCE, (0.0, 1.0), (0.0, 2.0)
    ),
    "averaging": Grid(
        "averaging", "weight_on_others", "stubbornness", "w", "g", UPTAKE, SHARES, (0.0, 1.0), (0.0, 1.0)
    ),
}


def grid_of(rule: str) -> Grid:
    """The grid of a rule.

    Raises
    ------
    UnknownName
        No rule that can be fitted.
    """
    if rule not in GRIDS:
        raise UnknownName("--rule", got=repr(rule), allowed=", ".join(GRIDS), do=did_you_mean(rule, GRIDS))
    return GRIDS[rule]
