"""What a page is made of: sections of sentences, panels and the tables behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

MOST_STEPS = 25
"""Rows of a table over steps at most; longer courses are thinned evenly, first and last step kept."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes: a caption in HTML, and inline SVG that is safe to place unescaped."""

    caption: str
    svg: str


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text, to be escaped by the page. ``words`` are the columns that hold words, aligned left."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: frozenset[int] = frozenset({0})
    note: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """One figure with what it shows.

    ``says`` are the sentences above the panels, ``notes`` what a reader must mind, ``tables`` what stands behind the
    panels (folded away), ``open_tables`` what stands in the open.
    """

    key: str
    title: str
    says: Sequence[str] = ()
    notes: Sequence[str] = ()
    panels: Sequence[Panel] = ()
    tables: Sequence[Table] = ()
    open_tables: Sequence[Table] = field(default_factory=tuple)


Format = Callable[[Any], str]


def table_of(caption: str, frame: pl.DataFrame, columns: Sequence[tuple[str, str, Format]], words: int = 1) -> Table:
    """A table from a frame.

    Parameters
    ----------
    caption : str
    frame : DataFrame
        Thinned over its column ``step`` if it has more than ``MOST_STEPS`` of them.
    columns : sequence of (str, str, callable)
        Heading, name in the frame, and how a value becomes text.
    words : int
        The first so many columns hold words, the others numbers.
    """
    shown, note = thinned(frame)
    cells = [[text(value) for (_, _, text), value in zip(columns, row, strict=True)] for row in _rows(shown, columns)]
    return Table(caption, [title for title, _, _ in columns], cells, frozenset(range(words)), note)


def _rows(frame: pl.DataFrame, columns: Sequence[tuple[str, str, Format]]) -> list[tuple[Any, ...]]:
    return frame.select(pl.col(name).alias(str(i)) for i, (_, name, _) in enumerate(columns)).rows()


def thinned(frame: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The rows of at most ``MOST_STEPS`` steps, and a note if that left some out."""
    if "step" not in frame.columns:
        return frame, ""
    steps = frame["step"].unique().sort().to_list()
    if len(steps) <= MOST_STEPS:
        return frame, ""
    last = len(steps) - 1
    kept = sorted({steps[round(i * last / (MOST_STEPS - 1))] for i in range(MOST_STEPS)})
    return frame.filter(pl.col("step").is_in(kept)), f"{len(kept)} of {len(steps)} steps are listed."
