"""Keeps a run in memory, for notebooks, tests and runs that need no file."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from townsquare.core import schema
from townsquare.core.errors import RecordError
from townsquare.core.identity import run_hash
from townsquare.record.batches import Batches
from townsquare.record.content_hash import HashChain
from townsquare.record.contract import STATES, RunHeader, StepSummary, check_same_run, summary_rows
from townsquare.record.frames import frame_schema, to_frame
from townsquare.record.query import checked_query, query_frames
from townsquare.record.reader import ALL_STEPS, EVERY_ROW, Steps, Wanted
from townsquare.record.replay import check_next, check_same_step


class MemoryRecorder:
    """Keep the rows of every step in memory. ``Run.of(recorder)`` reads them, during and after the run.

    It is a :class:`townsquare.record.contract.Recorder`.
    """

    def __init__(self) -> None:
        self._header: RunHeader | None = None
        self._state, self._health = "stopped", ""
        self._summaries: list[StepSummary] = []
        self._rows: list[schema.ByTable] = []

    # As a recorder

    def open(self, header: RunHeader) -> int:
        """Start a run or continue the same run; return the last committed step, -1 for none."""
        if self._header is not None:
            check_same_run(self.where, self._header, header)
        self._header, self._state = header, "running"
        return len(self._summaries) - 1

    def save_step(self, out: Batches, summary: StepSummary) -> None:
        """Keep the rows of a new step; compare the hash of a step that is kept already."""
        if check_next(summary, out.step, len(self._summaries) - 1):
            check_same_step(self, out, summary, self._summaries[summary.step].hash)
            return
        self._rows.append({name: out.get(name) for name in out.tables()})
        self._summaries.append(summary)

    def close(self, state: str, health: str = "") -> None:
        """End as ``"finished"`` or ``"stopped"``."""
        if state not in STATES[1:]:
            raise ValueError(f"state {state!r} is none of {STATES[1:]}")
        self._state, self._health = state, health

    # As a reader

    @property
    def where(self) -> str:
        """The name of this recorder in error messages."""
        return "run in memory"

    @property
    def header(self) -> RunHeader:
        """The header of the run; raises ``RecordError`` before :meth:`open`."""
        if self._header is None:
            raise RecordError(self.where, got="nothing recorded yet", do="run a simulation with this recorder first")
        return self._header

    def state(self) -> str:
        """Return ``"running"``, ``"finished"`` or ``"stopped"``."""
        return self._state

    def health(self) -> str:
        """Return why the run is unhealthy; "" if it is not."""
        return self._health

    def run_hash(self) -> str:
        """Return the hash of the settings and of all steps."""
        return run_hash(self.header.settings_hash, self._summaries[-1].hash if self._summaries else HashChain().value)

    def summaries(self) -> pl.DataFrame:
        """Return the table ``steps``."""
        return to_frame(schema.TABLES["steps"].recorded, summary_rows(self._summaries))

    def frame(
        self,
        table: schema.Table,
        columns: Sequence[schema.Column],
        steps: Steps | None = None,
        wanted: Wanted = EVERY_ROW,
    ) -> pl.DataFrame:
        """Return the rows of a table that these steps added; without ``steps``, all rows."""
        if wanted:
            tests = [pl.col(column).is_in(list(some)) for column, some in wanted.items()]
            return self.frame(table, table.recorded, steps).filter(*tests).select(list(frame_schema(columns)))
        if table.name == "steps":
            return self.summaries().filter(_within(steps)).select([column.name for column in columns])
        first, last = steps or (0, len(self._rows) - 1)
        parts = [rows[table.name] for rows in self._rows[max(first, 0) : last + 1] if table.name in rows]
        frames = [to_frame(columns, part) for part in parts]
        return pl.concat(frames, rechunk=True) if frames else pl.DataFrame(schema=frame_schema(columns))

    def lazy(self, table: schema.Table, last: int | None = None) -> pl.LazyFrame:
        """Return all rows of a table, or those that steps up to ``last`` added."""
        return self.frame(table, table.recorded, None if last is None else (0, last)).lazy()

    def stored(self, _table: schema.Table) -> str:
        """Return where the rows of a table are: in memory."""
        return "memory"

    def counts(self, steps: Steps = ALL_STEPS) -> dict[str, int]:
        """Return the number of rows that these steps added, by table."""
        return {name: self.frame(table, table.recorded[:1], steps).height for name, table in schema.TABLES.items()}

    def query(self, query: str) -> pl.DataFrame:
        """Answer one SELECT query."""
        return query_frames(checked_query(query), self.lazy)

    def check(self) -> None:
        """Do nothing: there is no file that could be damaged."""


def _within(steps: Steps | None) -> pl.Expr:
    return pl.lit(True) if steps is None else pl.col("step").is_between(*steps)
