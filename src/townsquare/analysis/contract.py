"""The contract of measures, and the recorded run that they read."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Literal, Protocol, TypeVar

import polars as pl

from townsquare.core import registry
from townsquare.core.frames import ORDERED, collected
from townsquare.core.member_errors import breach, call_member
from townsquare.core.schema import TABLES

T = TypeVar("T")


class Reads(Protocol):
    """A recorded run as measures read it, for example a :class:`townsquare.record.run.Run`.

    Frames have the recorded columns of the schema, and committed steps only. Codes are numbers (``uint8``); references
    to rows of other tables are ``int32``, with -1 for none.
    """

    @property
    def settings(self) -> Mapping[str, Any]:
        """The resolved configuration, nested as in :class:`townsquare.settings.config.Config`."""

    @property
    def last_step(self) -> int:
        """The last committed step; 0 if only the initial state is recorded, -1 if nothing is."""

    @property
    def state(self) -> str:
        """``finished`` if the run reached its last step, else ``running`` or ``stopped``."""

    @property
    def content_hash(self) -> str:
        """Hash of all committed steps, hexadecimal."""

    @property
    def version(self) -> str:
        """Version of the package that recorded it."""

    def table(self, name: str) -> pl.DataFrame:
        """Return all rows of a table."""

    def lazy(self, name: str) -> pl.LazyFrame:
        """Return all rows of a table as a lazy frame: for tables that may have millions of rows."""


MOST_KEPT = 5_000_000
"""Rows up to which a large table is kept in memory; a larger one is scanned by each measure, for its columns only.
At this size exposures, beliefs and the trail take some 0.5 GiB together."""
_READ_ONCE = {
    "actions": "step agent kind target status reason reasoning",
    "beliefs": "step agent proposition stance confidence",
    "follows": "step follower followed change",
}
_LARGE = {
    "exposures": "step agent rank post root author under slot verdict note first_seen weight",
    "trail": "step agent proposition kind rank post amount trust",
}
"""Columns that measures and pages ask for lazily, of tables that are worth keeping."""


class CachedRun:
    """A snapshot of a run in which each table is read once: for the many measures of one report.

    Lazy frames are scanned again by each measure, for its columns only; but actions, beliefs and follows, which most
    measures read, are read once, without their texts. Steps that a running simulation
    commits meanwhile are left out.

    Parameters
    ----------
    run : Reads
    large : bool
        Whether to keep exposures and the trail too.
    keep : mapping of str to str, optional
        Further tables to keep, with the columns that are asked for, separated by spaces.
    """

    def __init__(self, run: Reads, *, large: bool = False, keep: Mapping[str, str] | None = None) -> None:
        self._run = run
        self.counts: Mapping[str, int] = getattr(run, "counts", {})
        self.folder = getattr(run, "folder", None)
        self._light = {**_READ_ONCE, **(_LARGE if large else {}), **(keep or {})}
        self._answers: dict[str, Any] = {}
        self.settings = run.settings
        self.version = run.version
        self.state = run.state
        self.last_step = run.last_step
        self.content_hash = run.content_hash

    def once(self, name: str, answer: Callable[[], T]) -> T:
        """Return what ``answer`` gives, asked once: a run does not change behind a step."""
        if name not in self._answers:
            self._answers[name] = answer()
        stored: T = self._answers[name]
        return stored

    def table(self, name: str) -> pl.DataFrame:
        """Return all rows of a table, read at the first call."""
        return self.once(f"table {name}", lambda: self._so_far(name, self._run.table(name).lazy()).pipe(collected))

    def lazy(self, name: str) -> pl.LazyFrame:
        """Return the same, to be collected."""
        rows = self._so_far(name, self._run.lazy(name))
        if name not in self._light or not fits(self, name):
            return rows
        # The streaming engine takes several times as long for a table in hundreds of parts.
        wanted = rows.select(self._light[name].split())
        return self.once(f"lazy {name}", lambda: collected(wanted, ORDERED)).lazy()

    def whole(self) -> CachedRun:
        """Return the same run with all columns in lazy frames, not only those that bundled members ask for."""
        whole_run = copy(self)
        whole_run._light = {}
        return whole_run

    def _so_far(self, name: str, rows: pl.LazyFrame) -> pl.LazyFrame:
        stepped = any(column.name == "step" for column in TABLES[name].recorded)
        return rows.filter(pl.col("step") <= self.last_step) if stepped else rows


TableOf = Callable[[Reads], pl.DataFrame]


def once_a_run(measure: Callable[[Reads], T]) -> Callable[[Reads], T]:
    """Make a measure be taken once of a :class:`CachedRun`, since other measures start from it."""

    name = f"{measure.__module__}.{measure.__name__}"

    @wraps(measure)
    def cached(run: Reads) -> T:
        return run.once(name, lambda: measure(run)) if isinstance(run, CachedRun) else measure(run)

    return cached


# The family `measure`.


FAMILY = "measure"
Direction = Literal["higher is better", "lower is better", "neither"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of a recorded run, for reports, ``analyze``, ``compare`` and the viewer.

    A measure has at least one of ``number``, ``by_proposition``, ``table`` and ``paired``. It changes nothing, and
    returns the same values for the same run.

    Attributes
    ----------
    name : str
        As registered: letters, digits and ``_``.
    unit : str
        The unit of the values; ``by column`` for a table whose columns have different units.
    direction : str
        Which values are better: ``higher is better``, ``lower is better`` or ``neither``.
    definition : str
        The definition in one plain sentence.
    number : callable, optional
        ``number(run)``: the value at the last committed step; NaN if it is undefined.
    by_proposition : callable, optional
        Instead of ``number``: a value for each proposition, by its name.
    table : callable, optional
        ``table(run)``: a tidy frame, written as CSV.
    paired : callable, optional
        ``paired(run, baseline)``: a tidy frame that compares a run with the paired run without moderation.
    title : str
        The name in tables and figures; by default the name in words.
    higher : str
        What a higher value means, in a few words.
    undefined : str
        When the number is NaN; "" if it never is.
    group : str
        Numbers of one group share a unit and, in figures, an axis; by default each is a separate group.
    needs_trail : bool
        Whether the measure reads the trail, which ``record.trail=false`` leaves out.
    main : bool
        Whether short tables and the page of a multiverse show the measure.
    """

    name: str
    unit: str
    direction: Direction
    definition: str
    number: Callable[[Reads], float] | None = None
    by_proposition: Callable[[Reads], Mapping[str, float]] | None = None
    table: TableOf | None = None
    paired: Callable[[Reads, Reads], pl.DataFrame] | None = None
    title: str = ""
    higher: str = ""
    undefined: str = ""
    group: str = ""
    needs_trail: bool = False
    main: bool = True

    @property
    def heading(self) -> str:
        """The title; by default the name in words."""
        return self.title or self.name.replace("_", " ").capitalize()

    @property
    def is_number(self) -> bool:
        """Whether the measure is a number, or a number for each proposition."""
        return self.number is not None or self.by_proposition is not None

    def numbers(self, run: Reads) -> dict[str, float]:
        """Return the numbers of the measure by name, those of propositions as ``name.proposition``; none for tables.

        Raises
        ------
        ContractError
            A value is no real number.
        """
        values: dict[str, object] = {}
        run = given_to(FAMILY, self.name, run)
        if self.number is not None:
            values = {self.name: call_member(FAMILY, self.name, "number", partial(self.number, run))}
        elif self.by_proposition is not None:
            each = call_member(FAMILY, self.name, "by_proposition", partial(self.by_proposition, run))
            values = {f"{self.name}.{proposition}": value for proposition, value in each.items()}
        for value in values.values():
            if not isinstance(value, int | float):
                raise breach(FAMILY, self.name, f"a {type(value).__name__}", "a real number, or NaN")
        return {name: float(value) for name, value in values.items() if isinstance(value, int | float)}


