"""Argument banks from files: what can be said for and against one proposition, and how well.

A bank is a CSV, semicolon or tab file, or JSON lines, with one argument a row. Columns go by several names
(:mod:`townsquare.beliefs.evidence.argument_columns`), so that collections of others load as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.evidence.argument_columns import (
    QUALITY,
    REVERSED,
    SIDE,
    TEXT,
    TOPIC,
    UNUSED,
    first_column,
    needed_column,
    read_table,
    side_of,
)
from townsquare.core.cells import number_cell, text_cell, word_cell
from townsquare.core.documents import read_yaml
from townsquare.core.draws import chain, text_key
from townsquare.core.errors import DataError, UnknownName
from townsquare.core.files import find
from townsquare.core.registry import did_you_mean
from townsquare.core.tabular import Record, Records

Float = npt.NDArray[np.float64]

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "text": TEXT,
    "topic": TOPIC,
    "side": SIDE,
    "stance": ("stance",),
    "strength": QUALITY,
    "pool": ("pool",),
    "tag": ("tag",),
}
"""What a bank is read for, and the columns that hold it; the first that a file has is taken."""

SEED, DEBATE = "seed", "debate"
SEED_SHARE = 3
"""Where a file names no pools, one argument in so many goes to the pool ``seed``."""
INDEX = "index.yaml"


@dataclass(frozen=True, slots=True, eq=False)
class ArgumentBank:
    """The m arguments on one proposition; arrays are read-only.

    Attributes
    ----------
    name : str
        Short name: that of a bundled topic, or of the file.
    statement : str
        The proposition.
    text, tag : tuple of str
        What is said, and its category; "" for none.
    polarity : (m,) int8
        +1 for the proposition, -1 against it.
    stance : (m,) float64
        [-1, 1], how far the argument goes; its polarity where a file does not say.
    strength : (m,) float64
        [0, 1]; NaN where a file does not say.
    seed : (m,) bool
        In the pool that agents start from; the others are for the debate.
    """

    name: str
    statement: str
    text: tuple[str, ...]
    tag: tuple[str, ...]
    polarity: npt.NDArray[np.int8]
    stance: Float
    strength: Float
    seed: npt.NDArray[np.bool_]

    def __post_init__(self) -> None:
        for column in (self.polarity, self.stance, self.strength, self.seed):
            column.flags.writeable = False

    def __len__(self) -> int:
        return len(self.text)


class Topic(NamedTuple):
    """A bundled topic: its short name, its proposition and its file."""

    slug: str
    statement: str
    path: Path


@lru_cache(maxsize=1)
def bundled_topics() -> tuple[Topic, ...]:
    """The ten topics of the paper's Table A8, in its order, with arguments written for this project.

    >>> len(bundled_topics()), bundled_topics()[4].slug
    (10, 'compulsory-voting')
    """
    folder = Path(str(package_files("townsquare"))) / "data" / "arguments"
    listed = read_yaml(folder / INDEX)
    assert isinstance(listed, list)
    return tuple(Topic(row["slug"], row["proposition"], folder / row["file"]) for row in listed)


def load_bank(name: str, statement: str = "", sides: Mapping[str, int] | None = None) -> ArgumentBank:
    """The bank of a bundled topic, or of one topic of a file.

    Parameters
    ----------
    name : str
        A bundled topic, or the path of a file.
    statement : str
        For a file with several topics, which one; for one without a topic column, the proposition.
    sides : mapping of str to int, optional
        What labels of a file's own mean, as ``{"tv": 1, "books": -1}``; beside pro, con, 1, -1, yes and no.

    Raises
    ------
    UnknownName
        There is no such topic.
    DataError
        The file cannot be used; names file, row and column.

    >>> bank = load_bank("compulsory-voting")
    >>> bank.statement, len(bank), int(bank.seed.sum())
    ('We should introduce compulsory voting', 72, 24)
    """
    known = {topic.slug: topic for topic in bundled_topics()}
    if name in known:
        topic = known[name]
        return _bank(topic.slug, topic.statement, _read(topic.path), {}, str(topic.path))
    if "/" not in name and not Path(name).suffix:
        raise UnknownName(
            "topic", got=repr(name), allowed=f"{', '.join(known)}, or a file", do=did_you_mean(name, known)
        )
    path = find(name)
    table = _read(path)
    chosen, records = _of_topic(table, statement)
    kept = Records(table.place, table.columns, records)
    return _bank(path.stem, chosen, kept, sides or {}, f"{path}, {chosen!r}")


def topics_in(path: Path) -> tuple[str, ...]:
    """The topics of a file, in order of first appearance; none if it has no such column."""
    table = _read(path)
    column = _column(table, "topic")
    return () if column is None else tuple(dict.fromkeys(text_cell(row, column) for row in table.records))


def _read(path: Path) -> Records:
    table = read_table(path)
    known = [name for names in COLUMNS.values() for name in names] + list(UNUSED)
    for column in table.columns:
        if column not in known:
            do = did_you_mean(column, known)
            raise DataError(f"{path}, header", got=f"the column {column!r}", allowed=", ".join(known), do=do)
    for wanted in ("text", "side"):
        needed_column(table, COLUMNS[wanted], wanted)
    return table


def _column(table: Records, wanted: str) -> str | None:
    return first_column(table, COLUMNS[wanted])


def _of_topic(table: Records, statement: str) -> tuple[str, list[Record]]:
    """The proposition and its rows."""
    column = _column(table, "topic")
    if column is None:
        if not statement:
            raise DataError(table.place, got="no column of topics", do="say the proposition: --set proposition=...")
        return statement, table.records
    names = [text_cell(record, column) for record in table.records]
    topics = list(dict.fromkeys(names))
    chosen = statement or (topics[0] if len(topics) == 1 else "")
    if chosen not in topics:
        shown = "; ".join(topics[:40]) + ("; ..." if len(topics) > 40 else "")
        do = did_you_mean(chosen, topics) or "choose one: --set proposition=..."
        raise DataError(table.place, got=repr(chosen) if chosen else "no choice of topic", allowed=shown, do=do)
    return chosen, [record for record, name in zip(table.records, names, strict=True) if name == chosen]


def _bank(name: str, statement: str, table: Records, sides: Mapping[str, int], where: str) -> ArgumentBank:
    text_column, side_column = _column(table, "text") or "", _column(table, "side") or ""
    own = {label.lower(): side for label, side in sides.items()}
    polarity = np.array([_side(record, side_column, own) for record in table.records], np.int8)
    text = tuple(text_cell(record, text_column) for record in table.records)
    tag_column = _column(table, "tag")
    tag = tuple(text_cell(row, tag_column, required=False) if tag_column else "" for row in table.records)
    stance, seed = _stances(table, polarity), _seeds(table, text, polarity)
    bank = ArgumentBank(name, statement, text, tag, polarity, stance, _strengths(table), seed)
    for side, word in ((1, "for"), (-1, "against")):
        for pool, held in ((SEED, bank.seed), (DEBATE, ~bank.seed)):
            if not (held & (polarity == side)).any():
                got = f"no argument {word} the proposition in the pool {pool}"
                raise DataError(where, got=got, allowed="at least one a side in each pool", do="add some")
    return bank


def _side(record: Record, column: str, own: Mapping[str, int]) -> int:
    """+1 or -1; an argument without a side is refused, since nobody could hold it."""
    side = side_of(record, column, own)
    if side not in (1.0, -1.0):
        value = record.cells.get(column)
        empty = value is None or not str(value).strip()
        got = "no polarity" if empty else f"{str(value)[:80]!r}, which is no polarity"
        do = "" if empty or column != "side_label" else "say what the labels mean: --set sides.LABEL=pro"
        raise DataError(record.where(column), got=got, allowed="pro or con, 1 or -1", do=do)
    return int(side)


def _stances(table: Records, polarity: npt.NDArray[np.int8]) -> Float:
    """How far each argument goes. A column without any negative number says how far, and the side which way."""
    column = _column(table, "stance")
    if column is None:
        return polarity.astype(np.float64)
    given = np.array([number_cell(record, column, -1, 1, math.nan) for record in table.records])
    wrong = (given * polarity < 0) & bool((given < 0).any())
    if wrong.any():
        at = int(np.argmax(wrong))
        where = table.records[at].where(column)
        raise DataError(where, got=f"{given[at]:g}", allowed="a stance with the sign of the side")
    return np.where(np.isnan(given), 1.0, np.abs(given)) * polarity


def _strengths(table: Records) -> Float:
    column = _column(table, "strength")
    if column is None:
        return np.full(len(table.records), math.nan)
    out = np.array([number_cell(record, column, 0, 1, math.nan) for record in table.records])
    if column == REVERSED:  # a high one is less convincing, and only the order within a topic means anything
        order = np.argsort(np.argsort(-out, kind="stable"), kind="stable")
        out = (order + 0.5) / out.size
    return out


def _seeds(table: Records, text: Sequence[str], polarity: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    column = _column(table, "pool")
    if column is not None:
        return np.array([word_cell(record, column, {SEED: 1, DEBATE: 0}) for record in table.records], np.bool_)
    seed = np.zeros(len(text), np.bool_)
    keys = np.array([chain(text_key(one)) for one in text], np.uint64)
    for side in (1, -1):
        at = np.flatnonzero(polarity == side)
        order = at[np.argsort(keys[at], kind="stable")]
        seed[order[: -(-at.size // SEED_SHARE) if at.size > 1 else 0]] = True
    return seed
