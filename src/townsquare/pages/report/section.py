"""Sections of a page: sentences, figures and tables; and the family of sections on the page of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from townsquare.analysis.beliefs import statements
from townsquare.analysis.clock import clock_of, in_words
from townsquare.analysis.contract import Reads, given_to
from townsquare.core import registry
from townsquare.core.member_errors import breach, call_member
from townsquare.core.text_table import Table
from townsquare.pages.report.svg import Figure

FAMILY = "section"


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a report.

    ``key`` is its unique anchor in the page: letters, digits and ``-``. ``says`` are the sentences above the figures,
    ``notes`` explain how to read the figures, ``tables`` are folded tables with the data of the figures, and
    ``open_tables`` are tables that are not folded.
    """

    key: str
    title: str
    says: Sequence[str] = ()
    notes: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    open_tables: Sequence[Table] = ()


def with_statements(run: Reads, frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose column ``name`` holds the statement of each proposition in place of its key."""
    statement = pl.col("name").replace_strict(statements(run), default=pl.col("name"), return_dtype=pl.String)
    return frame.with_columns(statement)


SectionOf = Callable[[Reads], Section | None]
"""A member of the family: returns a section for a run, or None where it does not apply.

It changes nothing, returns the same section for the same run, and gives the numbers of its figures in a table.
"""


def section(name: str, run: Reads) -> Section | None:
    """Return the section that the registered member ``name`` makes of a run.

    Raises
    ------
    ContractError
        The member raised an error or returned something else; the error names it.
    """
    member = partial(registry.get(FAMILY, name), given_to(FAMILY, name, run))
    made: object = call_member(FAMILY, name, "the section", member)
    if made is not None and not isinstance(made, Section):
        raise breach(FAMILY, name, f"a {type(made).__name__}", "a Section, or None")
    hours = clock_of(run).hours
    if made is None or hours is None:
        return made
    tables, open_tables = ([timed(each, hours) for each in group] for group in (made.tables, made.open_tables))
    return replace(made, tables=tables, open_tables=open_tables)


def timed(shown: Table, hours: float) -> Table:
    """Return a table with lengths of time in the place of steps and ages in steps, which last ``hours``.

    >>> shown = timed(Table("Posts by step", ["step", "n"], [["1,008", "5"]]), 0.25)
    >>> shown.caption, shown.head, shown.rows
    ('Posts over time', ['time', 'n'], [['10 d 12 h', '5']])
    """
    columns = {at for at, name in enumerate(shown.head) if name in _IN_STEPS}
    if not columns:
        return shown
    rows = [[_time(cell, hours) if at in columns else cell for at, cell in enumerate(row)] for row in shown.rows]
    caption, note = shown.caption.replace("by step", "over time"), shown.note.replace("steps", "times")
    head = [_IN_STEPS.get(name, name) for name in shown.head]
    return replace(shown, caption=caption, head=head, rows=rows, note=note)


_IN_STEPS = {"step": "time", "age": "age"}


def _time(cell: str, hours: float) -> str:
    steps = cell.replace(",", "")
    return in_words(int(steps) * hours) if steps.isdecimal() else cell
