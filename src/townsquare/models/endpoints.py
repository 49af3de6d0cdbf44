"""Several servers of one model: who gets the next call, and what is known of each."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from townsquare.models.dialect import Dialect
from townsquare.models.limiter import Limiter

ASIDE = 30.0
"""Seconds for which a server that does not answer at first contact is left aside, while others do."""


@dataclass(eq=False)
class Endpoint:
    """One server.

    Attributes
    ----------
    url : str
        Base URL, without key.
    limiter : Limiter
    dialect : Dialect
    in_flight : int
    not_before : float
        ``time.monotonic()`` before which it wants no calls.
    """

    url: str
    limiter: Limiter
    dialect: Dialect = field(default_factory=Dialect)
    in_flight: int = 0
    not_before: float = 0.0

    @property
    def load(self) -> float:
        """Share of its limit that is in use."""
        return self.in_flight / self.limiter.now

    def is_free(self, now: float) -> bool:
        """Whether it can take a call: not before it is known how to speak to it."""
        return self.dialect.mode is not None and self.in_flight < self.limiter.now and now >= self.not_before


class Slot(NamedTuple):
    """A place at a server, held while a request is under way."""

    endpoint: Endpoint
    sent: float


class Endpoints:
    """Hands out places at servers: least loaded first, in the order in which calls came.

    All methods are called in one event loop.
    """

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self.all = tuple(endpoints)
        self._waiting: deque[tuple[asyncio.Future[Slot], Endpoint | None]] = deque()

    async def take(self, avoid: Endpoint | None = None) -> Slot:
        """A place at the least loaded server, waiting for one if none is free.

        ``avoid`` is a server that has just failed; it is taken only if no other is free.
        """
        if not self._waiting and (slot := self._slot(avoid)):
            return slot
        future: asyncio.Future[Slot] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, avoid))
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.give_back(future.result())
            raise

    def give_back(self, slot: Slot) -> None:
        """The request is over."""
        slot.endpoint.in_flight -= 1
        self.wake()

    def pause(self, endpoint: Endpoint, seconds: float) -> None:
        """Give a server no calls for a while."""
        until = time.monotonic() + seconds
        if until > endpoint.not_before:
            endpoint.not_before = until
            asyncio.get_running_loop().call_later(seconds + 0.001, self.wake)

    def wake(self) -> None:
        """Give free places to calls that wait for one."""
        while self._waiting:
            future, avoid = self._waiting[0]
            if future.done():
                self._waiting.popleft()
            elif slot := self._slot(avoid):
                self._waiting.popleft()
                future.set_result(slot)
            else:
                return

    def _slot(self, avoid: Endpoint | None) -> Slot | None:
        now = time.monotonic()
        free = [endpoint for endpoint in self.all if endpoint.is_free(now)]
        if not free:
            return None
        endpoint = min(free, key=lambda endpoint: (endpoint is avoid, endpoint.load))
        endpoint.in_flight += 1
        return Slot(endpoint, now)
