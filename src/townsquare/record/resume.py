"""What a recorder does with a step that is already committed: a resumed run executes it again and must agree."""

from __future__ import annotations

from townsquare.errors import HashMismatch
from townsquare.record.batches import Batches
from townsquare.record.contract import StepMark
from townsquare.record.difference import first_difference
from townsquare.record.reader import RunReader, rows_of_step


def check_next(mark: StepMark, step: int, last: int) -> bool:
    """Whether the step is committed already; ``ValueError`` if it is neither committed nor the next one."""
    if mark.step != step:
        raise ValueError(f"rows of step {step} with the mark of step {mark.step}")
    if not 0 <= step <= last + 1:
        raise ValueError(f"step {step} does not follow step {last}")
    return step <= last


def check_same_step(reader: RunReader, out: Batches, mark: StepMark, recorded: str) -> None:
    """Compare an executed step with the committed one.

    Raises
    ------
    HashMismatch
        With the step, both hashes and, where it can be found, the first value that differs.
    """
    if mark.hash == recorded:
        return
    found = first_difference(rows_of_step(reader, mark.step), out.get)
    raise HashMismatch(
        f"{reader.where}, step {mark.step}",
        got=f"hash {mark.hash}",
        allowed=f"{recorded}, as was recorded",
        do=found or "the same rows after another past: an earlier step differs",
    )
