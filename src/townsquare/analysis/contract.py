"""What a measure asks of a recorded run: tables of :mod:`townsquare.core.schema`, and what the run says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import Any, Protocol, TypeVar

import polars as pl

from townsquare.core.errors import TownsquareError
from townsquare.core.frames import collected
from townsquare.core.schema import TABLES

T = TypeVar("T")


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


MOST_KEPT = 5_000_000
"""Rows up to which a large table is kept in memory; a larger one is scanned by each measure, for its columns only.
At this size exposures, beliefs and the trail take some 0.5 GiB together."""
_READ_ONCE = {
    "actions": "step agent kind target status reason reasoning",
    "follows": "step follower followed change",
}
_LARGE = {
    "exposures": "step agent rank post root author under verdict note first_seen weight",
    "beliefs": "step agent proposition stance confidence",
    "trail": "step agent proposition kind rank post amount trust",
}
"""Columns that measures and pages ask for lazily, of tables that are worth keeping."""


class CachedRun:
    """A run as it stood when this was made, each table read once: for the many measures of one report.

    Lazy frames are scanned again by each measure, for its columns only; but actions and follows, which most measures
    read and no recorder keeps in a quick format, are read once, without their texts. Steps that a running simulation
    commits meanwhile are left out.

    Parameters
    ----------
    run : Reads
    large : bool
        Keep exposures, beliefs and the trail too, where they fit into memory.
    """

    def __init__(self, run: Reads, *, large: bool = False) -> None:
        self._run = run
        self._light = {**_READ_ONCE, **(_LARGE if large else {})}
        self._answers: dict[str, Any] = {}
        self.settings = run.settings
        self.version = run.version
        self.state = run.state
        self.last_step = run.last_step
        self.content_hash = run.content_hash

    def once(self, name: str, answer: Callable[[], T]) -> T:
        """What ``answer`` gives, asked once: a run does not change behind a step."""
        if name not in self._answers:
            self._answers[name] = answer()
        found: T = self._answers[name]
        return found

    def table(self, name: str) -> pl.DataFrame:
        """All rows of a table, read at the first call."""
        return self.once(f"table {name}", lambda: self._so_far(name, self._run.table(name).lazy()).pipe(collected))

    def lazy(self, name: str) -> pl.LazyFrame:
        """The same, to be collected."""
        rows = self._so_far(name, self._run.lazy(name))
        if name not in self._light or (name in _LARGE and not self.once(f"fits {name}", lambda: fits(rows))):
            return rows
        return self.once(f"lazy {name}", lambda: rows.select(self._light[name].split()).pipe(collected)).lazy()

    def _so_far(self, name: str, rows: pl.LazyFrame) -> pl.LazyFrame:
        stepped = any(column.name == "step" for column in TABLES[name].recorded)
        return rows.filter(pl.col("step") <= self.last_step) if stepped else rows


Measure = Callable[[Reads], pl.DataFrame]


def once_a_run(measure: Measure) -> Measure:
    """Make a measure be taken once of a :class:`CachedRun`, since other measures start from it."""

    name = f"{measure.__module__}.{measure.__name__}"

    @wraps(measure)
    def cached(run: Reads) -> pl.DataFrame:
        return run.once(name, lambda: measure(run)) if isinstance(run, CachedRun) else measure(run)

    return cached


def fits(rows: pl.LazyFrame) -> bool:
    """Whether a large table may be kept in memory."""
    return int(rows.select(pl.len()).pipe(collected).item()) <= MOST_KEPT


_DTYPES = {"": pl.Float64, "str": pl.String, "int": pl.Int64, "row": pl.Int32}


def columns(described: str) -> pl.Schema:
    """The schema of a result: names of columns, each a real number unless it says ``:str``, ``:int`` or ``:row``.

    A ``row`` is a step or a row of a table (int32).

    >>> columns("step:row measure:str value")
    Schema([('step', Int32), ('measure', String), ('value', Float64)])
    """
    return pl.Schema((name, _DTYPES[kind]) for name, _, kind in (word.partition(":") for word in described.split()))


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
