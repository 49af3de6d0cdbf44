"""``plain``: read trajectories in Townsquare's own format, as CSV or JSON lines.

A CSV has one row per received message, in order, with the columns

    participant, conversation, proposition, initial, final, author,
    side, strength, text, tie, author_group, reading, topic, option, control, group

of which those of the first line are needed. ``initial`` and ``final`` are in any row of a trajectory, ``reading`` is
what the person held after the message; ``tie`` says how strongly the person is tied to the author, and ``group`` and
``author_group`` who is like whom. JSON lines may have the same form, or one object a trajectory with ``messages``
(objects of author, side, strength, text, tie, author_group) and ``readings`` (objects of after, stance). Messages whose
author is the participant are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from townsquare.core.cells import STANCE, Column, Sheet, is_filled, is_true, names, numbers, read_columns, texts
from townsquare.core.errors import DataError
from townsquare.core.tabular import Record, read_table, records_of
from townsquare.humans.checked import MOST_CHARACTERS, each
from townsquare.humans.trajectories import WORDS, Message, Reading, Row

PERSON = (
    *(Column(name, names(), needed=True) for name in ("participant", "conversation")),
    Column("proposition", texts(), needed=True),
    *(Column(name, STANCE.stance, needed=True) for name in ("initial", "final")),
    *(Column(name, names(required=False)) for name in ("topic", "option", "group")),
    Column("control", is_true),
)
MESSAGE = (
    Column("author", names()),
    Column("side", numbers(-1, 1)),
    Column("strength", numbers(0, 1)),
    Column("text", texts(limit=MOST_CHARACTERS, required=False)),
    Column("tie", numbers(0, 1)),
    Column("author_group", names(required=False)),
)
LONG = (*PERSON, Column("author", names(), needed=True), *MESSAGE[1:], Column("reading", STANCE.stance))
NESTED = (*PERSON, Column("messages", texts()), Column("readings", texts()))


def read(path: Path) -> Iterator[Row | DataError]:
    """Yield the trajectories of one file.

    Raises
    ------
    DataError
        A column that is missing or not known.
    """
    table = read_table(path)
    if "messages" in table.columns:
        return each(table.records, partial(_nested, read_columns(table, NESTED)))
    # Rows of one trajectory stand one after the other.
    return each((list(rows) for _, rows in groupby(table.records, _key)), partial(_long, read_columns(table, LONG)))


def _key(record: Record) -> tuple[str, ...]:
    return tuple(str(record.cells.get(column.name) or "").strip() for column in PERSON[:3])


def _row(
    sheet: Sheet, record: Record, stances: tuple[float, float], messages: list[Message], readings: list[Reading]
) -> Row:
    cells = {name: sheet.cell(record, name) for name in (*WORDS, "group", "control")}
    cells |= dict(zip(("initial", "final"), stances, strict=True))
    return Row(location=record.location, messages=messages, readings=readings, **cells)


def _long(sheet: Sheet, block: list[Record]) -> Row:
    participant = sheet.cell(block[0], "participant")
    messages: list[Message] = []
    readings: list[Reading] = []
    for record in block:
        message = _message(sheet, record)
        if message is not None and message.author != participant:
            messages.append(message)
        stance = sheet.cell(record, "reading")
        if not math.isnan(stance):
            readings.append(Reading(len(messages), stance))
    stances = _same(sheet, block, "initial"), _same(sheet, block, "final")
    return _row(sheet, block[0], stances, messages, readings)


def _message(sheet: Sheet, record: Record) -> Message | None:
    """Return the message of a record; None for a row without one."""
    if not (is_filled(record, "author") or is_filled(record, "side") or is_filled(record, "text")):
        return None
    return Message(*[sheet.cell(record, column.name) for column in MESSAGE])


def _same(sheet: Sheet, block: Sequence[Record], column: str) -> float:
    """Return the stance in a column that says the same in all rows of a trajectory that say anything."""
    agreed = math.nan
    for record in block:
        stance = sheet.cell(record, column)
        if not math.isnan(agreed) and not math.isnan(stance) and stance != agreed:
            allowed, do = f"{agreed:g}, as in the rows before", "give each trajectory one of each"
            raise DataError(record.where(column), got=f"{stance:g}", allowed=allowed, do=do)
        agreed = agreed if math.isnan(stance) else stance
    return float(agreed)


def _nested(people: Sheet, record: Record) -> Row:
    participant = people.cell(record, "participant")
    received: list[Message] = []
    after = [0]
    sheet = _objects(record, "messages", MESSAGE)
    for inner in sheet.table.records:
        message = _message(sheet, inner)
        if message is None:
            raise DataError(inner.location, got="no message", allowed="author, and side or text")
        if message.author != participant:
            received.append(message)
        after.append(len(received))
    after_column = Column("after", numbers(0, len(after) - 1, None, whole=True))
    asked = _objects(record, "readings", (after_column, Column("stance", STANCE.stance)))
    readings = [Reading(after[int(n)], stance) for n, stance in zip(asked["after"], asked["stance"], strict=True)]
    stances = people.cell(record, "initial"), people.cell(record, "final")
    return _row(people, record, stances, received, readings)


def _objects(record: Record, field: str, columns: Sequence[Column]) -> Sheet:
    """Return the objects in a list in a cell; none for an empty cell."""
    value = record.cells.get(field)
    items = [] if value is None else value
    if not isinstance(items, list):
        raise DataError(record.where(field), got=type(value).__name__, allowed="a list of objects")
    where = f"{record.location}, {field}"
    named = ((f"{where} {number}", item) for number, item in enumerate(items, 1))
    return read_columns(records_of(where, named, "field"), columns)
