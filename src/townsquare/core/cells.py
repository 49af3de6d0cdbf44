"""Read one cell of a table: a text, a name, a number, a word."""

from __future__ import annotations

import math
from collections.abc import Mapping

from townsquare.core.errors import DataError
from townsquare.core.files import clean
from townsquare.core.lookalikes import is_visible
from townsquare.core.registry import did_you_mean
from townsquare.core.tabular import Record

MAX_CHARACTERS = 10_000
MAX_NAME = 200


def text_cell(record: Record, column: str, *, limit: int = MAX_CHARACTERS, required: bool = True) -> str:
    """A text without control characters or space around it; numbers count as text, "" is missing."""
    value = record.cells.get(column)
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        raise DataError(record.where(column), got=type(value).__name__, allowed="a text", do="write it in quotes")
    text = "" if value is None else clean(str(value)).strip()
    if len(text) > limit:
        do = "shorten it, or split it into several"
        raise DataError(
            record.where(column), got=f"{len(text):,} characters", allowed=f"at most {limit:,} characters", do=do
        )
    if required and not text:
        raise DataError(record.where(column), got="nothing", allowed="a text", do="fill the cell or remove the row")
    if not text.isascii() and not is_visible(text):
        got, do = f"{ascii(text)[:80]}, of which nothing can be seen", "fill the cell or empty it"
        raise DataError(record.where(column), got=got, allowed="a text with a visible character", do=do)
    return text


def name_cell(record: Record, column: str, *, required: bool = True) -> str:
    """A text of at most 200 characters on one line: a name, a title, a topic."""
    return " ".join(text_cell(record, column, limit=MAX_NAME, required=required).split())


def number_cell(record: Record, column: str, low: float, high: float, default: float) -> float:
    """A number in [``low``, ``high``]; ``default`` for an empty cell."""
    value = record.cells.get(column)
    if value is None or (isinstance(value, str) and not value.strip()):
        return default
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not low <= number <= high:
        allowed = f"a number from {low:g} to {high:g}, or nothing"
        raise DataError(record.where(column), got=repr(value)[:80], allowed=allowed)
    return number


def word_cell(record: Record, column: str, words: Mapping[str, int]) -> int:
    """What one of some words, in any case, stands for; "" is among the words if the cell may be empty."""
    value = record.cells.get(column)
    word = "" if value is None else str(value).strip().lower()
    if word not in words:
        allowed = ", ".join(known or "nothing" for known in words)
        raise DataError(record.where(column), got=repr(value)[:80], allowed=allowed, do=did_you_mean(word, words))
    return words[word]
