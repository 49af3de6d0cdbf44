"""Profiles of uptake and anchoring: which (u, a) each agent has, where a run does not give all of them the same.

A file has a profile a row: its name, u, a and, where there, its share of the agents relative to the others'. Each agent
draws one for life, by its id alone: so arms share the assignment, and who joins later shifts nobody.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.core.draws import StageDraws
from townsquare.core.errors import DataError
from townsquare.core.files import find
from townsquare.core.registry import did_you_mean
from townsquare.core.tabular import Record, Records, read_csv, read_jsonl

Float = npt.NDArray[np.float64]

COLUMNS = ("profile", "u", "a", "share")
LONGEST = 200
LARGEST = 1000.0
"""Of u, a and shares: far beyond anything that is meant."""


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

    def drawn(self, agents: npt.ArrayLike, draws: StageDraws) -> npt.NDArray[np.int64]:
        """Which profile each agent has, (n,), from 0: by share, for life."""
        ends = np.cumsum(self.share)
        return np.asarray(
            np.searchsorted(ends[:-1], draws.uniform("profile", agents, lasting=True) * ends[-1], side="right"),
            np.int64,
        )

    def own(self, number: npt.NDArray[np.int64]) -> Mapping[str, Float]:
        """The settings of a rule that agents with these profiles have of their own."""
        return {"uptake": self.uptake[number], "anchoring": self.anchoring[number]}


def read_profiles(path: Path) -> Profiles:
    """The profiles of a CSV or a file of JSON lines with ``profile``, ``u``, ``a`` and perhaps ``share`` (else 1).

    Raises
    ------
    DataError
        No rows; a column is missing or not known; a name twice; a number is out of range. Names file, row and column.
    """
    table = read_jsonl(path) if path.suffix.lower() in (".jsonl", ".ndjson") else read_csv(path)
    _check_columns(table)
    names = tuple(_name(record) for record in table.records)
    for at, name in enumerate(names):
        if name in names[:at]:
            raise DataError(table.records[at].where("profile"), got=f"{name!r} again", allowed="each name once")
    u, a = (np.array([_number(record, key, 0.0) for record in table.records]) for key in ("u", "a"))
    tiny = math.ulp(0.0)
    share = np.array([_number(record, "share", tiny, default=1.0) for record in table.records])
    return Profiles(names, u, a, share)


def profiles_of(params: object, folder: Path | None) -> Profiles | None:
    """The profiles that the settings of a rule name, looked for in ``folder`` first; None if they name none.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    path = getattr(params, "profiles", "")
    return read_profiles(find(path, folder)) if path else None


def _check_columns(table: Records) -> None:
    for column in table.columns:
        if column not in COLUMNS:
            do = did_you_mean(column, COLUMNS)
            raise DataError(f"{table.place}, header", got=f"the column {column!r}", allowed=", ".join(COLUMNS), do=do)
    for column in COLUMNS[:3]:
        if column not in table.columns:
            got = "columns " + ", ".join(table.columns)[:300]
            raise DataError(f"{table.place}, header", got=got, allowed=f"a column {column!r}")
    if not table.records:
        raise DataError(table.place, got="no rows", allowed="at least one profile")


def _name(record: Record) -> str:
    value = record.cells.get("profile")
    name = "" if value is None else str(value).strip()
    if not 0 < len(name) <= LONGEST:
        got = f"{len(name)} characters" if name else "nothing"
        raise DataError(record.where("profile"), got=got, allowed=f"a name of at most {LONGEST} characters")
    return name


def _number(record: Record, column: str, least: float, default: float | None = None) -> float:
    value = record.cells.get(column)
    if default is not None and value in (None, ""):
        return default
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not least <= number <= LARGEST:
        allowed = f"a number {'above 0, at most' if least > 0 else 'from 0 to'} {LARGEST:g}"
        raise DataError(record.where(column), got=repr(value)[:80], allowed=allowed)
    return number
