"""``mapped``: trajectories from any tables whose columns a mapping file names."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from townsquare.core.cells import Column, Read, is_true, names, numbers, read_columns, texts
from townsquare.core.errors import DataError
from townsquare.core.files import find
from townsquare.core.tabular import Record, column_name, read_table
from townsquare.humans.adapters.mapping_file import Answers, HumanMapping
from townsquare.humans.checked import MOST_CHARACTERS, each
from townsquare.humans.trajectories import Message, Reading, Row

_NAME, _TEXT, _ORDER = names(), texts(required=False), numbers(-1e18, 1e18, None)


class _Sent(NamedTuple):
    """A message as the file has it."""

    message: Message
    order: float
    proposition: str
    to: frozenset[str]


class _Part:
    """One file of the data: ``records``, and their cells by the keys of the mapping."""

    def __init__(self, folder: Path, columns: Answers, readers: Mapping[str, Read]) -> None:
        given = columns.model_dump()
        self.readers = {key: (column_name(given[key]), read) for key, read in readers.items() if given[key] is not None}
        table = read_table(find(given["file"], folder if folder.is_dir() else folder.parent))
        read_columns(table, [Column(*known, needed=True) for known in self.readers.values()], strict=False)
        self.records = table.records

    def row(self, record: Record) -> dict[str, Any]:
        """Read the cells of a record; keys without a column are missing."""
        return {key: read(record, column) for key, (column, read) in self.readers.items()}


def read(folder: Path, mapping: HumanMapping) -> Iterator[Row | DataError]:
    """Return one row a participant, conversation and proposition.

    Raises
    ------
    DataError
        A file or column that is not there; a message or reading that cannot be read.
    """
    scale = mapping.people.as_scale()
    readers = {
        "participant": _NAME, "conversation": _NAME, "trajectory": _NAME, "proposition": _TEXT, "topic": _TEXT,
        "option": _TEXT, "initial": scale.stance, "final": scale.stance, "until": _ORDER,
        "control": partial(is_true, words={word.strip().lower() for word in mapping.people.controls}),
    }  # fmt: skip
    people = _Part(folder, mapping.people, readers)
    sent, readings = _messages(folder, mapping), _readings(folder, mapping)
    return each(people.records, lambda record: _row(record, people.row(record), mapping, sent, readings))


def _row(
    record: Record,
    row: dict[str, Any],
    mapping: HumanMapping,
    sent: Mapping[str, list[_Sent]],
    readings: Mapping[Any, list[dict[str, Any]]],
) -> Row:
    participant, conversation = row["participant"], row["conversation"]
    proposition = mapping.people.statement or row["proposition"]
    received = [
        one
        for one in sent.get(conversation, ())
        if one.message.author != participant
        and one.proposition in ("", proposition)
        and (not one.to or participant in one.to)
        and one.order < row.get("until", math.inf)
    ]
    orders = [one.order for one in received]
    asked = readings.get(row.get("trajectory"), ()) or readings.get((participant, conversation), ())
    return Row(
        place=record.place,
        participant=participant,
        conversation=conversation,
        proposition=proposition,
        initial=row["initial"],
        final=row["final"],
        messages=[one.message for one in received],
        readings=[
            Reading(
                bisect_right(orders, one["order"]) if "order" in one else bisect_left(orders, one["before"]),
                one["stance"],
            )
            for one in asked
            if one.get("proposition", "") in ("", proposition)
        ],
        topic=row.get("topic", ""),
        option=row.get("option", ""),
        control=row.get("control", False),
    )


def _messages(folder: Path, mapping: HumanMapping) -> dict[str, list[_Sent]]:
    """Return the messages by conversation, in order; those that the data mark as not received are left out."""
    columns = mapping.messages
    readers = {
        "conversation": _NAME, "author": _NAME, "text": texts(limit=MOST_CHARACTERS, required=False),
        "side": columns.as_scale().stance, "strength": numbers(0, 1), "proposition": _TEXT, "to": _TEXT,
        "received": is_true, "order": _ORDER,
    }  # fmt: skip
    part = _Part(folder, columns, readers)
    everyone = {word.casefold() for word in columns.everyone}
    out: dict[str, list[_Sent]] = defaultdict(list)
    for number, record in enumerate(part.records):
        row = part.row(record)
        to = [word.strip() for word in row.get("to", "").split(",")]
        message = Message(row["author"], row.get("side", math.nan), row.get("strength", math.nan), row.get("text", ""))
        if row.get("received", True):
            some = frozenset() if any(word.casefold() in everyone for word in to) else frozenset(to)
            out[row["conversation"]].append(_Sent(message, row.get("order", number), row.get("proposition", ""), some))
    for messages in out.values():
        messages.sort(key=lambda one: one.order)
    return out


def _readings(folder: Path, mapping: HumanMapping) -> dict[Any, list[dict[str, Any]]]:
    """Return the readings by trajectory, or by participant and conversation, in order."""
    columns = mapping.readings
    out: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    if columns is None:
        return out
    readers = {
        "participant": _NAME, "conversation": _NAME, "trajectory": _NAME, "order": _ORDER, "before": _ORDER,
        "stance": columns.as_scale().stance, "proposition": _TEXT,
    }  # fmt: skip
    part = _Part(folder, columns, readers)
    for record in part.records:
        row = part.row(record)
        out[row["trajectory"] if columns.trajectory else (row["participant"], row["conversation"])].append(row)
    place = "order" if columns.order else "before"
    for rows in out.values():
        rows.sort(key=lambda row: float(row[place]))
    return out
