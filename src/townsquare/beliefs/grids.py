"""Grids of the two settings of a belief rule that are fitted to people.

A rule names them in its ``Params``: ``setting(0.1, "...", ge=0, le=1, grid=UPTAKE)``. The first setting with a grid, x,
says how far what is received moves a person; the second, y, how strongly the start is held, or how far off the person
still listens. What else a rule has is at its defaults.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from townsquare.beliefs.contract import BeliefRule
from townsquare.core import registry
from townsquare.core.errors import ContractError, SettingError

UPTAKE = (0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
ANCHORING = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.5)
"""The grids of the Belief Engine's paper (appendix E)."""
SHARES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
DISTANCES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
_BEYOND = 10.0  # times its largest value: how far a number without an upper limit is searched


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
        """Return how many values of x and of y."""
        return len(self.x), len(self.y)

    def cell(self, number: int) -> tuple[float, float]:
        """Return x and y of a cell, counted along y first.

        >>> grid_of("log_odds").cell(14)
        (0.01, 0.05)
        """
        return self.x[number // len(self.y)], self.y[number % len(self.y)]


def grid_of(name: str) -> Grid:
    """Return the grid of a registered rule.

    Raises
    ------
    UnknownName
        No such rule.
    SettingError, ContractError
        As :func:`grid_in`.
    """
    registry.check_known("--rule", name, registry.names("beliefs"))
    return grid_in(registry.get("beliefs", name))


def grid_in(rule: BeliefRule) -> Grid:
    """Return the grid that a rule declares in its ``Params``.

    Raises
    ------
    SettingError
        Not two of its settings have a grid; says which have none, and what to write.
    ContractError
        A grid that is not ascending, of one value, outside the limits of its setting, or of a setting that is no float.
    """
    pieces, named = _pieces(rule), fitted_names(rule)
    if len(named) != 2:
        floats = [name for name, value in rule.params().model_dump().items() if isinstance(value, float)]
        others = [name for name in floats if name not in named]
        got = f"{rule.name!r}, which has a grid on {', '.join(named) or 'none of its settings'}"
        some = others[0] if len(others) == 1 else f"some of {', '.join(others)}"
        do = (
            f"in its Params write {some} as setting(default, meaning, ge=0, le=1, grid=(0.1, 0.2, 0.4))"
            if others
            else ""
        )
        if len(named) > 2:
            do = f"in its Params leave `grid=` on two of {', '.join(named)}; the others stay at their defaults in a fit"
        allowed = "a rule with a grid on two settings: how far messages move a person, and how the start is held"
        raise SettingError("--rule", got=got, allowed=allowed, do=do)
    (x_short, x, x_bounds), (y_short, y, y_bounds) = (_axis(rule, name, pieces[name]) for name in named)
    return Grid(rule.name, named[0], named[1], x_short, y_short, x, y, x_bounds, y_bounds)


def fitted_names(rule: BeliefRule) -> list[str]:
    """Return the settings of a rule that have a grid, in their order."""
    return [name for name, piece in _pieces(rule).items() if "grid" in piece]


def _pieces(rule: BeliefRule) -> dict[str, Any]:
    pieces: dict[str, Any] = rule.params.model_json_schema(by_alias=False).get("properties", {})
    return pieces


def _axis(rule: BeliefRule, name: str, piece: dict[str, Any]) -> tuple[str, tuple[float, ...], tuple[float, float]]:
    """Return what tables call a setting, the values that are tried, and the bounds of a continuous search."""
    values = tuple(map(float, piece["grid"]))
    low, high = piece.get("minimum", values[0]), piece.get("maximum", piece.get("search_to", _BEYOND * values[-1]))
    ascending = len(values) > 1 and all(before < after for before, after in pairwise(values))
    if piece.get("type") != "number" or not ascending or not low <= values[0] <= values[-1] <= high:
        got, allowed = f"{name}, grid={values}", f"two or more ascending values from {low:g} to {high:g}, of a float"
        raise ContractError(f"belief rule {rule.name!r}", got=got, allowed=allowed)
    return str(piece.get("symbol", name)), values, (float(low), float(high))
