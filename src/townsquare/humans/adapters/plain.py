"""``plain``: trajectories in files of Townsquare's own form, as CSV or JSON lines.

A CSV has one row a received message, in order, with the columns

    participant, conversation, proposition, initial, final, author,
    side, strength, text, reading, topic, option, control

of which those of the first line are needed. ``initial`` and ``final`` stand in any row of a trajectory, ``reading`` is
what the person held after the message. JSON lines may have the same form, or one object a trajectory with ``messages``
(objects of author, side, strength, text) and ``readings`` (objects of after, stance). Messages whose author is the
participant are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from townsquare.core.cells import name_cell, number_cell, text_cell
from townsquare.core.errors import DataError
from townsquare.core.tabular import Record, Records, read_csv, read_jsonl, spread
from townsquare.humans.adapters.folder import MOST, each, is_true, with_columns
from townsquare.humans.scales import STANCE, Scale, stance_cell
from townsquare.humans.trajectories import Message, Reading, Row
from townsquare.scenario.cells import check_columns

NEEDED = ("participant", "conversation", "proposition", "initial", "final", "author")
COLUMNS = (*NEEDED, "side", "strength", "text", "reading", "topic", "option", "control")
NESTED = (*NEEDED[:5], "topic", "option", "control", "messages", "readings")


def read(path: Path) -> Iterator[Row | DataError]:
    """The trajectories of one file.

    Raises
    ------
    DataError
        A column that is missing or not known.
    """
    table = read_jsonl(path) if path.suffix.lower() in (".jsonl", ".ndjson") else read_csv(path)
    if "messages" in table.columns:
        check_columns(table, NESTED)
        return each(with_columns(table, NESTED[:5]).records, _nested)
    check_columns(table, COLUMNS)
    return long_rows(with_columns(table, NEEDED))


def long_rows(table: Records, scale: Scale = STANCE) -> Iterator[Row | DataError]:
    """Trajectories of a table with one row a message; rows of one trajectory stand one after the other."""
    for _, block in groupby(table.records, _key):
        yield from _read(list(block), scale)


def _key(record: Record) -> tuple[str, ...]:
    return tuple(str(record.cells.get(column) or "").strip() for column in NEEDED[:3])


def _read(block: list[Record], scale: Scale) -> Iterator[Row | DataError]:
    return each(block[:1], lambda _: _long(block, scale))


def _long(block: list[Record], scale: Scale) -> Row:
    first = block[0]
    participant = name_cell(first, "participant")
    messages: list[Message] = []
    readings: list[Reading] = []
    for record in block:
        message = _message(record)
        if message is not None and message.author != participant:
            messages.append(message)
        stance = stance_cell(record, "reading", scale)
        if not math.isnan(stance):
            readings.append(Reading(len(messages), stance))
    return Row(
        place=first.place,
        participant=participant,
        conversation=name_cell(first, "conversation"),
        proposition=text_cell(first, "proposition"),
        initial=_same(block, "initial", scale),
        final=_same(block, "final", scale),
        messages=messages,
        readings=readings,
        topic=name_cell(first, "topic", required=False),
        option=name_cell(first, "option", required=False),
        control=is_true(first, "control"),
    )


def _message(record: Record) -> Message | None:
    """The message of a record; None for a row without one."""
    said = any(str(record.cells.get(column) or "").strip() for column in ("author", "side", "text"))
    if not said:
        return None
    return Message(
        name_cell(record, "author"),
        number_cell(record, "side", -1, 1, math.nan),
        number_cell(record, "strength", 0, 1, math.nan),
        text_cell(record, "text", limit=MOST, required=False),
    )


def _same(block: Sequence[Record], column: str, scale: Scale) -> float:
    """The stance in a column that says the same in all rows of a trajectory that say anything."""
    found = math.nan
    for record in block:
        stance = stance_cell(record, column, scale)
        if math.isnan(stance):
            continue
        if not math.isnan(found) and stance != found:
            allowed = f"{found:g}, as in the rows before"
            raise DataError(record.where(column), got=f"{stance:g}", allowed=allowed, do="a trajectory has one of each")
        found = stance
    return found


def _nested(record: Record) -> Row:
    participant = name_cell(record, "participant")
    received: list[Message] = []
    after = [0]
    for inner in _objects(record, "messages", COLUMNS[5:9]):
        message = _message(inner)
        if message is None:
            raise DataError(inner.place, got="no message", allowed="author, and side or text")
        if message.author != participant:
            received.append(message)
        after.append(len(received))
    return Row(
        place=record.place,
        participant=participant,
        conversation=name_cell(record, "conversation"),
        proposition=text_cell(record, "proposition"),
        initial=stance_cell(record, "initial"),
        final=stance_cell(record, "final"),
        messages=received,
        readings=[_reading(inner, after) for inner in _objects(record, "readings", ("after", "stance"))],
        topic=name_cell(record, "topic", required=False),
        option=name_cell(record, "option", required=False),
        control=is_true(record, "control"),
    )


def _reading(record: Record, after: list[int]) -> Reading:
    place = number_cell(record, "after", 0, len(after) - 1, math.nan)
    if math.isnan(place) or place != int(place):
        raise DataError(record.where("after"), got="no whole number", allowed=f"0 to {len(after) - 1} messages")
    return Reading(after[int(place)], stance_cell(record, "stance"))


def _objects(record: Record, field: str, known: Sequence[str]) -> Iterator[Record]:
    value = record.cells.get(field)
    if value is None:
        return
    if not isinstance(value, list):
        raise DataError(record.where(field), got=type(value).__name__, allowed="a list of objects")
    for number, item in enumerate(value, 1):
        place = f"{record.place}, {field} {number}"
        if not isinstance(item, dict):
            raise DataError(place, got=type(item).__name__, allowed="an object")
        inner = Record(place, spread(place, item), "field")
        check_columns(Records(place, tuple(inner.cells), [inner]), known)
        yield inner
