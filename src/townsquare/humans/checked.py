"""Check every row that an adapter read and build :class:`Trajectories`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from townsquare.beliefs.arrays import offsets_of
from townsquare.core.array_types import Int64
from townsquare.core.errors import DataError
from townsquare.humans.trajectories import WORDS, Reading, Row, Trajectories, codes_of

Part = TypeVar("Part")

SKIP = "leave the row out by hand, or give --skip-bad"
MOST_MESSAGES = 100_000
MOST_CHARACTERS = 1_000_000
"""Of a message."""


def each(parts: Iterable[Part], read: Callable[[Part], Row]) -> Iterator[Row | DataError]:
    """Yield every part of a file as a row, or as the error that reading it met."""
    for part in parts:
        try:
            yield read(part)
        except DataError as error:
            yield error


def joined(name: str, rows: Iterable[Row | DataError], *, skip_bad: bool = False) -> Trajectories:
    """Checked rows as one :class:`Trajectories`.

    Parameters
    ----------
    name : str
        Of the data set.
    rows : iterable of Row or DataError
        An adapter gives a row that it could not read as the error it met.
    skip_bad : bool
        Leave out rows that are wrong, and say which, instead of stopping at the first.

    Raises
    ------
    DataError
        The place of the first wrong row: a stance missing or outside [-1, 1], no received message, an own message, a
        participant twice in a conversation about one proposition; or no row that is left.
    """
    good: list[Row] = []
    left_out: list[str] = []
    seen: dict[tuple[str, str, str], str] = {}
    for row in rows:
        try:
            if isinstance(row, DataError):
                raise row
            _check(row, seen)
            good.append(row)
        except DataError as error:
            if not skip_bad:
                raise
            left_out.append(str(error))
    if not good:
        do = left_out[0] if left_out else "give a file with a row for each participant"
        raise DataError(name, got="no trajectory that can be used", allowed="at least one", do=do)
    return _columns(name, good, tuple(left_out))


def _check(row: Row, seen: dict[tuple[str, str, str], str]) -> None:
    for word in ("participant", "conversation", "proposition"):
        if not getattr(row, word).strip():
            raise DataError(f"{row.location}, {word}", got="nothing", allowed="a name or an id", do=SKIP)
    for word in ("initial", "final"):
        check_stance(getattr(row, word), f"{row.location}, {word} stance")
    for reading in row.readings:
        check_stance(reading.stance, f"{row.location}, reading after {reading.after} messages")
    if not row.messages and not row.alone:
        raise DataError(row.location, got="an empty conversation", allowed="at least one received message", do=SKIP)
    if len(row.messages) > MOST_MESSAGES:
        raise DataError(row.location, got=f"{len(row.messages):,} messages", allowed=f"at most {MOST_MESSAGES:,}")
    for number, message in enumerate(row.messages, 1):
        where = f"{row.location}, message {number}"
        if message.author == row.participant:
            raise DataError(where, got="an own message", allowed="received ones", do=SKIP)
        for name, low in (("side", -1.0), ("strength", 0.0), ("tie", 0.0)):
            _check_range(getattr(message, name), low, 1.0, f"{where}, {name}")
    key = (row.participant, row.conversation, row.proposition)
    if key in seen:
        got = f"participant {row.participant!r} again in conversation {row.conversation!r}"
        raise DataError(row.location, got=got, allowed=f"once per proposition; first at {seen[key]}", do=SKIP)
    seen[key] = row.location


def check_stance(stance: float, where: str) -> None:
    """Refuse a stance that is missing or outside [-1, 1].

    >>> check_stance(1.5, "people.csv, row 3, final stance")
    Traceback (most recent call last):
    ...
    townsquare.core.errors.DataError: people.csv, row 3, final stance: got 1.5; allowed: a number from -1 to 1; leave
    the row out by hand, or give --skip-bad
    """
    if not -1.0 <= stance <= 1.0:
        got = "nothing" if math.isnan(stance) else f"{stance:g}"
        raise DataError(where, got=got, allowed="a number from -1 to 1", do=SKIP)


def _check_range(value: float, low: float, high: float, where: str) -> None:
    if not math.isnan(value) and not low <= value <= high:
        raise DataError(where, got=f"{value:g}", allowed=f"a number from {low:g} to {high:g}, or nothing", do=SKIP)


def kept_readings(row: Row) -> Iterator[Reading]:
    """Yield readings that stand strictly between the first and the last message; of several at one place the last."""
    last = {reading.after: reading for reading in row.readings}
    return (last[after] for after in sorted(last) if 0 < after < len(row.messages))


def _groups(words: list[str]) -> Int64:
    """Return numbers of groups in order of first appearance, from 0; -1 for none."""
    codes, known = codes_of(words)
    number = np.cumsum([bool(word) for word in known]) - 1
    return np.array([number[code] if known[code] else -1 for code in codes.tolist()], np.int64)


def _columns(name: str, rows: list[Row], left_out: tuple[str, ...]) -> Trajectories:
    messages = [message for row in rows for message in row.messages]
    readings = [list(kept_readings(row)) for row in rows]
    author, authors = codes_of([message.author for message in messages])
    text, texts = codes_of([message.text for message in messages])
    group = _groups([*(row.group for row in rows), *(message.group for message in messages)])
    words: dict[str, Any] = {name: tuple(getattr(row, name) for row in rows) for name in WORDS}
    numbers: dict[str, Any] = {}
    for records, names in ((rows, ("control", "initial", "final")), (messages, ("side", "strength", "tie"))):
        numbers |= {name: np.array([getattr(record, name) for record in records]) for name in names}
    words["topic"] = tuple(row.topic or row.proposition for row in rows)
    return Trajectories(
        name=name, **words, **numbers, indptr=offsets_of([len(row.messages) for row in rows]),
        author=author, text=text, group=group[: len(rows)], author_group=group[len(rows) :],
        reading_indptr=offsets_of([len(part) for part in readings]),
        reading_after=np.array([reading.after for part in readings for reading in part], np.int64),
        reading=np.array([reading.stance for part in readings for reading in part], np.float64),
        authors=authors, texts=texts, left_out=left_out,
    )  # fmt: skip
