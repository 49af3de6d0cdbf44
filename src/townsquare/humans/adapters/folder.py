"""Folders of three files that several adapters read: ``trajectories.csv``, ``trace.csv``, ``messages.jsonl``."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from townsquare.core.cells import name_cell, number_cell, text_cell
from townsquare.core.errors import DataError
from townsquare.core.registry import did_you_mean
from townsquare.core.tabular import Record, Records, read_csv, read_jsonl
from townsquare.humans.scales import stance_cell
from townsquare.humans.trajectories import Message, Reading, Row

TRAJECTORIES, TRACE, MESSAGES = "trajectories.csv", "trace.csv", "messages.jsonl"
MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Folder:
    """What the three files hold: people, messages by conversation and readings by trajectory, in order of the files."""

    people: Records
    messages: dict[str, list[Record]]
    readings: dict[str, list[Record]]

    def said_in(self, record: Record) -> list[Record]:
        """The messages of a trajectory's conversation, in order of their number ``i``."""
        return self.messages.get(name_cell(record, "conv_id"), [])

    def received_in(self, record: Record) -> list[Record]:
        """Those of the messages of its conversation that the data mark as received."""
        return [message for message in self.said_in(record) if is_true(message, "received")]

    def readings_of(self, record: Record) -> list[Record]:
        """The readings of a trajectory."""
        return self.readings.get(name_cell(record, "traj_id"), [])


def read_folder(folder: Path, people: Sequence[str], trace: Sequence[str], messages: Sequence[str]) -> Folder:
    """The three files, with the columns they must have.

    Raises
    ------
    DataError
        A file or a column that is not there.
    """
    table = with_columns(read_csv(folder / TRAJECTORIES), people)
    said = with_columns(read_jsonl(folder / MESSAGES), messages)
    read = with_columns(read_csv(folder / TRACE), trace)
    by_conversation = _grouped(said.records, "conv_id")
    for records in by_conversation.values():
        records.sort(key=place_in)
    return Folder(table, by_conversation, _grouped(read.records, "traj_id"))


def with_columns(table: Records, needed: Sequence[str]) -> Records:
    """The table, if it has all columns it needs.

    Raises
    ------
    DataError
        The first column that is missing.
    """
    for column in needed:
        if column not in table.columns:
            got = "columns " + ", ".join(table.columns)[:300]
            allowed = f"a column {column!r}"
            raise DataError(f"{table.place}, header", got=got, allowed=allowed, do=did_you_mean(column, table.columns))
    return table


def _grouped(records: list[Record], column: str) -> dict[str, list[Record]]:
    out: dict[str, list[Record]] = {}
    for record in records:
        out.setdefault(name_cell(record, column), []).append(record)
    return out


def place_in(record: Record, column: str = "i") -> float:
    """A number that orders records; it must be there."""
    number = number_cell(record, column, 0, MOST, -1.0)
    if number < 0:
        raise DataError(record.where(column), got="nothing", allowed="a whole number of at least 0")
    return number


def message_of(record: Record, side: float = float("nan")) -> Message:
    """A message with the author and text of a record."""
    return Message(name_cell(record, "author"), side, text=text_cell(record, "text", limit=MOST, required=False))


def side_of(record: Record) -> float:
    """The side that the data give a message, [-1, 1]; NaN for none."""
    return number_cell(record, "side", -1, 1, float("nan"))


def is_true(record: Record, column: str) -> bool:
    """Whether a cell says true, in CSV or JSON."""
    return str(record.cells.get(column)).strip().lower() in ("true", "1", "yes")


def row_of(
    data: Folder,
    record: Record,
    said: Sequence[Record],
    *,
    sided: bool = True,
    after: bool = False,
    topic: str = "",
    option: str = "",
    control: bool = False,
) -> Row:
    """A trajectory with ``said``, the messages that the person received, in order of their number.

    ``sided``: messages have a column ``side``. ``after``: a reading names the message that it comes after, in
    ``after_message_i``; else the one that it comes before, in ``before_message_i``.
    """
    places = [place_in(message) for message in said]
    column, received_by = ("after_message_i", bisect_right) if after else ("before_message_i", bisect_left)
    return Row(
        place=record.place,
        participant=name_cell(record, "participant_id"),
        conversation=name_cell(record, "conv_id"),
        proposition=text_cell(record, "proposition"),
        initial=stance_cell(record, "initial_stance"),
        final=stance_cell(record, "final_stance"),
        messages=[message_of(message, side_of(message) if sided else math.nan) for message in said],
        readings=[
            Reading(received_by(places, place_in(reading, column)), number_cell(reading, "stance", -1, 1, math.nan))
            for reading in data.readings_of(record)
        ],
        topic=topic,
        option=option,
        control=control,
    )


def each(records: Sequence[Record], read: Callable[[Record], Row]) -> Iterator[Row | DataError]:
    """Every record as a row, or as the error that reading it met."""
    for record in records:
        try:
            yield read(record)
        except DataError as error:
            yield error
