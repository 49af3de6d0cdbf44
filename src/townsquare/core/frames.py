"""Reads lazy frames of Polars: joined as they are written, summed in one order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import polars as pl

ORDERED: Literal["in-memory"] = "in-memory"
"""The engine for sums and means of reals: the streaming one adds them in the order in which threads happen to end, so
that equal runs would differ in the last digit. Counts may use either."""

AS_WRITTEN = pl.QueryOptFlags(**{name: False for name in ("join_order",) if hasattr(pl.QueryOptFlags, name)})
"""Every optimization but the order of joins, which Polars 2.1 takes from the sizes of tables alone: smallest first,
even where the two have but a proposition in common. A trail of 700,000 rows was joined with all posts of the same
proposition before it was joined with the post it names, and took all memory. Older versions keep the order anyway."""


def collected(rows: pl.LazyFrame, engine: Literal["auto", "in-memory"] = "auto") -> pl.DataFrame:
    """Return the rows, read."""
    return rows.collect(engine=engine, optimizations=AS_WRITTEN)


def all_collected(*several: pl.LazyFrame) -> list[pl.DataFrame]:
    """Collect several frames, reading each shared table once."""
    return pl.collect_all(several, optimizations=AS_WRITTEN)


def as_words(codes: str | pl.Expr, words: Mapping[int, str]) -> pl.Expr:
    """Return a column of codes in words; the number itself, as text, where a record holds one that has no word.

    >>> pl.DataFrame({"kind": [0, 9]}).select(as_words("kind", {0: "post"}))["kind"].to_list()
    ['post', '9']
    """
    column = pl.col(codes) if isinstance(codes, str) else codes
    return column.replace_strict(words, default=column.cast(pl.String), return_dtype=pl.String)
