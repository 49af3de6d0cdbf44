"""What recorders into a database share: steps are committed or compared, and a recording ends or leaves nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from townsquare.record import database
from townsquare.record.batches import Batches
from townsquare.record.contract import STATES, StepSummary
from townsquare.record.reader import RunReader
from townsquare.record.replay import check_next, check_same_step


class DatabaseRecorder(ABC):
    """A recorder into SQLite or PostgreSQL.

    Parameters
    ----------
    folder : path
        Of the run.
    where : str
        What errors call the place of the rows.
    """

    def __init__(self, folder: Path | str, where: str) -> None:
        self.folder, self._where = Path(folder), where
        self._connection: Any = None
        self._is_new = self._is_lost = False
        self._last = -1

    def save_step(self, out: Batches, summary: StepSummary) -> None:
        """Commit the rows of a new step; compare the rows of a step that is committed already."""
        self.save_steps([(out, summary)])

    def save_steps(self, steps: Sequence[tuple[Batches, StepSummary]]) -> None:
        """Commit the new ones of consecutive steps in one transaction; compare those that are committed already."""
        if self._connection is None:
            raise ValueError(f"{self._where} is not open")
        new, last = [], self._last
        for out, summary in steps:
            if check_next(summary, out.step, last):
                self._compare(out, summary)
            else:
                new.append((out, summary))
                last = out.step
        if new:
            with self._writing():
                self._write(new)
            self._last = last

    def _compare(self, out: Batches, summary: StepSummary) -> None:
        with self._writing():
            row = self._connection.execute(f"SELECT hash FROM ts_steps WHERE step = {summary.step:d}").fetchone()
        recorded = str(row[0]) if row else "no hash"
        if recorded != summary.hash:
            check_same_step(self._reader(), out, summary, recorded)

    def close(self, state: str, health: str = "") -> None:
        """End as ``"finished"`` or ``"stopped"``; a recording stopped before its first step is removed."""
        if state not in STATES[1:]:
            raise ValueError(f"state {state!r} is none of {STATES[1:]}")
        try:
            if self._connection is not None and not self._is_lost:
                with self._writing():
                    if state == "stopped" and self._is_new and self._last < 0:
                        self._discard()
                    else:
                        run_hash = database.hash_of_run(self._connection)
                        self._end({"state": state, "health": health, "run_hash": run_hash})
        finally:
            self._release()

    @property
    def _next(self) -> str:
        """What to do after an error, and what is safe."""
        if self._last < 0:
            return "repeat the run: no step is recorded yet"
        return f"run `townsquare resume {self.folder}`: steps up to {self._last} are safe"

    @abstractmethod
    def _writing(self) -> AbstractContextManager[None]:
        """Turn errors into ``RecordError``."""

    @abstractmethod
    def _reader(self) -> RunReader:
        """Read what is recorded."""

    @abstractmethod
    def _write(self, steps: Sequence[tuple[Batches, StepSummary]]) -> None:
        """Write steps in one transaction."""

    @abstractmethod
    def _end(self, info: dict[str, str]) -> None:
        """Complete the database and set ``info``."""

    @abstractmethod
    def _discard(self) -> None:
        """Remove a record without a step, while nobody else can write there."""

    @abstractmethod
    def _release(self) -> None:
        """Close the connection, and let others write."""
