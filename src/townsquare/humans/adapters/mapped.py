"""``mapped``: trajectories from any tables whose columns a mapping file names."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from townsquare.core.cells import name_cell, number_cell, text_cell
from townsquare.core.errors import DataError
from townsquare.core.files import find
from townsquare.core.tabular import Record, Records, column_name, read_csv, read_jsonl
from townsquare.humans.adapters.folder import MOST, each, is_true, with_columns
from townsquare.humans.adapters.mapping_file import HumanMapping, MessageColumns, ReadingColumns
from townsquare.humans.scales import Scale, stance_cell
from townsquare.humans.trajectories import Message, Reading, Row

_EARLIEST, _LATEST = -1e18, 1e18


@dataclass(frozen=True, slots=True)
class _Said:
    """A message as the file has it."""

    message: Message
    order: float
    proposition: str
    to: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Read:
    """A reading as the file has it."""

    order: float
    stance: float
    proposition: str


def read(folder: Path, mapping: HumanMapping) -> Iterator[Row | DataError]:
    """One row a participant, conversation and proposition.

    Raises
    ------
    DataError
        A file or column that is not there; a message or reading that cannot be read.
    """
    columns = mapping.people
    people = _table(folder, columns.file, columns.model_dump(exclude={"file", "scale", "values", "statement"}))
    said = _messages(folder, mapping.messages)
    asked = _readings(folder, mapping.readings) if mapping.readings is not None else {}
    return each(people.records, lambda record: _row(record, mapping, said, asked))


def _table(folder: Path, file: str, columns: dict[str, str | None]) -> Records:
    path = find(file, folder if folder.is_dir() else folder.parent)
    table = read_jsonl(path) if path.suffix.lower() in (".jsonl", ".ndjson") else read_csv(path)
    return with_columns(table, [column_name(name) for name in columns.values() if name is not None])


def _cell(record: Record, column: str | None, *, limit: int = 10_000) -> str:
    return text_cell(record, column_name(column), limit=limit, required=False) if column is not None else ""


def _name(record: Record, column: str) -> str:
    return name_cell(record, column_name(column))


def _row(
    record: Record, mapping: HumanMapping, said: dict[str, list[_Said]], asked: dict[tuple[str, str], list[_Read]]
) -> Row:
    columns, scale = mapping.people, mapping.people.as_scale()
    participant, conversation = _name(record, columns.participant), _name(record, columns.conversation)
    proposition = columns.statement or _cell(record, columns.proposition)
    received = [
        one
        for one in said.get(conversation, ())
        if one.message.author != participant
        and one.proposition in ("", proposition)
        and (not one.to or participant in one.to)
    ]
    readings = [
        Reading(sum(one.order <= read.order for one in received), read.stance)
        for read in asked.get((participant, conversation), ())
        if read.proposition in ("", proposition)
    ]
    return Row(
        place=record.place,
        participant=participant,
        conversation=conversation,
        proposition=proposition,
        initial=_stance(record, columns.initial, scale),
        final=_stance(record, columns.final, scale),
        messages=[one.message for one in received],
        readings=readings,
        topic=_cell(record, columns.topic),
        option=_cell(record, columns.option),
        control=columns.control is not None and is_true(record, column_name(columns.control)),
    )


def _stance(record: Record, column: str, scale: Scale) -> float:
    return stance_cell(record, column_name(column), scale)


def _messages(folder: Path, columns: MessageColumns) -> dict[str, list[_Said]]:
    """Messages by conversation, in order."""
    named = columns.model_dump(exclude={"file", "scale", "values", "everyone"})
    everyone = {word.casefold() for word in columns.everyone}
    out: dict[str, list[_Said]] = {}
    for number, record in enumerate(_table(folder, columns.file, named).records):
        to = [part.strip() for part in _cell(record, columns.to).split(",")]
        message = Message(
            _name(record, columns.author),
            _stance(record, columns.side, columns.as_scale()) if columns.side else math.nan,
            number_cell(record, column_name(columns.strength), 0, 1, math.nan) if columns.strength else math.nan,
            _cell(record, columns.text, limit=MOST),
        )
        one = _Said(
            message,
            _order(record, columns.order) if columns.order else float(number),
            _cell(record, columns.proposition),
            frozenset() if any(part.casefold() in everyone for part in to) else frozenset(to),
        )
        out.setdefault(_name(record, columns.conversation), []).append(one)
    for messages in out.values():
        messages.sort(key=lambda one: one.order)
    return out


def _readings(folder: Path, columns: ReadingColumns) -> dict[tuple[str, str], list[_Read]]:
    """Readings by participant and conversation, in order."""
    named = columns.model_dump(exclude={"file", "scale", "values"})
    out: dict[tuple[str, str], list[_Read]] = {}
    for record in _table(folder, columns.file, named).records:
        one = _Read(
            _order(record, columns.order),
            _stance(record, columns.stance, columns.as_scale()),
            _cell(record, columns.proposition),
        )
        out.setdefault((_name(record, columns.participant), _name(record, columns.conversation)), []).append(one)
    for readings in out.values():
        readings.sort(key=lambda one: one.order)
    return out


def _order(record: Record, column: str) -> float:
    number = number_cell(record, column_name(column), _EARLIEST, _LATEST, math.nan)
    if math.isnan(number):
        raise DataError(record.where(column_name(column)), got="nothing", allowed="a number that orders messages")
    return number
