"""Tables of text: one value that the terminal, the pages, CSV and Markdown show alike."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_STEPS = 25
"""Steps that a table lists at most; longer courses are thinned evenly, first and last step kept."""

Format = Callable[[Any], str]
Columns = Sequence[Any]
"""A format, and the columns that are written by it: ``(number, "step", "people=agents")``.

Each column is the name of a value, after its heading and ``=`` where the two differ."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text, to be escaped by whoever shows them. ``words`` are the columns of words, aligned left."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Collection[int] = frozenset({0})
    note: str = ""


def table(caption: str, rows: Any, *columns: Columns, note: str = "", words: Collection[str] | None = None) -> Table:
    """Make a table from a frame or from other rows.

    Parameters
    ----------
    caption : str
    rows : DataFrame, or iterable of mappings, named tuples, objects or tuples
        A frame is thinned to ``MOST_STEPS`` values of its column ``step``. Values of a tuple are taken in order.
    *columns : (callable, str, ...)
        Groups of columns, see :data:`Columns`; a format gets every value, ``None`` too.
    note : str
        What stands below the table; by default how many steps are listed of a thinned frame.
    words : collection of str, optional
        Headings of the columns of words; by default those in which a value is a text.

    Returns
    -------
    Table

    >>> table("Fruit", [{"name": "pear", "n": 1200}], (str, "fruit=name"), ("{:,}".format, "n"))
    Table(caption='Fruit', head=['fruit', 'n'], rows=[['pear', '1,200']], words={0}, note='')
    """
    if hasattr(rows, "iter_rows"):
        rows, thinned = _thinned(rows)
        rows, note = rows.iter_rows(named=True), note or thinned
    named = [(*column.rpartition("="), group[0]) for group in columns for column in group[1:]]
    head = [heading if equals else name for heading, equals, name, _ in named]
    values = [[_value(row, at, name) for at, (_, _, name, _) in enumerate(named)] for row in rows]
    cells = [[format_(value) for value, (*_, format_) in zip(row, named, strict=True)] for row in values]
    if words is None:
        at_left = {at for row in values for at, value in enumerate(row) if isinstance(value, str)}
    else:
        at_left = {at for at, heading in enumerate(head) if heading in words}
    return Table(caption, head, cells, at_left, note)


def turned(caption: str, head: Sequence[str], records: Any, *columns: Columns) -> Table:
    """Make a table with a row for each column of :func:`table`, and a column of values for each record.

    >>> turned("Fruit", ["", "pear"], [{"n": 12, "sold": 3}], (str, "number=n", "sold")).rows
    [['number', '12'], ['sold', '3']]
    """
    upright = table(caption, records, *columns)
    return Table(caption, head, [list(row) for row in zip(upright.head, *upright.rows, strict=True)])


def _value(row: Any, at: int, name: str) -> Any:
    if isinstance(row, Mapping):
        return row[name]
    return row[at] if type(row) in (tuple, list) else getattr(row, name)


def _thinned(frame: Any) -> tuple[Any, str]:
    """Return the rows of at most ``MOST_STEPS`` steps, and a note if that left some out."""
    steps = frame["step"].unique().sort().to_list() if "step" in frame.columns else []
    if len(steps) <= MOST_STEPS:
        return frame, ""
    last = len(steps) - 1
    listed = sorted({steps[round(i * last / (MOST_STEPS - 1))] for i in range(MOST_STEPS)})
    return frame.filter(frame["step"].is_in(listed)), f"{len(listed)} of {len(steps)} steps are listed."


def as_csv(shown: Table) -> str:
    """Write a table as CSV, with cells as they are shown."""
    return csv_text([shown.head, *shown.rows])


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV with line ends ``\\n``."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def as_text(shown: Table) -> str:
    """Write a table in columns of plain text, words to the left and numbers to the right."""
    lines = [shown.head, *shown.rows]
    columns = []
    for at, column in enumerate(zip(*lines, strict=True)):
        align, width = str.ljust if at in shown.words else str.rjust, max(map(len, column))
        columns.append([align(cell, width) for cell in column])
    aligned = ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]
    aligned.insert(1, "-" * max(map(len, aligned)))
    return "\n".join([shown.caption, "", *aligned, "", *([shown.note, ""] if shown.note else [])])


def as_markdown(shown: Table) -> str:
    """Write a table in Markdown, numbers to the right."""
    rule = ["---" if at in shown.words else "---:" for at in range(len(shown.head))]
    lines: Iterable[Sequence[str]] = [shown.head, rule, *shown.rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
