"""Samples of arguments labeled by people with topic, side and, where given, a rating."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.evidence.argument_columns import QUALITY, REVERSED, SIDE, TEXT, TOPIC, side_of
from townsquare.beliefs.evidence.examples import Examples
from townsquare.core.array_types import Float
from townsquare.core.cells import Column, numbers, read_columns, text_cell
from townsquare.core.errors import DataError
from townsquare.core.tabular import Record, read_table


@dataclass(frozen=True, slots=True, eq=False)
class ArgumentTable:
    """Arguments as columns; n of them.

    Attributes
    ----------
    location : str
        The file.
    text, topic : tuple of str
        Untrusted; topics are read as propositions.
    side : (n,) float64
        +1 for the topic, -1 against it, 0 where the text holds no argument on it, NaN where the file does not say.
    quality : (n,) float64
        Rating, more is better; NaN if none exists.
    columns : dict of str to str
        Which column of the file was read as what.
    """

    location: str
    text: tuple[str, ...]
    topic: tuple[str, ...]
    side: Float
    quality: Float
    columns: dict[str, str]

    @property
    def topics(self) -> tuple[str, ...]:
        """Return each topic once, in order of first appearance."""
        return tuple(dict.fromkeys(self.topic))

    def rows(self, topic: str) -> npt.NDArray[np.int64]:
        """Return rows of a topic, ascending."""
        return np.flatnonzero([name == topic for name in self.topic])


def read_arguments(path: Path, quality: str = "") -> ArgumentTable:
    """Return a table of arguments from a CSV, TSV or file with one JSON object a line.

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
    table, named = read_table(path), quality.strip().lower()
    rating = numbers(-1e9, 1e9)
    columns = (
        Column(TOPIC[0], _topic, TOPIC[1:], needed=True),
        Column(SIDE[0], _side, (*SIDE[1:], "stance"), needed=True),
        TEXT,
        Column(named, rating, needed=True) if named else Column(QUALITY[0], rating, QUALITY[1:]),
    )
    sheet = read_columns(table, columns, strict=False, least="at least one argument")
    used = {what: sheet.used[what] for what in ("topic", "side", "text")}
    if rating_column := sheet.used.get(named or QUALITY[0]):
        used["quality"] = rating_column
    rated = np.array(sheet[named or QUALITY[0]])
    rated = -rated if used.get("quality") == REVERSED else rated
    text, topic, side = tuple(sheet["text"]), tuple(sheet["topic"]), np.array(sheet["side"])
    return ArgumentTable(table.location, text, topic, side, rated, used)


def banks_by_topic(table: ArgumentTable) -> dict[str, Examples]:
    """Return a bank for each topic of a table; rows without a side are left out.

    Raises
    ------
    DataError
        A topic without any argument on one side.
    """
    banks = {}
    for topic in table.topics:
        rows = [at for at in table.rows(topic).tolist() if abs(table.side[at]) == 1.0]
        signs = tuple(int(table.side[at]) for at in rows)
        for sign, name in ((1, "for"), (-1, "against")):
            if sign not in signs:
                where = f"{table.location}, topic {topic[:80]!r}"
                raise DataError(where, got=f"no argument {name} it", allowed="arguments for and against each topic")
        banks[topic] = Examples(tuple(table.text[at] for at in rows), signs)
    return banks


def _topic(record: Record, column: str) -> str:
    text = text_cell(record, column)
    return text.replace("-", " ").strip() if column == "debate" else text


def _side(record: Record, column: str) -> float:
    side = side_of(record, column)
    if math.isnan(side) and column != "side_label":
        do = "label every row: pro, con, or none where the text holds no argument on the topic"
        raise DataError(record.where(column), got="nothing", allowed="pro, con or none, or a number", do=do)
    return side
