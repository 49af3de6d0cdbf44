"""Load balancing over several servers of one model."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from townsquare.core.errors import SettingError
from townsquare.models.capabilities import Capabilities
from townsquare.models.http import Transport
from townsquare.settings.config import Serving

CUT = 0.5
SLOW_CUT = 0.8
SLOW_SHARE = 0.5


def limits_of(serving: Serving, servers: Sequence[str]) -> tuple[int, ...]:
    """Return the concurrency limit of each server, in the order of ``servers``.

    Raises
    ------
    SettingError
        ``serving.limits`` names more servers, or fewer.

    >>> limits_of(Serving(limits=(16, 64)), ["http://a/v1", "http://b/v1"]), limits_of(Serving(), ["http://a/v1"])
    ((16, 64), (64,))
    """
    if not serving.limits:
        return (serving.concurrency,) * len(servers)
    if len(serving.limits) != len(servers):
        do = "give one limit for each address of model.base_url, in its order"
        raise SettingError("serving.limits", got=f"{len(serving.limits)} for {len(servers)} servers", do=do)
    return serving.limits


class Limiter:
    """Adapts the number of concurrent calls at one server (AIMD).

    It starts at the most that is allowed. When the server says that it is crowded, or a call times out, the number is
    halved; when answers take over half of the timeout, since calls wait in the server's own queue, it loses a fifth.
    One crowded moment fails many calls, so only those that were sent after the last cut may cut again. Success adds a
    call for each call up to half of where it last went wrong, from there on one for each round of calls.

    Parameters
    ----------
    most : int
        Upper end; the lower end is 1.
    timeout : float
        Seconds after which calls are given up.

    >>> limiter = Limiter(64, 60.0)
    >>> limiter.crowded(sent=1.0, now=2.0)
    >>> limiter.crowded(sent=1.5, now=2.5)
    >>> limiter.now
    32
    """

    def __init__(self, most: int, timeout: float) -> None:
        self._most = float(most)
        self._limit = float(most)
        self._threshold = float(most)
        self._slow = SLOW_SHARE * timeout
        self._last_cut = float("-inf")

    @property
    def now(self) -> int:
        """Calls that may be under way."""
        return int(self._limit)

    def went_well(self, sent: float, now: float) -> None:
        """Record that a call sent at one time was answered at another; seconds of any steady clock."""
        if now - sent > self._slow:
            self._cut(SLOW_CUT, sent, now)
        elif self._limit < self._most:
            step = 1.0 if self._limit < self._threshold else 1.0 / self._limit
            self._limit = min(self._most, self._limit + step)

    def crowded(self, sent: float, now: float) -> None:
        """Record that a call was rejected or timed out."""
        self._cut(CUT, sent, now)

    def _cut(self, factor: float, sent: float, now: float) -> None:
        if sent <= self._last_cut:
            return
        self._last_cut = now
        self._limit = max(1.0, self._limit * factor)
        self._threshold = max(1.0, self._limit * CUT)


ASIDE = 30.0
"""Seconds before a server that failed first contact is tried again."""

BROKEN_AFTER = 5
"""Consecutive failures after which a server is taken out of rotation while another server is healthy."""
FIRST_PROBE, LAST_PROBE = 0.5, 30.0
"""First and longest wait in seconds before a broken server is tried again; the wait doubles."""


@dataclass(eq=False)
class Endpoint:
    """One server.

    Attributes
    ----------
    url : str
        Base URL, without key.
    limiter : Limiter
    capabilities : Capabilities
    in_flight : int
    not_before : float
        ``time.monotonic()`` before which it wants no calls.
    failures : int
        Requests that failed since the last one that was answered.
    probe_at : float
        ``time.monotonic()`` from which a broken server is tried again, with one call.
    probe_wait : float
        Seconds until the try after that, should it fail.
    """

    url: str
    limiter: Limiter
    capabilities: Capabilities = field(default_factory=Capabilities)
    in_flight: int = 0
    not_before: float = 0.0
    failures: int = 0
    probe_at: float = 0.0
    probe_wait: float = FIRST_PROBE

    @property
    def is_broken(self) -> bool:
        """Whether so many requests failed in a row that others had better take its calls."""
        return self.failures >= BROKEN_AFTER

    @property
    def load(self) -> float:
        """Share of its limit that is in use."""
        return self.in_flight / self.limiter.now

    def is_free(self, now: float) -> bool:
        """Return whether it can take a call: not before it is known how to speak to it."""
        return self.capabilities.mode is not None and self.in_flight < self.limiter.now and now >= self.not_before


class ServerSlot(NamedTuple):
    """A slot at a server for one request."""

    endpoint: Endpoint
    sent: float


class Endpoints:
    """Assigns calls to the least loaded servers, first come, first served.

    The load of a server is the share of its own limit that is in use, so that one which answers slowly is given less. A
    server that fails at once would seem idle: after :data:`BROKEN_AFTER` failures in a row the others take its calls,
    and it is tried with one now and then until it answers.

    All methods are called in one event loop.
    """

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self.all = tuple(endpoints)
        self._waiting: deque[tuple[asyncio.Future[ServerSlot], Endpoint | None]] = deque()

    async def take(self, avoid: Endpoint | None = None) -> ServerSlot:
        """Return a place at the least loaded server, waiting for one if none is free.

        ``avoid`` is a server that has just failed; it is taken only if no other is free.
        """
        if not self._waiting and (slot := self._slot(avoid)):
            return slot
        future: asyncio.Future[ServerSlot] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, avoid))
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.give_back(future.result())
            raise

    def give_back(self, slot: ServerSlot) -> None:
        """Free the slot of a finished request."""
        slot.endpoint.in_flight -= 1
        self.wake()

    def pause(self, endpoint: Endpoint, seconds: float) -> None:
        """Give a server no calls for a while."""
        until = time.monotonic() + seconds
        if until > endpoint.not_before:
            endpoint.not_before = until
            asyncio.get_running_loop().call_later(seconds + 0.001, self.wake)

    def failed(self, endpoint: Endpoint) -> None:
        """Record a failed request: no answer, a server error, or an invalid answer. A full server has not failed."""
        endpoint.failures += 1
        now = time.monotonic()
        if endpoint.is_broken and now >= endpoint.probe_at:
            endpoint.probe_at = now + endpoint.probe_wait
            endpoint.probe_wait = min(LAST_PROBE, 2 * endpoint.probe_wait)

    def answered(self, endpoint: Endpoint) -> None:
        """Note that the server answered: whatever the answer, it works."""
        endpoint.failures, endpoint.probe_at, endpoint.probe_wait = 0, 0.0, FIRST_PROBE

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

    def _slot(self, avoid: Endpoint | None) -> ServerSlot | None:
        now = time.monotonic()
        sound = any(not endpoint.is_broken and endpoint.capabilities.mode is not None for endpoint in self.all)
        free = [server for server in self.all if server.is_free(now) and not (sound and _is_relieved(server, now))]
        if not free:
            return None
        endpoint = min(free, key=lambda endpoint: (endpoint is avoid, endpoint.load))
        endpoint.in_flight += 1
        return ServerSlot(endpoint, now)


def _is_relieved(endpoint: Endpoint, now: float) -> bool:
    """Return whether a broken server gets no call: it is tried with one at a time, and not before its time."""
    return endpoint.is_broken and (endpoint.in_flight > 0 or now < endpoint.probe_at)


# Shared by all calls to one model.


_LOG = logging.getLogger(__name__)


@dataclass
class Backend:
    """The servers of a model and how to call them.

    Attributes
    ----------
    name : str
        As it is asked for, such as ``openai/gpt-4o-mini``.
    model : str
        As the servers call it.
    endpoints : Endpoints
    transport : Transport
    tries : int
        Requests for one call at most; those by which the ways of a server are learned do not count.
    key_hint : str
        What to do about a key that a server refuses.
    notes : list of str
        What was learned of servers that a user should know.
    dice : random.Random
        Of waits only; nothing that is recorded depends on it.
    """

    name: str
    model: str
    endpoints: Endpoints
    transport: Transport
    tries: int
    key_hint: str = ""
    notes: list[str] = field(default_factory=list)
    dice: random.Random = field(default_factory=random.Random)

    def note(self, url: str, learned: str) -> None:
        """Record a fact about a server once."""
        text = f"{self.name} at {url}: {learned}"
        if text not in self.notes:
            self.notes.append(text)
            _LOG.warning("%s", text)
