"""What :class:`townsquare.record.run.Run` needs of a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import polars as pl

from townsquare import schema
from townsquare.errors import RecordError
from townsquare.record.content_hash import ColumnsOf
from townsquare.record.contract import RunHeader
from townsquare.record.frames import from_frame

Steps = tuple[int, int]
"""First and last step, both included."""


class RunReader(Protocol):
    """The rows of a recorded run. Only committed steps are seen, each whole."""

    @property
    def where(self) -> str:
        """What errors call the run."""

    @property
    def header(self) -> RunHeader:
        """Version, settings and layout."""

    def state(self) -> str:
        """``"running"``, ``"finished"`` or ``"stopped"``."""

    def health(self) -> str:
        """Why the run is unhealthy; "" if it is not."""

    def marks(self) -> pl.DataFrame:
        """The committed rows of ``steps``, by step."""

    def frame(self, table: schema.Table, columns: Sequence[schema.Column], steps: Steps | None) -> pl.DataFrame:
        """Rows that these steps added to a table, or all steps, in order."""

    def lazy(self, table: schema.Table, last: int | None = None) -> pl.LazyFrame:
        """All rows of a table as a lazy frame, or those that steps up to ``last`` added."""

    def counts(self) -> dict[str, int]:
        """Number of rows by name of table; tables without rows may be missing."""

    def check(self) -> None:
        """Raise ``RecordError`` if the files that hold it are damaged, wherever that is."""

    def query(self, query: str) -> pl.DataFrame:
        """Answer one SELECT."""


def rows_of_step(reader: RunReader, step: int) -> ColumnsOf:
    """The rows that one committed step added, by table, as :meth:`Batches.get` gave them."""

    def columns_of(name: str) -> schema.Columns:
        table = schema.TABLES[name]
        return from_frame(name, reader.frame(table, table.recorded, (step, step)))

    return columns_of


def check_count(where: str, got: int, recorded: int) -> None:
    """Refuse a table that has lost or gained rows since they were recorded."""
    if got != recorded:
        raise RecordError(
            where, got=f"{got} rows", allowed=f"{recorded}, as were recorded", do="the file was changed or damaged"
        )