def given_to(family: str, name: str, run: Reads) -> Reads:
    """Return the run as a member gets it: those of other packages may ask for any column."""
    return run.whole() if isinstance(run, CachedRun) and name not in registry.bundled(family) else run


def measure(name: str) -> Measure:
    """Return the registered measure called ``name``. Of a function that gives a table, its docstring says what it is.

    Raises
    ------
    UnknownName
        There is none.
    ContractError
        What is registered is no measure.
    """
    member = registry.get(FAMILY, name)
    if isinstance(member, Measure):
        return member
    if not (callable(member) and name in registry.bundled(FAMILY)):
        raise breach(FAMILY, name, f"a {type(member).__name__}", "a Measure")
    return described(name, member)


def described(name: str, table: TableOf, *, definition: str = "", needs_trail: bool = False) -> Measure:
    """Return a function that gives a table as a measure, which its docstring defines unless ``definition`` does."""
    what = definition or definition_of(table)
    return Measure(name, "by column", "neither", what, table=table, needs_trail=needs_trail)


def definition_of(function: Callable[..., pl.DataFrame]) -> str:
    """Return the summary of a docstring, without the marks of cross-references."""
    summary = (inspect.getdoc(getattr(function, "func", function)) or "").partition("\n\n")[0].replace("\n", " ")
    return re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"\1", summary)


