"""A run for one report: the large tables of a run that is not large are read once, for all of its measures."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from townsquare.analysis.contract import Kept

MOST_KEPT = 3_000_000
"""Rows up to which a table is kept in memory; larger ones are scanned by each measure, for its columns only."""
_LARGE = ("exposures", "beliefs", "trail")


class KeptForReport(Kept):
    """As :class:`~townsquare.analysis.contract.Kept`, with exposures, beliefs and the trail kept too."""

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
            if rows.select(pl.len()).collect().item() > MOST_KEPT:
                return rows
        return super().lazy(name)
