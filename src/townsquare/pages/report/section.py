"""What a page is made of: sections of sentences, figures and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from townsquare.core.text_table import Table
from townsquare.pages.report.svg import Figure


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a page.

    ``says`` are the sentences above the figures, ``notes`` what a reader must mind, ``tables`` what stands behind the
    figures (folded away), ``open_tables`` what stands in the open.
    """

    key: str
    title: str
    says: Sequence[str] = ()
    notes: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    open_tables: Sequence[Table] = ()