def fits(run: Reads, name: str) -> bool:
    """Return whether a table may be kept in memory, going by the counts of a run that has them."""
    return int(getattr(run, "counts", {}).get(name, 0)) <= MOST_KEPT


_DTYPES = {"": pl.Float64, "str": pl.String, "int": pl.Int64, "row": pl.Int32}


def columns(described: str) -> pl.Schema:
    """Return the schema of a result: names of columns, floats unless marked ``:str``, ``:int`` or ``:row``.

    A ``row`` is a step or a row of a table (int32).

    >>> columns("step:row measure:str value")
    Schema([('step', Int32), ('measure', String), ('value', Float64)])
    """
    return pl.Schema((name, _DTYPES[kind]) for name, _, kind in (word.partition(":") for word in described.split()))


def row_count(name: str) -> pl.Expr:
    """Count the rows of a group, as an int64 column of this name."""
    return pl.len().cast(pl.Int64).alias(name)


def int_sum(values: pl.Expr, name: str) -> pl.Expr:
    """Add up counts, or the rows that meet a condition, as an int64 column of this name."""
    return values.sum().cast(pl.Int64).alias(name)


def ratio(part: float, whole: float) -> float:
    """Return a part over the whole; NaN of nothing."""
    return part / whole if whole else math.nan


def setting(run: Reads, *path: str, default: Any = None) -> Any:
    """Return one value of the configuration, or ``default`` where a run has none.

    A run of a member from outside may lack sections; a measure then falls back instead of failing.
    """
    value: Any = run.settings
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return default
        value = value[name]
    return value


def section_over_time(run: Reads, section: str, member: str) -> list[dict[str, Any]]:
    """Return the settings of a section in force at the start, and after each event in order of steps.

    ``member`` is the setting that a section without keys represents: ``strategy`` in ``moderation: community``.
    """
    start = setting(run, section, default={})
    phases, prefix = [{**start.get("unused", {}), **start}], f"{section}."
    for event in sorted(setting(run, "events", default=()), key=lambda event: int(event["step"])):
        given = event.get("set") or {}
        whole = given.get(section) or {}
        whole = {member: whole} if isinstance(whole, str) else whole
        single = {path.removeprefix(prefix): value for path, value in given.items() if path.startswith(prefix)}
        if int(event["step"]) <= run.last_step:
            phases.append({**phases[-1], **whole, **single})
    return phases
