"""A recorder that writes nothing and compares everything: re-execution against a recorded run."""

from __future__ import annotations

from townsquare.record.batches import Batches
from townsquare.record.contract import RunHeader, StepMark, check_same_run
from townsquare.record.reader import RunReader
from townsquare.record.resume import check_next, check_same_step


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
        self._hashes = reader.marks()["hash"].to_list()
        self.compared = 0

    def open(self, header: RunHeader) -> int:
        """The last recorded step; refuses another run."""
        check_same_run(self._reader.where, self._reader.header, header)
        return len(self._hashes) - 1

    def save_step(self, out: Batches, mark: StepMark) -> None:
        """Compare a step.

        Raises
        ------
        HashMismatch
            With the first value that differs.
        ReplayEnded
            After the last one.
        """
        check_next(mark, out.step, len(self._hashes) - 1)
        check_same_step(self._reader, out, mark, self._hashes[mark.step])
        self.compared += 1
        if mark.step == len(self._hashes) - 1:
            raise ReplayEnded

    def close(self, state: str, health: str = "") -> None:
        """Nothing was written."""
