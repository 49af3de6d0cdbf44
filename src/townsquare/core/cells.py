"""Read tables by a list of columns: what each is called, what its cells may hold, what an empty cell means.

Every error names file, row and column, what came, what is allowed and what to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from townsquare.core.errors import DataError
from townsquare.core.files import clean
from townsquare.core.lookalikes import is_visible
from townsquare.core.registry import check_known, did_you_mean
from townsquare.core.tabular import Record, Records, column_name

MAX_CHARACTERS = 10_000
MAX_NAME = 200

Read = Callable[[Record, str], Any]
"""Reads the cell of a record in a column; raises :class:`DataError`."""


def column_of(table: Records, name: str, where: str) -> str:
    """Return the name under which records hold a column of the file.

    Raises
    ------
    DataError
        No such column, with the nearest one.
    """
    column = column_name(name)
    if column not in table.columns:
        allowed = "a column of the file: " + ", ".join(table.columns)[:300]
        raise DataError(where, got=repr(name), allowed=allowed, do=did_you_mean(column, table.columns))
    return column


# --- one cell ----------------------------------------------------------------------------------------------


def text_cell(record: Record, column: str, *, limit: int = MAX_CHARACTERS, required: bool = True) -> str:
    """Return a text without control characters or space around it; numbers count as text, "" is missing."""
    value = record.cells.get(column)
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        raise DataError(record.where(column), got=type(value).__name__, allowed="a text", do="write it in quotes")
    text = "" if value is None else clean(str(value)).strip()
    if len(text) > limit:
        allowed, do = f"at most {limit:,} characters", "shorten it, or split it into several"
        raise DataError(record.where(column), got=f"{len(text):,} characters", allowed=allowed, do=do)
    if required and not text:
        raise DataError(record.where(column), got="nothing", allowed="a text", do="fill the cell or remove the row")
    if not text.isascii() and not is_visible(text):
        got, do = f"{ascii(text)[:80]}, of which nothing can be seen", "fill the cell or empty it"
        raise DataError(record.where(column), got=got, allowed="a text with a visible character", do=do)
    return text


def name_cell(record: Record, column: str, *, required: bool = True) -> str:
    """Return a text of at most 200 characters on one line: a name, a title, a topic."""
    return " ".join(text_cell(record, column, limit=MAX_NAME, required=required).split())


def number_cell(
    record: Record,
    column: str,
    low: float,
    high: float,
    blank: float | None = math.nan,
    *,
    whole: bool = False,
    above: bool = False,
) -> float:
    """Return a number in [``low``, ``high``], with ``above`` not ``low`` itself.

    ``blank`` represents an empty cell, which is refused where that is None.
    """
    value = record.cells.get(column)
    empty = value is None or (isinstance(value, str) and not value.strip())
    if empty and blank is not None:
        return blank
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not low <= number <= high or (above and number == low) or (whole and number != int(number)):
        span = f"above {low:g}, at most {high:g}" if above else f"from {low:g} to {high:g}"
        allowed = f"a {'whole ' if whole else ''}number {span}" + ("" if blank is None else ", or nothing")
        raise DataError(record.where(column), got="nothing" if empty else repr(value)[:80], allowed=allowed)
    return number


def word_cell(record: Record, column: str, words: Mapping[str, Any]) -> Any:
    """Return what one of some words, in any case, represents; "" is among the words if the cell may be empty."""
    value = record.cells.get(column)
    word = "" if value is None else str(value).strip().lower()
    if word not in words:
        allowed = ", ".join(known or "nothing" for known in words)
        raise DataError(record.where(column), got=repr(value)[:80], allowed=allowed, do=did_you_mean(word, words))
    return words[word]


def is_true(record: Record, column: str, words: Iterable[str] = ("true", "1", "yes")) -> bool:
    """Return whether a cell holds one of some words, in CSV or JSON and in any case; they say true if not given."""
    return str(record.cells.get(column)).strip().lower() in words


def is_filled(record: Record, column: str) -> bool:
    """Return whether a cell holds more than space."""
    value = record.cells.get(column)
    return value is not None and bool(str(value).strip())


@dataclass(frozen=True, slots=True)
class Scale:
    """How an answer becomes a stance.

    Attributes
    ----------
    against, for_it : float, optional
        The answer that is wholly against (-1), and the one that is wholly for (+1); what lies between is linear. None
        where words alone are answers.
    values : mapping of str to float
        Answers in words and their stances, asked first; None for no stance.
    """

    against: float | None = -1.0
    for_it: float | None = 1.0
    values: Mapping[str, Any] = field(default_factory=dict)

    def stance(self, record: Record, column: str) -> float:
        """Return the stance in [-1, 1] that a cell represents; NaN for an empty one.

        >>> six = Scale(1, 6)
        >>> [round(six.stance(Record("row 1", {"x": answer}), "x"), 2) for answer in ("1", "4", "6")]
        [-1.0, 0.2, 1.0]
        """
        value = record.cells.get(column)
        answer = "" if value is None else str(value).strip()
        if not answer:
            return math.nan
        for word, stance in self.values.items():
            if word.strip().casefold() == answer.casefold():
                return math.nan if stance is None else float(stance)
        against, for_it, allowed = self.against, self.for_it, ""
        if against is not None and for_it is not None:
            try:
                number = math.nan if isinstance(value, bool) else float(answer)
            except ValueError:
                number = math.nan
            if against <= number <= for_it or for_it <= number <= against:
                if against == -1.0 and for_it == 1.0:
                    return number  # to the last bit
                return 2.0 * (number - against) / (for_it - against) - 1.0
            allowed = f"a number from {min(against, for_it):g} to {max(against, for_it):g}"
        allowed = ", or ".join(filter(None, (allowed, ", ".join(self.values))))
        do = did_you_mean(answer, self.values)
        raise DataError(record.where(column), got=repr(value)[:80], allowed=allowed, do=do)


STANCE = Scale()


# --- columns -----------------------------------------------------------------------------------------------


def texts(*, limit: int = MAX_CHARACTERS, required: bool = True) -> Read:
    """Return a reader of texts; see :func:`text_cell`."""
    return partial(text_cell, limit=limit, required=required)


def names(*, required: bool = True) -> Read:
    """Return a reader of names; see :func:`name_cell`."""
    return partial(name_cell, required=required)


def numbers(
    low: float, high: float, blank: float | None = math.nan, *, whole: bool = False, above: bool = False
) -> Read:
    """Return a reader of numbers; see :func:`number_cell`."""
    return partial(number_cell, low=low, high=high, blank=blank, whole=whole, above=above)


def words(known: Mapping[str, Any]) -> Read:
    """Return a reader of words; see :func:`word_cell`."""
    return partial(word_cell, words=known)


@dataclass(frozen=True, slots=True)
class Column:
    """One column that a table may have.

    Attributes
    ----------
    name : str
        What code calls it, and what files may.
    read : Read
        Reads a cell of it.
    aliases : tuple of str
        What files may call it instead; the first that a file has is taken.
    needed : bool
        Every file must have it.
    unique : bool
        No two rows may hold the same.
    meaning : str
        What it is read for, said where a cell cannot be read: a file may mean something else by the name.
    """

    name: str
    read: Read
    aliases: tuple[str, ...] = ()
    needed: bool = False
    unique: bool = False
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Columns ``group:name``, one a name that there is, such as stances by proposition."""

    name: str
    names: Sequence[str]
    read: Read


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table whose columns are known.

    Attributes
    ----------
    table : Records
        The rows.
    columns : mapping of str to Column
        Every column that it may have, by name.
    used : dict of str to str
        Which column of the file represents which name; a name that the file lacks is missing.
    spare : tuple of str
        Columns of the file that represent nothing.
    notices : tuple of str
        What of the table is not used, in sentences.
    """

    table: Records
    columns: Mapping[str, Column]
    used: dict[str, str]
    spare: tuple[str, ...]
    notices: tuple[str, ...] = ()
    _readers: dict[str, tuple[Read, str]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        readers = {name: (column.read, self.used.get(name, name)) for name, column in self.columns.items()}
        object.__setattr__(self, "_readers", readers)

    def __contains__(self, name: str) -> bool:
        return name in self.used

    def __getitem__(self, name: str) -> list[Any]:
        """Return the cells of a column, one a record; of one that the file lacks, what an empty cell means."""
        if name not in self.used:
            blank = [replace(record, cells={}) for record in self.table.records[:1]]
            return [self.columns[name].read(record, name) for record in blank] * len(self.table.records)
        column, header = self.columns[name], self.used[name]
        try:
            values = [column.read(record, header) for record in self.table.records]
        except DataError as error:
            if error.do or not column.meaning:
                raise
            do = f"Townsquare reads a column {header!r} for {column.meaning}: rename it if it holds something else"
            raise DataError(error.where, got=error.got, allowed=error.allowed, do=do) from None
        if column.unique and len(set(values)) < len(values):
            first: dict[Any, Record] = {}
            for value, record in zip(values, self.table.records, strict=True):
                if first.setdefault(value, record) is not record:
                    allowed = f"another than in {first[value].location}"
                    raise DataError(record.where(header), got=f"{value!r} again", allowed=allowed)
        return values

    def cell(self, record: Record, name: str) -> Any:
        """Return one cell."""
        read, header = self._readers[name]
        return read(record, header)

    def group(self, name: str) -> dict[str, list[Any]]:
        """Return the columns of a group that the file has, by their name in it and in the order of the file."""
        headers = [header for header in self.used if header.startswith(f"{name}:")]
        return {header.removeprefix(f"{name}:"): self[header] for header in headers}

    def has_any(self, name: str) -> bool:
        """Return whether any row has something in a column."""
        return name in self.used and any(is_filled(record, self.used[name]) for record in self.table.records)


def read_columns(
    table: Records,
    columns: Sequence[Column],
    groups: Sequence[Group] = (),
    *,
    strict: bool = True,
    nothing: str = "",
    least: str = "",
) -> Sheet:
    """Find the columns of a table.

    Parameters
    ----------
    table : Records
        The rows; none will do.
    columns : sequence of Column
        Those that there may be.
    groups : sequence of Group
        Those that there may be beside; other names in a group are refused.
    strict : bool
        Refuse columns that represent nothing.
    nothing : str
        What is allowed in a group without names.
    least : str
        What a table has at least, such as "at least one profile"; a table without rows is then refused.

    Raises
    ------
    DataError
        A column that is needed and not there, one that is not known, a name that its group does not have.
    """
    used: dict[str, str] = {}
    for column in columns:
        there = next((name for name in (column.name, *column.aliases) if name in table.columns), None)
        if there is not None:
            used[column.name] = there
        elif column.needed:
            got = "columns " + (", ".join(table.columns)[:300] or "of no name")
            allowed = f"a column `{column.name}`" + (f" (or {', '.join(column.aliases)})" if column.aliases else "")
            do = did_you_mean(column.name, table.columns[:1000]) or f"rename the column that holds the {column.name}"
            raise DataError(f"{table.location}, header", got=got, allowed=allowed, do=do)
    taken, by_name, spare = set(used.values()), {group.name: group for group in groups}, []
    for header in table.columns:
        head, _, name = header.partition(":")
        if name and head in by_name:
            known = by_name[head].names
            check_known(f"{table.location}, header, column {header!r}", name, known, DataError, nothing)
            used[header] = header
        elif header not in taken:
            spare.append(header)
    grouped = [Column(f"{group.name}:{name}", group.read) for group in groups for name in group.names]
    sheet = Sheet(table, {column.name: column for column in (*columns, *grouped)}, used, tuple(spare))
    if strict and spare:
        record = next((record for record in table.records if spare[0] in record.cells), None)
        where = record.location if record and record.part != "column" else f"{table.location}, header"
        names = (name for column in sheet.columns.values() for name in (column.name, *column.aliases))
        known = list(dict.fromkeys(names))
        do = did_you_mean(spare[0], known)
        raise DataError(where, got=f"the column {spare[0]!r}", allowed=", ".join(known), do=do)
    if least and not table.records:
        raise DataError(table.location, got="no rows", allowed=least)
    return sheet
