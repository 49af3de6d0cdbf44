"""``crowds``: read answers in rounds as trajectories; what the others answered is a message after each round.

A table of the form ``partisan_crowds`` (docs/human-data.md). A stance is z / 4, cut off at ±1; a message has
the mean of the others as its side. People of the control arm saw no answers: they have no messages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from townsquare.core.cells import read_columns
from townsquare.core.errors import DataError
from townsquare.core.tabular import TABLE_KINDS, read_table
from townsquare.humans.checked import SKIP, each
from townsquare.humans.effects.crowds import ABOUT, COLUMNS, CONTROL, WIDEST
from townsquare.humans.trajectories import Message, Reading, Row

__all__ = ["ABOUT", "read", "table_in"]
OTHERS = "the others"


def table_in(folder: Path) -> Path | None:
    """Return the first table of a folder that has the columns of answers in rounds; None without one."""
    names = {column.name for column in COLUMNS}
    tables = (path for path in sorted(folder.iterdir()) if path.suffix.lower() in TABLE_KINDS and path.is_file())
    return next((path for path in tables if names <= set(read_table(path).columns)), None)


def read(path: Path) -> Iterator[Row | DataError]:
    """Return a trajectory for each person and question.

    Raises
    ------
    DataError
        A cell that cannot be read, with file, row and column.
    """
    sheet = read_columns(read_table(path), COLUMNS, strict=False)
    columns = [sheet[column.name] for column in COLUMNS]
    last = max((int(number) for number in sheet["round"]), default=0)
    places = (record.location for record in sheet.table.records)
    answers = map(_Answer, *columns, places)
    people = groupby(sorted(answers, key=_place), key=lambda answer: _place(answer)[:-1])
    return each((list(rows) for _, rows in people), partial(_row, last))


class _Answer(NamedTuple):
    """One answer; cells in the order of the columns, and where they stand."""

    group: str
    condition: str
    question: str
    person: str
    round: float
    z: float
    peers_z: float
    location: str


def _place(answer: _Answer) -> tuple[str, str, str, str, float]:
    return answer.group, answer.condition, answer.person, answer.question, answer.round


def _row(last: int, answers: list[_Answer]) -> Row:
    first = answers[0]
    stances, shown = (
        np.clip([getattr(answer, name) / WIDEST for answer in answers], -1.0, 1.0).tolist() for name in ("z", "peers_z")
    )
    rounds = [int(answer.round) for answer, z in zip(answers, stances, strict=True) if math.isfinite(z)]
    if rounds != list(range(1, last + 1)):
        got = f"answers of person {first.person!r} in rounds {rounds} only"
        raise DataError(f"{first.location}, round", got=got, allowed=f"one in each of {last} rounds", do=SKIP)
    condition = first.condition.lower()
    group, control = f"{condition} {first.group}", condition == CONTROL
    return Row(
        location=first.location, participant=f"{group}, {first.person}", conversation=group,
        proposition=first.question, initial=stances[0], final=stances[-1], control=control, alone=control,
        messages=[] if control else [Message(OTHERS, side) for side in shown[:-1]],
        readings=[Reading(after, stance) for after, stance in enumerate(stances[1:-1], 1)],
    )  # fmt: skip
