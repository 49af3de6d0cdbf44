"""Records calls while others are under way: those that end within a twentieth of a second share one commit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType

from townsquare.models.calls import put_all
from townsquare.models.contract import Call, CallStore

GATHERED = 0.05
"""Seconds between commits at least: each costs a write to disk and a change of threads."""


class Keeper:
    """Writes to a store from a thread of its own, so that a slow disk holds up neither servers nor the next question.

    Use as ``async with``; when it ends, all that was handed in is recorded, also if the work was given up.

    Parameters
    ----------
    store : CallStore
    on_kept : callable
        Called with each call once it is recorded, in the event loop.

    Raises
    ------
    ModelError
        The store could not take a call: at the next :meth:`keep`, or at the end.
    """

    def __init__(self, store: CallStore, on_kept: Callable[[Call], None]) -> None:
        self._store, self._on_kept = store, on_kept
        self._waiting: list[Call] = []
        self._writer: asyncio.Task[None] | None = None
        self._error: Exception | None = None
        self._last = float("-inf")
        self._ending = asyncio.Event()

    def keep(self, call: Call) -> None:
        """Hand in a call that has ended."""
        if self._error is not None:
            raise self._error
        self._waiting.append(call)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())

    async def _write(self) -> None:
        while self._waiting and self._error is None:
            await self._gather()
            batch, self._waiting = self._waiting, []
            self._last = time.monotonic()
            try:
                await asyncio.to_thread(self._put, batch)
                for call in batch:
                    self._on_kept(call)
            except Exception as error:  # whatever it is, it must stop the work
                self._error = error

    async def _gather(self) -> None:
        """Let more calls come together, if the last commit was only just now; not once all work has ended."""
        wait = self._last + GATHERED - time.monotonic()
        if wait > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), wait)

    def _put(self, calls: Sequence[Call]) -> None:
        put_all(self._store, calls)

    async def __aenter__(self) -> Keeper:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        if self._writer is not None:
            await asyncio.shield(self._writer)
        if self._error is not None and error is None:
            raise self._error
