"""Argument banks from files: arguments for and against one proposition, with their strengths.

A bank is a CSV, semicolon or tab file, or JSON lines, with one argument a row. Columns go by several names
(:mod:`townsquare.beliefs.evidence.argument_columns`), so that collections of others load as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib.resources import files as package_files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.evidence.argument_columns import QUALITY, REVERSED, SIDE, TEXT, TOPIC, UNUSED, side_of
from townsquare.core.array_types import Bool, Float
from townsquare.core.cells import Column, Sheet, is_filled, numbers, read_columns, texts, words
from townsquare.core.documents import read_yaml
from townsquare.core.draws import chain, text_key
from townsquare.core.errors import DataError, UnknownName
from townsquare.core.files import find
from townsquare.core.registry import did_you_mean
from townsquare.core.tabular import Record, Records, read_table

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
    seed: Bool

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
    """Return the ten topics of the paper's Table A8, in its order, with arguments written for this project.

    >>> len(bundled_topics()), bundled_topics()[4].slug
    (10, 'compulsory-voting')
    """
    folder = Path(str(package_files("townsquare"))) / "data" / "arguments"
    listed = read_yaml(folder / INDEX)
    assert isinstance(listed, list)
    return tuple(Topic(row["slug"], row["proposition"], folder / row["file"]) for row in listed)


def load_bank(name: str, statement: str = "", sides: Mapping[str, int] | None = None) -> ArgumentBank:
    """Return the bank of a bundled topic, or of one topic of a file.

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
        return _bank(topic.slug, topic.statement, _columns(read_table(topic.path)), str(topic.path))
    if "/" not in name and not Path(name).suffix:
        allowed = f"{', '.join(known)}, or a file"
        raise UnknownName("topic", got=repr(name), allowed=allowed, do=did_you_mean(name, known))
    path = find(name)
    own = {label.lower(): side for label, side in (sides or {}).items()}
    chosen, sheet = _of_topic(_columns(read_table(path), own), statement)
    return _bank(path.stem, chosen, sheet, f"{path}, {chosen!r}")


def _columns(table: Records, own: Mapping[str, int] | None = None) -> Sheet:
    """Return the sheet of a bank's columns; ``own`` adds labels of sides to the usual ones."""
    columns = (
        TEXT,
        Column(TOPIC[0], texts(), TOPIC[1:]),
        Column(SIDE[0], partial(_side, own=own), SIDE[1:], needed=True),
        Column("stance", numbers(-1, 1)),
        Column(QUALITY[0], numbers(0, 1), QUALITY[1:]),
        Column("pool", words({SEED: True, DEBATE: False})),
        Column("tag", texts(required=False)),
        *(Column(name, texts()) for name in (*UNUSED, *TEXT.aliases, *TOPIC[1:], *SIDE[1:], *QUALITY[1:])),
    )
    return read_columns(table, columns)


def _of_topic(sheet: Sheet, statement: str) -> tuple[str, Sheet]:
    """Return the proposition and its rows."""
    if "topic" not in sheet:
        if not statement:
            do = "say the proposition: --set proposition=..."
            raise DataError(sheet.table.location, got="no column of topics", do=do)
        return statement, sheet
    table, names = sheet.table, sheet["topic"]
    topics = list(dict.fromkeys(names))
    chosen = statement or (topics[0] if len(topics) == 1 else "")
    if chosen not in topics:
        shown = "; ".join(topics[:40]) + ("; ..." if len(topics) > 40 else "")
        do = did_you_mean(chosen, topics) or "choose one: --set proposition=..."
        raise DataError(table.location, got=repr(chosen) if chosen else "no choice of topic", allowed=shown, do=do)
    rows = [record for record, name in zip(table.records, names, strict=True) if name == chosen]
    return chosen, replace(sheet, table=replace(table, records=rows))


def _bank(name: str, statement: str, sheet: Sheet, where: str) -> ArgumentBank:
    polarity = np.array(sheet["side"], np.int8)
    text = tuple(sheet["text"])
    seed = np.array(sheet["pool"], np.bool_) if "pool" in sheet else _seeds(text, polarity)
    strength, stance = _strengths(sheet), _stances(sheet, polarity)
    bank = ArgumentBank(name, statement, text, tuple(sheet["tag"]), polarity, stance, strength, seed)
    for side, word in ((1, "for"), (-1, "against")):
        for pool, members in ((SEED, bank.seed), (DEBATE, ~bank.seed)):
            if not (members & (polarity == side)).any():
                got = f"no argument {word} the proposition in the pool {pool}"
                raise DataError(where, got=got, allowed="at least one per side in each pool", do="add some")
    return bank


def _side(record: Record, column: str, own: Mapping[str, int] | None) -> int:
    """Return +1 or -1; refuse an argument without a side."""
    side = side_of(record, column, own)
    if side not in (1.0, -1.0):
        empty = not is_filled(record, column)
        got = "no polarity" if empty else f"{str(record.cells[column])[:80]!r}, which is no polarity"
        do = "" if empty or column != "side_label" else "say what the labels mean: --set sides.LABEL=pro"
        raise DataError(record.where(column), got=got, allowed="pro or con, 1 or -1", do=do)
    return int(side)


def _stances(sheet: Sheet, polarity: npt.NDArray[np.int8]) -> Float:
    """Return how far each argument goes. A column without any negative number says how far, and the side which way."""
    given = np.array(sheet["stance"], np.float64)
    wrong = (given * polarity < 0) & bool((given < 0).any())
    if wrong.any():
        at = int(np.argmax(wrong))
        where = sheet.table.records[at].where("stance")
        raise DataError(where, got=f"{given[at]:g}", allowed="a stance with the sign of the side")
    return np.where(np.isnan(given), 1.0, np.abs(given)) * polarity


def _strengths(sheet: Sheet) -> Float:
    out = np.array(sheet["quality"], np.float64)
    if sheet.used.get("quality") == REVERSED:  # a high one is less convincing; only the order in a topic means anything
        order = np.argsort(np.argsort(-out, kind="stable"), kind="stable")
        out = (order + 0.5) / out.size
    return out


def _seeds(text: Sequence[str], polarity: npt.NDArray[np.int8]) -> Bool:
    seed = np.zeros(len(text), np.bool_)
    keys = np.array([chain(text_key(argument)) for argument in text], np.uint64)
    for side in (1, -1):
        at = np.flatnonzero(polarity == side)
        order = at[np.argsort(keys[at], kind="stable")]
        seed[order[: -(-at.size // SEED_SHARE) if at.size > 1 else 0]] = True
    return seed
