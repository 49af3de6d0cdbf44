"""A run for many measures one after the other: large tables are read once too, where they fit into memory."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from townsquare.analysis.contract import Kept
from townsquare.lazy_rows import collected

MOST_KEPT = 5_000_000
"""Rows up to which a table is kept in memory between measures; larger ones are scanned by each, for its columns only.
At this size exposures, beliefs and the trail take some 0.5 GiB together."""
_LARGE = ("exposures", "beliefs", "trail")


class Together(Kept):
    """As :class:`~townsquare.analysis.contract.Kept`, with exposures, beliefs and the trail kept too.

    Of each, the columns that any analysis or page asks for lazily.
    """

    _READ_ONCE: ClassVar = {
        **Kept._READ_ONCE,
        "exposures": (
            "step",
            "agent",
            "rank",
            "post",
            "root",
            "author",
            "under",
            "verdict",
            "note",
            "first_seen",
            "weight",
        ),
        "beliefs": ("step", "agent", "proposition", "stance", "confidence"),
        "trail": ("step", "agent", "proposition", "kind", "rank", "post", "amount", "trust"),
    }

    def lazy(self, name: str) -> pl.LazyFrame:
        """As in the class above."""
        if name in _LARGE and name not in self._light:
            rows = self._so_far(name, self._run.lazy(name))
            if rows.select(pl.len()).pipe(collected).item() > MOST_KEPT:
                return rows
        return super().lazy(name)
