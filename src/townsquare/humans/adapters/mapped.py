"""``mapped``: read trajectories from tables whose columns a mapping file names."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from townsquare.core.cells import Column, Read, is_true, names, numbers, read_columns, texts
from townsquare.core.errors import DataError
from townsquare.core.files import find
from townsquare.core.tabular import Record, column_name, read_table
from townsquare.humans.adapters.mapping_file import Columns, HumanMapping, MessageColumns, ReadingColumns
from townsquare.humans.checked import MOST_CHARACTERS, each
from townsquare.humans.trajectories import Message, Reading, Row

Cells = dict[str, Any]
"""Cells of a record by the keys of the mapping; keys without a column are missing."""

_READERS: dict[str, Read] = {
    **dict.fromkeys(("participant", "conversation", "trajectory", "author"), names()),
    **dict.fromkeys(("proposition", "topic", "option", "group", "author_group", "to"), texts(required=False)),
    **dict.fromkeys(("until", "order", "before"), numbers(-1e18, 1e18, None)),
    **dict.fromkeys(("strength", "tie"), numbers(0, 1)),
    "text": texts(limit=MOST_CHARACTERS, required=False),
    "received": is_true,
}
_ANSWERS = ("initial", "final", "side", "stance")
"""How the cells under each key of a mapping are read; answers become stances on the scale of their file."""


class _Sent(NamedTuple):
    """A message as the file has it."""

    message: Message
    order: float
    proposition: str
    to: frozenset[str]


class _Part:
    """One file of the data: ``records``, and their cells by the keys of the mapping."""

    def __init__(self, folder: Path, columns: Columns, **own: Read) -> None:
        given = {key: name for key, name in columns.model_dump().items() if name is not None}
        readers = {**_READERS, **dict.fromkeys(_ANSWERS, columns.as_scale().stance), **own}
        self.readers = {key: (column_name(given[key]), read) for key, read in readers.items() if key in given}
        table = read_table(find(given["file"], folder if folder.is_dir() else folder.parent))
        read_columns(table, [Column(*known, needed=True) for known in self.readers.values()], strict=False)
        self.records = table.records

    def cells(self, record: Record, keys: Sequence[str] = ()) -> Cells:
        """Read the cells of a record: those of some keys, or all."""
        readers = ((key, *self.readers[key]) for key in keys or self.readers)
        return {key: read(record, column) for key, column, read in readers}

    def grouped(self, *keys: str) -> dict[tuple[str, ...], list[tuple[int, Record]]]:
        """Return the records, each with its number in the file, by what they hold under some keys."""
        out = defaultdict(list)
        for number, record in enumerate(self.records):
            out[tuple(self.cells(record, keys).values())].append((number, record))
        return out


def read(folder: Path, mapping: HumanMapping) -> Iterator[Row | DataError]:
    """Return one row per participant, conversation and proposition.

    Raises
    ------
    DataError
        A file or column that is not there; a message or reading that names no conversation or trajectory.
    """
    controls = {word.strip().lower() for word in mapping.people.controls}
    people = _Part(folder, mapping.people, control=partial(is_true, words=controls))
    sent, readings = _messages(folder, mapping.messages), _readings(folder, mapping.readings)

    def row(record: Record) -> Row:
        person = people.cells(record)
        person["proposition"] = mapping.people.statement or person["proposition"]
        received = _received(sent(person["conversation"]), person)
        keys = ("participant", "conversation", "proposition", "initial", "final", "topic", "option", "control", "group")
        return Row(
            location=record.location,
            messages=[each.message for each in received],
            readings=list(_placed(readings(person), [each.order for each in received])),
            **{key: person[key] for key in keys if key in person},
        )

    return each(people.records, row)


def _received(sent: Sequence[_Sent], person: Cells) -> list[_Sent]:
    """Return the messages of others that a person got."""
    return [
        each
        for each in sent
        if each.message.author != person["participant"]
        and each.proposition in ("", person["proposition"])
        and (not each.to or person["participant"] in each.to)
        and each.order < person.get("until", math.inf)
    ]


def _placed(readings: Sequence[Cells], orders: Sequence[float]) -> Iterator[Reading]:
    """Return readings by how many of the messages, of which ``orders`` are given, came before each."""
    for reading in readings:
        after = bisect_right(orders, reading["order"]) if "order" in reading else bisect_left(orders, reading["before"])
        yield Reading(after, reading["stance"])


def _messages(folder: Path, columns: MessageColumns) -> Callable[[str], list[_Sent]]:
    """Return what reads the messages of a conversation: in order, without those that the data call not received."""
    part = _Part(folder, columns)
    everyone = {"", *(word.casefold() for word in columns.everyone)}
    by_conversation = part.grouped("conversation")

    def message(number: int, cells: Cells) -> _Sent:
        to = frozenset(word.strip() for word in cells.get("to", "").split(","))
        of_all = any(word.casefold() in everyone for word in to)
        answers = cells["author"], cells.get("side", math.nan), cells.get("strength", math.nan), cells.get("text", "")
        known = cells.get("tie", math.nan), cells.get("author_group", "")
        order, proposition = cells.get("order", number), cells.get("proposition", "")
        return _Sent(Message(*answers, *known), order, proposition, frozenset() if of_all else to)

    @cache
    def sent(conversation: str) -> list[_Sent]:
        rows = [(number, part.cells(record)) for number, record in by_conversation.get((conversation,), ())]
        messages = (message(number, cells) for number, cells in rows if cells.get("received", True))
        return sorted(messages, key=lambda each: each.order)

    return sent


def _readings(folder: Path, columns: ReadingColumns | None) -> Callable[[Cells], list[Cells]]:
    """Return what gives the readings of a person, in order."""
    if columns is None:
        return lambda person: []
    part = _Part(folder, columns)
    keys = ("trajectory",) if columns.trajectory else ("participant", "conversation")
    position = "order" if columns.order else "before"
    by_person = part.grouped(*keys)

    def readings(person: Cells) -> list[Cells]:
        asked = [part.cells(record) for _, record in by_person.get(tuple(person[key] for key in keys), ())]
        about = [reading for reading in asked if reading.get("proposition", "") in ("", person["proposition"])]
        return sorted(about, key=lambda reading: float(reading[position]))

    return readings
