"""Column names and side labels of argument files, for banks and for samples labeled by people.

They go by the names of several collections: those of IBM's Argument Quality Ranking (``argument, topic, set, WA,
MACE-P, stance_WA, stance_WA_conf``; Gretz and others 2019, arXiv:1911.11408), of key point analysis, of UKPConvArgRank,
and of Townsquare's own banks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from townsquare.core.cells import Column, texts
from townsquare.core.errors import DataError
from townsquare.core.registry import did_you_mean
from townsquare.core.tabular import Record

TOPIC = ("topic", "proposition", "statement", "debate")
TEXT = Column("text", texts(), ("argument", "claim", "message"), needed=True)
SIDE = ("side", "stance_wa", "polarity", "side_label")
QUALITY = ("quality", "wa", "mace-p", "strength", "score", "rank_score")
REVERSED = "rank_score"
"""The one rating of which more is worse, as in UKPConvArgRank."""
UNUSED = ("set", "split", "stance_wa_conf", "prompt", "source")
"""Columns that such files have beside, and that are not needed."""

WORDS: Mapping[str, int] = {
    "pro": 1, "for": 1, "favor": 1, "favour": 1, "support": 1, "yes": 1,
    "con": -1, "against": -1, "oppose": -1, "no": -1,
    "none": 0, "neutral": 0,
}  # fmt: skip
"""Labels of sides, in any case; a number from -1 to 1 is read by its sign. 0 is an argument for neither."""


def side_of(record: Record, column: str, own: Mapping[str, int] | None = None) -> float:
    """Return the side of an argument: +1 for, -1 against, 0 for neither, NaN where the cell is empty.

    ``own`` adds labels. In a column ``side_label`` the part before the first hyphen counts, as in ``no-bad-for-jobs``,
    and one that is neither yes nor no says nothing.

    Raises
    ------
    DataError
        A label that means nothing, with file, row and column.
    """
    words = {**WORDS, **(own or {})}
    value = record.cells.get(column)
    label = "" if value is None else str(value).strip().lower()
    if not label:
        return math.nan
    if label in words:
        return float(words[label])
    if column == "side_label":
        return float({"yes": 1, "no": -1}.get(label.split("-")[0], math.nan))
    try:
        number = float(label)
    except ValueError:
        number = math.nan
    if not -1.0 <= number <= 1.0:
        allowed = ", ".join(words) + ", or a number from -1 to 1"
        raise DataError(record.where(column), got=repr(value)[:80], allowed=allowed, do=did_you_mean(label, words))
    return float((number > 0) - (number < 0))
