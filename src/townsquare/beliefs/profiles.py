"""Profiles of uptake and anchoring: the (u, a) of each agent in runs where agents differ.

A file has a profile a row: its name, u, a and, where there, its share of the agents relative to the others'. Each agent
draws one for life, by its id alone: so arms share the assignment, and who joins later shifts nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Float, Int64
from townsquare.core.cells import Column, names, numbers, read_columns
from townsquare.core.draws import StageDraws
from townsquare.core.files import find
from townsquare.core.tabular import read_table

LARGEST = 1000.0
"""Of u, a and shares: far beyond anything that is meant."""
COLUMNS = (
    Column("profile", names(), needed=True, unique=True),
    *(Column(name, numbers(0, LARGEST, None), needed=True) for name in ("u", "a")),
    Column("share", numbers(0, LARGEST, 1.0, above=True)),
)


class Profiles(NamedTuple):
    """The k profiles of a file.

    Attributes
    ----------
    name : tuple of str
        Each once; untrusted.
    uptake, anchoring : (k,) float64
        u and a, at least 0; neither is bounded by 1.
    share : (k,) float64
        Of the agents, relative to the others'; above 0.
    """

    name: tuple[str, ...]
    uptake: Float
    anchoring: Float
    share: Float

    def drawn(self, agents: npt.ArrayLike, draws: StageDraws) -> Int64:
        """Return which profile each agent has, (n,), from 0: by share, for life."""
        ends = np.cumsum(self.share)
        drawn = draws.uniform("profile", agents, lasting=True) * ends[-1]
        return np.asarray(np.searchsorted(ends[:-1], drawn, side="right"), np.int64)

    def own(self, number: Int64) -> Mapping[str, Float]:
        """Return the settings of a rule that agents with these profiles have of their own."""
        return {"uptake": self.uptake[number], "anchoring": self.anchoring[number]}


def read_profiles(path: Path) -> Profiles:
    """Read profiles from CSV or JSON lines with ``profile``, ``u``, ``a`` and optionally ``share`` (else 1).

    Raises
    ------
    DataError
        No rows; a column is missing or not known; a name twice; a number is out of range. Names file, row and column.
    """
    sheet = read_columns(read_table(path), COLUMNS, least="at least one profile")
    u, a, share = (np.array(sheet[name], np.float64) for name in ("u", "a", "share"))
    return Profiles(tuple(sheet["profile"]), u, a, share)


def profiles_of(params: object, folder: Path | None) -> Profiles | None:
    """Return the profiles that the settings of a rule name, looked for in ``folder`` first; None if they name none.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    path = getattr(params, "profiles", "")
    return read_profiles(find(path, folder)) if path else None
