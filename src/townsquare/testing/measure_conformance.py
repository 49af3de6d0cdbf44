"""Conformance checks of measures and of report sections, for anyone's member."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, get_args

import polars as pl

from townsquare.analysis.beliefs import names
from townsquare.analysis.contract import FAMILY, Direction, Measure
from townsquare.core.errors import ContractError
from townsquare.core.member_errors import breach, call_member
from townsquare.core.text_table import Table
from townsquare.record.run import Run
from townsquare.scenario.settings import resolve_with_scenario
from townsquare.simulation.run import simulate

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_KEY = re.compile(r"[A-Za-z0-9-]+")


@cache
def runs_to_measure() -> tuple[Run, Run]:
    """Return a run in which much happens, and one in which nobody does anything and nothing is injected."""
    busy = {"scenario": "health-rumor@1", "agents": 24, "steps": 4, "moderation": {"strategy": "hybrid"}}
    idle = {"agents": 5, "steps": 1, "policy": {"name": "silent"}, "injection": {"posts_per_step": 0}}
    much, nothing = (simulate(resolve_with_scenario({**busy, **more})) for more in ({}, idle))
    return much, nothing


def check_measure(measure: Measure) -> None:
    """Raise if a measure breaks its contract.

    Checked, on a run in which much happens and on one in which nothing does: name, unit, direction and definition are
    there; the run is only read; the same run gives the same; a number is finite, or NaN where the measure says when
    that is; a number for each proposition names just these; a table has the same columns in every run.

    Raises
    ------
    ContractError
        For the first thing that broke.
    """
    broken = partial(breach, FAMILY, measure.name)
    if not _NAME.fullmatch(measure.name):
        raise broken("a name with other characters", "letters, digits and _")
    if not measure.unit or measure.direction not in get_args(Direction):
        raise broken(f"unit {measure.unit!r}, direction {measure.direction!r}", " / ".join(get_args(Direction)))
    if "\n" in measure.definition or not measure.definition.endswith("."):
        raise broken(f"the definition {measure.definition!r}", "a sentence on one line that ends with a full stop")
    if not (measure.is_number or measure.table or measure.paired):
        raise broken("neither a number nor a table", "number, by_proposition, table or paired")
    schemas = set()
    for run in runs_to_measure():
        _check_numbers(measure, run, broken)
        for frame in _frames(measure, run, broken):
            schemas.add(tuple(frame.schema.items()))
        with_only_reading(broken, run)
    if len(schemas - {()}) > (1 if measure.table is None or measure.paired is None else 2):
        raise broken("other columns where nothing happened", "the same columns in every run")


def with_only_reading(broken: Callable[..., ContractError], run: Run) -> None:
    """Raise if a run is not what it was recorded as."""
    if run.verify() != run.content_hash:
        raise broken("a changed run", "a run that is only read")


def _check_numbers(measure: Measure, run: Run, broken: Callable[..., ContractError]) -> None:
    first, second = measure.numbers(run), measure.numbers(run)
    if repr(first) != repr(second):
        raise broken(f"{first}, then {second}", "the same for the same run")
    for name, value in first.items():
        if math.isinf(value):
            raise broken(f"{name} is {value}", "a finite number, or NaN")
        if math.isnan(value) and not measure.undefined:
            raise broken(f"{name} is NaN", "a measure that says in `undefined` when it is")
    wanted = {f"{measure.name}.{name}" for name in names(run)["name"]}
    if measure.by_proposition is not None and set(first) != wanted:
        raise broken(f"numbers for {sorted(first)}", f"one for each proposition: {sorted(wanted)}")


def _frames(measure: Measure, run: Run, broken: Callable[..., ContractError]) -> Iterator[pl.DataFrame]:
    makers: tuple[tuple[Any, tuple[Run, ...]], ...] = (measure.table, (run,)), (measure.paired, (run, run))
    for make, runs in makers:
        if make is None:
            continue
        first, second = (call_member(FAMILY, measure.name, "the table", partial(make, *runs)) for _ in range(2))
        if not isinstance(first, pl.DataFrame):
            raise broken(f"a {type(first).__name__}", "a polars DataFrame")
        if not first.equals(second):
            raise broken("another table for the same run", "a function of the run alone")
        yield first


def check_section(name: str, section: Callable[[Run], Any]) -> None:
    """Raise if a section of the page of a run breaks its contract.

    Checked, as :func:`check_measure` does: the run is only read; the same run gives the same; key, title and captions
    are there; keys of figures differ; every figure can be drawn; a section with figures has a table; tables are whole.

    Raises
    ------
    ContractError
        For the first thing that broke.
    """
    broken = partial(breach, "section", name)
    for run in runs_to_measure():
        first, second = (call_member("section", name, "the section", partial(section, run)) for _ in range(2))
        with_only_reading(broken, run)
        if first is not None:
            call_member("section", name, "the section", partial(_check_section, first, second, broken))


def _check_section(section: Any, again: Any, broken: Callable[..., ContractError]) -> None:
    if not _KEY.fullmatch(section.key) or not section.title:
        raise broken(f"key {section.key!r}, title {section.title!r}", "a key of letters, digits and -, and a title")
    keys = [figure.key for figure in section.figures]
    if len(set(keys)) < len(keys) or not all(map(_KEY.fullmatch, keys)):
        raise broken(f"figures with the keys {keys}", "keys of letters, digits and -, each once")
    tables: list[Table] = [*section.tables, *section.open_tables]
    if keys and not tables:
        raise broken("figures without a table", "the numbers of figures in a table")
    for table in tables:
        if not table.caption or any(len(row) != len(table.head) for row in table.rows):
            raise broken(f"the table {table.caption!r}", "a caption, and as many cells in each row as in the head")
    for first, second in zip(section.figures, again.figures, strict=True):
        if not first.caption:
            raise broken(f"the figure {first.key!r} without a caption", "a caption")
        if first.svg != second.svg:
            raise broken(f"another figure {first.key!r} for the same run", "a function of the run alone")
    if (section.says, tables) != (again.says, [*again.tables, *again.open_tables]):
        raise broken("other sentences or tables for the same run", "a function of the run alone")
