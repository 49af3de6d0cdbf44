"""What a measure asks of a recorded run: tables of :mod:`townsquare.core.schema`, and what the run says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, Protocol

import polars as pl

from townsquare.core.errors import TownsquareError
from townsquare.core.frames import collected
from townsquare.core.schema import TABLES


class Reads(Protocol):
    """A recorded run, as :class:`townsquare.record.run.Run` is one.

    Frames hold the recorded columns of the schema and committed steps only. Enumerated columns are numbers
    (``uint8``), rows of other tables are ``int32`` with -1 for none.
    """

    @property
    def settings(self) -> Mapping[str, Any]:
        """The resolved configuration, nested as in :class:`townsquare.settings.config.Config`."""

    @property
    def last_step(self) -> int:
        """The last committed step; 0 when only the start is recorded, -1 when not even that."""

    @property
    def state(self) -> str:
        """``finished`` when it reached its last step; ``running`` or ``stopped`` otherwise."""

    @property
    def content_hash(self) -> str:
        """Hash of all committed steps, hexadecimal."""

    @property
    def version(self) -> str:
        """Version of the package that recorded it."""

    def table(self, name: str) -> pl.DataFrame:
        """All rows of a table."""

    def lazy(self, name: str) -> pl.LazyFrame:
        """The same, read only when collected: for tables that may have millions of rows."""


class Kept:
    """A run as it stood when this was made, each table read once: for the many measures of one report.

    Lazy frames are scanned again by each measure, for its columns only; but actions, which most measures read and no
    recorder keeps in a quick format, are read once, without their texts. Steps that a running simulation commits
    meanwhile are left out.
    """

    _READ_ONCE: ClassVar = {
        "actions": ("step", "agent", "kind", "target", "status", "reason", "reasoning"),
        "follows": ("step", "follower", "followed", "change"),
    }

    def __init__(self, run: Reads) -> None:
        self._run = run
        self._tables: dict[str, pl.DataFrame] = {}
        self._light: dict[str, pl.DataFrame] = {}
        self.settings = run.settings
        self.version = run.version
        self.state = run.state
        self.last_step = run.last_step
        self.content_hash = run.content_hash

    def table(self, name: str) -> pl.DataFrame:
        """All rows of a table, read at the first call."""
        if name not in self._tables:
            self._tables[name] = self._so_far(name, self._run.table(name).lazy()).pipe(collected)
        return self._tables[name]

    def lazy(self, name: str) -> pl.LazyFrame:
        """The same, to be collected."""
        rows = self._so_far(name, self._run.lazy(name))
        if name not in self._READ_ONCE:
            return rows
        if name not in self._light:
            self._light[name] = rows.select(self._READ_ONCE[name]).pipe(collected)
        return self._light[name].lazy()

    def _so_far(self, name: str, rows: pl.LazyFrame) -> pl.LazyFrame:
        stepped = any(column.name == "step" for column in TABLES[name].recorded)
        return rows.filter(pl.col("step") <= self.last_step) if stepped else rows


def setting(run: Reads, *path: str, default: Any = None) -> Any:
    """One value of the configuration, or ``default`` where a run has none.

    A run of a member from outside may lack sections; a measure then falls back instead of failing.
    """
    value: Any = run.settings
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return default
        value = value[name]
    return value


# Libraries of the extra `analysis`: imported when a measure needs one, so that all others work without them.


class MissingExtra(TownsquareError):
    """A measure needs a library that is not installed."""


def library(name: str) -> Any:
    """A module of the extra.

    Raises
    ------
    MissingExtra
        It is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise
        raise MissingExtra(
            f"analysis with {name}", got="not installed", do="pip install 'townsquare[analysis]'"
        ) from None


# A run for many measures one after the other: large tables are read once too, where they fit into memory.


MOST_KEPT = 5_000_000
"""Rows up to which a table is kept in memory between measures; larger ones are scanned by each, for its columns only.
At this size exposures, beliefs and the trail take some 0.5 GiB together."""
_LARGE = ("exposures", "beliefs", "trail")


class Together(Kept):
    """As :class:`~townsquare.analysis.contract.Kept`, with exposures, beliefs and the trail kept too.

    Of each, the columns that any analysis or page asks for lazily.
    """

    _READ_ONCE: ClassVar = {
        **Kept._READ_ONCE,
        "exposures": (
            "step",
            "agent",
            "rank",
            "post",
            "root",
            "author",
            "under",
            "verdict",
            "note",
            "first_seen",
            "weight",
        ),
        "beliefs": ("step", "agent", "proposition", "stance", "confidence"),
        "trail": ("step", "agent", "proposition", "kind", "rank", "post", "amount", "trust"),
    }

    def lazy(self, name: str) -> pl.LazyFrame:
        """As in the class above."""
        if name in _LARGE and name not in self._light:
            rows = self._so_far(name, self._run.lazy(name))
            if rows.select(pl.len()).pipe(collected).item() > MOST_KEPT:
                return rows
        return super().lazy(name)
