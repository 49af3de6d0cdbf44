"""A recorder that writes nothing and compares everything: re-execution against a recorded run."""

from __future__ import annotations

import numpy as np

from townsquare.core import schema
from townsquare.core.errors import HashMismatch
from townsquare.record.batches import Batches
from townsquare.record.content_hash import ColumnsOf, hashed_tables
from townsquare.record.contract import RunHeader, StepSummary, check_same_run
from townsquare.record.reader import RunReader, rows_of_step


class ReplayEnded(Exception):
    """The last recorded step was executed again: there is nothing left to compare."""


class ReplayRecorder:
    """Compares each step with a recorded one, and ends after the last of them.

    It is a :class:`townsquare.record.contract.Recorder`.

    Parameters
    ----------
    reader : RunReader
        The recorded run.
    """

    def __init__(self, reader: RunReader) -> None:
        self._reader = reader
        self._hashes = reader.summaries()["hash"].to_list()
        self.compared = 0

    def open(self, header: RunHeader) -> int:
        """Return the last recorded step; refuses another run."""
        check_same_run(self._reader.where, self._reader.header, header)
        return len(self._hashes) - 1

    def save_step(self, out: Batches, summary: StepSummary) -> None:
        """Compare a step.

        Raises
        ------
        HashMismatch
            With the first value that differs.
        ReplayEnded
            After the last one.
        """
        check_next(summary, out.step, len(self._hashes) - 1)
        check_same_step(self._reader, out, summary, self._hashes[summary.step])
        self.compared += 1
        if summary.step == len(self._hashes) - 1:
            raise ReplayEnded

    def close(self, state: str, health: str = "") -> None:
        """Do nothing: nothing was written."""


# Where two records of a step part, for the error that says so.


def first_difference(recorded: ColumnsOf, now: ColumnsOf) -> str:
    """Describe the first table, row and column in which two versions of a step differ by a hashed value.

    Rows are looked at in order, and columns within a row; equal versions give an empty string.
    """
    for name in hashed_tables():
        old, new = recorded(name), now(name)
        hashed = [column for column in schema.TABLES[name].recorded if column.hashed]
        first = {column.name: _first_row(old[column.name], new[column.name], column) for column in hashed}
        rows = [(row, key) for key, row in first.items() if row >= 0]
        if rows:
            row, key = min(rows, key=lambda pair: pair[0])
            was, is_now = (_value(columns, key, row) for columns in (old, new))
            return f"first difference: {name}, row {row} of the step, {key}: recorded {was}, now {is_now}"
        lengths = [len(next(iter(columns.values()))) for columns in (old, new)]
        if lengths[0] != lengths[1]:
            return f"first difference: {name} has {lengths[1]} rows in the step, recorded {lengths[0]}"
    return ""


def _first_row(old: object, new: object, column: schema.Column) -> int:
    dtype = object if column.dtype == "str" else column.dtype
    a, b = np.asarray(old, dtype=dtype), np.asarray(new, dtype=dtype)
    n = min(a.shape[0], b.shape[0])
    differs = a[:n] != b[:n]
    if a.dtype.kind == "f":
        differs &= ~(np.isnan(a[:n]) & (np.isnan(b[:n]) | bool(column.refines)))  # an older record lacks what refines
    at = np.flatnonzero(differs)
    return int(at[0]) if at.size else -1


def _value(columns: schema.Columns, name: str, row: int) -> str:
    value = columns[name][row]
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# What a recorder does with a step that is already committed: a resumed run executes it again and must agree.


def check_next(summary: StepSummary, step: int, last: int) -> bool:
    """Return whether the step is already committed; raises ``ValueError`` if it is not the next one either."""
    if summary.step != step:
        raise ValueError(f"rows of step {step} with the summary of step {summary.step}")
    if not 0 <= step <= last + 1:
        raise ValueError(f"step {step} does not follow step {last}")
    return step <= last


def check_same_step(reader: RunReader, out: Batches, summary: StepSummary, recorded: str) -> None:
    """Compare an executed step with the committed one.

    Raises
    ------
    HashMismatch
        With the step, both hashes and, where it can be found, the first value that differs.
    """
    if summary.hash == recorded:
        return
    difference = first_difference(rows_of_step(reader, summary.step), out.get)
    where, do = f"{reader.where}, step {summary.step}", difference or "the rows are equal, but an earlier step differs"
    raise HashMismatch(where, got=f"hash {summary.hash}", allowed=f"{recorded}, as recorded", do=do)
