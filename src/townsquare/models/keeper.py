"""Records calls while others are under way: those that end at the same moment share one commit."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType

from townsquare.models.calls import put_all
from townsquare.models.contract import Call, CallStore


class Keeper:
    """Writes to a store from a thread of its own, so that a slow disk holds up no server.

    Use as ``async with``; when it ends, what was handed in is recorded, also if the work was given up.
    """

    def __init__(self, store: CallStore) -> None:
        self._store = store
        self._waiting: list[tuple[Call, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def keep(self, call: Call) -> None:
        """Record a call; returns when it is recorded.

        Raises
        ------
        ModelError
            The store could not take it.
        """
        recorded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((call, recorded))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        await recorded

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await asyncio.to_thread(self._put, [call for call, _ in batch])
            except Exception as error:  # whatever it is, those who wait for this batch must hear of it
                for _, recorded in batch:
                    if not recorded.done():
                        recorded.set_exception(error)
            else:
                for _, recorded in batch:
                    if not recorded.done():
                        recorded.set_result(None)

    def _put(self, calls: Sequence[Call]) -> None:
        put_all(self._store, calls)

    async def __aenter__(self) -> Keeper:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            await asyncio.shield(self._writer)
