"""Hashing and recording steps: at once, or while the next step is taken.

A step of a million agents is half computing and half writing, and each leaves processors idle that the other can use.
Where a language model is asked, its servers would stand idle until a step is written.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType

from townsquare.record.batches import Batches
from townsquare.record.content_hash import HashChain
from townsquare.record.contract import Recorder, StepMark

LARGE = 100_000
"""Agents from which on steps are written meanwhile where no model is asked."""
MANY = 1_000
"""Agents for whom a model's servers would wait noticeably: writing a step of fewer takes no longer than one call."""
_NICE = 10  # of a thread; a tenth of the weight of the others


def _step_back() -> None:
    """Have this thread, and those that it starts, work while others would leave a processor idle.

    The next step is what takes longer: its kernels want all processors, and what is done between them leaves room.
    """
    if sys.platform == "linux":  # elsewhere a priority is a process's
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


class Committer:
    """Commits steps in order; leaving it as a context waits for what is being written, so that it is safe.

    Parameters
    ----------
    recorder : Recorder
        Open.
    on_step : callable
        Called with the mark of each step once it is committed, in the calling thread.
    behind : bool
        Whether a step is written while the next one is taken. At most one is: of more, the rows would not fit into
        memory.
    aside : bool
        Whether what is written behind leaves the processors to the step that is taken.
    """

    def __init__(
        self, recorder: Recorder, on_step: Callable[[StepMark], None], *, behind: bool, aside: bool = False
    ) -> None:
        self._recorder, self._on_step = recorder, on_step
        self._chain = HashChain()
        self._pool = ThreadPoolExecutor(1, "townsquare-record", _step_back if aside else None) if behind else None
        self._writing: Future[StepMark] | None = None

    def commit(self, out: Batches, mark: StepMark) -> None:
        """Hash and record the rows of a step, now or until the next call; ``mark`` is still without its hash."""
        if self._pool is None:
            self._on_step(self._write(out, mark))
            return
        written = self._written()
        self._writing = self._pool.submit(self._write, out, mark)
        if written is not None:
            self._on_step(written)  # which may end the run: this step is recorded all the same

    def report(self) -> None:
        """Call ``on_step`` for what was committed meanwhile, if anything was; raises what went wrong with it."""
        if self._writing is not None and self._writing.done():
            self.wait()

    def wait(self) -> None:
        """Until everything is committed; raises what went wrong with it."""
        written = self._written()
        if written is not None:
            self._on_step(written)

    def _written(self) -> StepMark | None:
        """The mark of the step that was being written, once it is; None if none was."""
        writing = self._writing
        if writing is None:
            return None
        mark = writing.result()  # a second Ctrl-C leaves it to be waited for
        self._writing = None
        return mark

    def _write(self, out: Batches, mark: StepMark) -> StepMark:
        mark = replace(mark, hash=self._chain.add(out.step, out.get))
        self._recorder.save_step(out, mark)
        return mark

    def __enter__(self) -> Committer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stopped = self._finish_writing()
        if stopped is not None:
            raise stopped
        if kind is None:
            self.wait()

    def _finish_writing(self) -> KeyboardInterrupt | None:
        """Wait for what is being written, whoever presses Ctrl-C meanwhile: the recorder is closed next."""
        stopped, pool = None, self._pool
        while pool is not None:
            try:
                pool.shutdown(wait=True)
                pool = None
            except KeyboardInterrupt as again:
                stopped = again
        return stopped
