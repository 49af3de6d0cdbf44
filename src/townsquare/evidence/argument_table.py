"""Tables of arguments with a topic, a side and perhaps a rating: banks, and samples that people labelled.

Columns go by the names of several collections: those of IBM's Argument Quality Ranking (``argument, topic, set, WA,
MACE-P, stance_WA, stance_WA_conf``), of key point analysis, of UKPConvArgRank, and of Townsquare's own banks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from townsquare import files
from townsquare.errors import DataError
from townsquare.evidence.examples import Examples
from townsquare.files import Record, Records, clean
from townsquare.registry import did_you_mean

Float = npt.NDArray[np.float64]

TOPIC = ("topic", "proposition", "statement", "debate")
SIDE = ("side", "stance_wa", "polarity", "stance", "side_label")
TEXT = ("argument", "text", "claim", "message")
QUALITY = ("quality", "wa", "mace-p", "strength", "score", "rank_score")
REVERSED = "rank_score"
"""The one column in which more is worse, as in UKPConvArgRank."""

LONGEST = 10_000
_FOR = frozenset(("pro", "for", "favor", "favour", "support", "yes"))
_AGAINST = frozenset(("con", "against", "oppose", "no"))
_NEITHER = frozenset(("none", "neutral"))


@dataclass(frozen=True, slots=True, eq=False)
class ArgumentTable:
    """Arguments as columns; n of them.

    Attributes
    ----------
    place : str
        The file.
    text, topic : tuple of str
        Untrusted; topics are read as propositions.
    side : (n,) float64
        +1 for the topic, -1 against it, 0 where the text holds no argument on it, NaN where the file does not say.
    quality : (n,) float64
        Rating, more is better; NaN where there is none.
    columns : dict of str to str
        Which column of the file was read as what.
    """

    place: str
    text: tuple[str, ...]
    topic: tuple[str, ...]
    side: Float
    quality: Float
    columns: dict[str, str]

    @property
    def topics(self) -> tuple[str, ...]:
        """Each topic once, in order of first appearance."""
        return tuple(dict.fromkeys(self.topic))


def read_arguments(path: Path, quality: str = "") -> ArgumentTable:
    """A table of arguments from a CSV, TSV or file with one JSON object a line.

    Parameters
    ----------
    path : Path
        The file.
    quality : str, optional
        The column of ratings; by default the first of quality, WA, MACE-P, strength, score, rank_score that is there.

    Raises
    ------
    DataError
        No column of texts, topics or sides; a cell that cannot be read, with file, row and column; no rows.
    """
    table = files.read_jsonl(path) if path.suffix.lower() in (".jsonl", ".ndjson") else files.read_csv(path)
    used = _columns(table, quality)
    if not table.records:
        raise DataError(table.place, got="no rows", allowed="at least one argument")
    text = tuple(_text(record, used["text"]) for record in table.records)
    topic = tuple(_topic(record, used["topic"]) for record in table.records)
    side = np.array([_side(record, used["side"]) for record in table.records])
    rated = used.get("quality")
    numbers = np.array([_number(record, rated) for record in table.records]) if rated else np.full(len(text), np.nan)
    return ArgumentTable(table.place, text, topic, side, -numbers if rated == REVERSED else numbers, used)


def banks_by_topic(table: ArgumentTable) -> dict[str, Examples]:
    """A bank for each topic of a table; rows without a side are left out.

    Raises
    ------
    DataError
        A topic without any argument on one side.
    """
    banks = {}
    for topic in table.topics:
        rows = [at for at, name in enumerate(table.topic) if name == topic and abs(table.side[at]) == 1.0]
        signs = tuple(int(table.side[at]) for at in rows)
        for sign, name in ((1, "for"), (-1, "against")):
            if sign not in signs:
                where = f"{table.place}, topic {topic[:80]!r}"
                raise DataError(where, got=f"no argument {name} it", allowed="arguments for and against each topic")
        banks[topic] = Examples(tuple(table.text[at] for at in rows), signs)
    return banks


def _columns(table: Records, quality: str) -> dict[str, str]:
    used = {}
    for what, names in (("topic", TOPIC), ("side", SIDE), ("text", TEXT)):
        there = [name for name in names if name in table.columns]
        if not there:
            got = ", ".join(table.columns)[:200] or "no columns"
            do = did_you_mean(what, table.columns)
            raise DataError(f"{table.place}, header", got=got, allowed=f"a column {' or '.join(names)}", do=do)
        used[what] = there[0]
    wanted = quality.strip().lower()
    if wanted and wanted not in table.columns:
        got, do = repr(quality), did_you_mean(wanted, table.columns)
        raise DataError(f"{table.place}, header", got=got, allowed=", ".join(table.columns)[:200], do=do)
    rated = [wanted] if wanted else [name for name in QUALITY if name in table.columns]
    return {**used, "quality": rated[0]} if rated else used


def _text(record: Record, column: str) -> str:
    value = record.cells.get(column)
    text = "" if value is None else clean(str(value)).strip()
    if not text:
        raise DataError(record.where(column), got="nothing", allowed="a text", do="fill the cell or remove the row")
    if len(text) > LONGEST:
        raise DataError(record.where(column), got=f"{len(text):,} characters", allowed=f"at most {LONGEST:,}")
    return text


def _topic(record: Record, column: str) -> str:
    text = _text(record, column)
    return text.replace("-", " ").strip() if column == "debate" else text


def _side(record: Record, column: str) -> float:
    value = str(record.cells.get(column) if record.cells.get(column) is not None else "").strip().lower()
    if column == "side_label":
        head = value.split("-")[0]
        return 1.0 if head == "yes" else -1.0 if head == "no" else math.nan
    for words, side in ((_FOR, 1.0), (_AGAINST, -1.0), (_NEITHER, 0.0)):
        if value in words:
            return side
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not -1.0 <= number <= 1.0:
        do = "label every row: pro, con, or none where the text holds no argument on the topic"
        raise DataError(
            record.where(column), got=repr(value)[:80], allowed="pro, con or none, or a number from -1 to 1", do=do
        )
    return float(np.sign(number))


def _number(record: Record, column: str) -> float:
    value = str(record.cells.get(column) if record.cells.get(column) is not None else "").strip()
    if not value:
        return math.nan
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(record.where(column), got=repr(value)[:80], allowed="a number, or nothing")
    return number
