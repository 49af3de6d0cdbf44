"""The client of a language model: synchronous for callers, with thousands of calls under way at once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

import orjson

from townsquare.models.contract import Answer, Call, CallStore, ChatModel, Outcome, Reply, Request
from townsquare.models.usage import Prices, Usage
from townsquare.models.validate import schema_fault

OnCall = Callable[[Call], None]
AT_ONCE = 2
"""Requests built before replies are processed again."""
LONGEST_WAIT = 0.5
"""Seconds."""


def nothing() -> None:
    """Do nothing while waiting."""


class _Asked(NamedTuple):
    """A request of a batch: its call, purpose, agent, step and turn."""

    identity: str
    purpose: str
    agent: int
    step: int
    turn: int

    @classmethod
    def of(cls, identity: str, request: Request) -> _Asked:
        """Return the request of a call."""
        return cls(identity, request.purpose, request.agent, request.step, request.turn)


@dataclass
class _Batch:
    """The requests of one call of :meth:`ModelClient.ask`, and their calls.

    Attributes
    ----------
    requests : iterator of Request
    workers : int
        How many calls are under way at most.
    asked : list of _Asked
        Every request, in order.
    cached : dict of str to Call
        Calls by identity: found in the store, or ended since.
    pending : set of str
        Identities of the calls that the store did not hold.
    """

    requests: Iterator[Request]
    workers: int
    asked: list[_Asked] = field(default_factory=list)
    cached: dict[str, Call] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.queue: asyncio.Queue[tuple[str, Request] | None] = asyncio.Queue(2 * self.workers + AT_ONCE)

    def is_new(self, identity: str) -> bool:
        """Return whether a call is neither known nor under way."""
        return identity not in self.cached and identity not in self.pending

    def calls(self) -> Iterator[Call]:
        """Yield the call of each request, as that request's own; the first one that made it paid for it."""
        seen = set()
        for asked in self.asked:
            call = self.cached[asked.identity]
            if asked.identity in seen or any(getattr(call, name) != value for name, value in asked._asdict().items()):
                call = replace(call, **asked._asdict(), seconds=0.0, tries=0)
            seen.add(asked.identity)
            yield call


class ModelClient:
    """Calls one model and records every call.

    A call that is in the store is never asked again, failed ones included. Equal requests of one batch are asked once.
    Requests are taken one by one while others are under way, so that those of a generator, thousands of long prompts,
    are combined while servers work, and the first is sent when it is there.
    Every call is recorded as it ends, in any order they end; replies and :meth:`taken` are in request order.

    Parameters
    ----------
    model : ChatModel
        Closed with the client.
    store : CallStore
        Not closed with the client: several clients may share one.
    seed : int
        Of the run: the draws of sampled calls come from it.
    concurrency : int
        Calls that are under way at most.
    on_call : callable, optional
        Called with each call after it was recorded, from another thread.
    prices : Prices, optional
        Without them nothing has a price.

    Attributes
    ----------
    usage : Usage
        Of the calls that this client made.
    spent : Usage
        Of all calls that answered it; those that an earlier stretch of the run paid for count too.
    meanwhile : callable
        Called twice a second while calls are waited for, in the thread that asks. What it raises ends the wait, in good
        order, as a KeyboardInterrupt does.

    Examples
    --------
    >>> from townsquare.models.store import MemoryCalls
    >>> from townsquare.models.contract import Message
    >>> from townsquare.models.fake import FakeModel
    >>> asked = Request(purpose="act", messages=(Message("user", "Hello"),), schema={"enum": ["like", "ignore"]})
    >>> with ModelClient(FakeModel(), MemoryCalls(), 1, concurrency=8) as client:
    ...     replies = client.ask([asked, asked])
    >>> replies[0].value in ("like", "ignore"), client.usage.calls, client.usage.cached
    (True, 1, 1)
    """

    def __init__(
        self,
        model: ChatModel,
        store: CallStore,
        seed: int,
        *,
        concurrency: int,
        on_call: OnCall | None = None,
        prices: Prices | None = None,
    ) -> None:
        self.model, self.store, self.seed, self.concurrency = model, store, seed, concurrency
        self.usage, self.spent = Usage(prices), Usage(prices)
        self.meanwhile: Callable[[], None] = nothing
        self._on_call = on_call
        self._taken: list[Call] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._closed = False

    def ask(self, requests: Iterable[Request]) -> list[Reply]:
        """Return one reply a request, in their order; see :class:`townsquare.models.contract.Asker`.

        Raises
        ------
        ModelError
            Calls cannot be recorded; no server answers at all; only recorded calls may answer and one is missing.
            What ended before is recorded.
        KeyboardInterrupt
            As it came: what is under way is given up, what ended is recorded.
        """
        if self._closed:
            raise ValueError("the client is closed")
        if isinstance(requests, Sequence) and not requests:
            return []
        most = len(requests) if isinstance(requests, Sequence) else self.concurrency
        batch = _Batch(iter(requests), min(self.concurrency, most))
        self._run(self._ask_all(batch))
        self.usage.cached += len(batch.asked) - len(batch.pending)
        calls = list(batch.calls())
        self._taken += calls
        for call in calls:
            self.spent.add(call)
        return [_reply(call) for call in calls]

    def taken(self) -> list[Call]:
        """Return the calls of all requests since this was last asked for, in request order, for the rows of a step.

        A call answered from the store appears as it was recorded, so that rows of a resumed run are equal to those of
        one that was not. Where another request had paid for it, it bears this request's purpose, agent, step and turn,
        no seconds and no tries.
        """
        calls, self._taken = self._taken, []
        return calls

    def close(self) -> None:
        """Close connections; the store stays open."""
        self._closed = True
        if self._loop is None or self._thread is None:
            return
        try:
            asyncio.run_coroutine_threadsafe(self.model.close(), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = self._thread = None

    def __enter__(self) -> ModelClient:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        """Do work in the client's own thread; cancel it cleanly if the wait is interrupted."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="townsquare-models", daemon=True)
            self._thread.start()
        self._ended = threading.Event()
        future: Future[None] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            # A signal that comes just before a wait begins is seen only when the wait ends: so none is long.
            while not wait((future,), timeout=LONGEST_WAIT).done:
                self.meanwhile()
            future.result()
        finally:
            if not future.done():
                future.cancel()
                self._ended.wait()

    async def _ask_all(self, batch: _Batch) -> None:
        """Ask every request; the workers take them in order, so that the first is under way first."""

        def record(call: Call) -> None:
            batch.cached[call.identity] = call
            self.usage.add(call)
            if self._on_call is not None:
                self._on_call(call)

        try:
            async with CallWriter(self.store, record) as writer, asyncio.TaskGroup() as group:
                group.create_task(self._prepare(batch))
                for _ in range(batch.workers):
                    group.create_task(self._work(batch, writer))
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        finally:
            self._ended.set()

    async def _prepare(self, batch: _Batch) -> None:
        """Look up recorded requests a few at a time, and queue the others."""
        name, servers = self.model.name, self.model.servers
        while requests := list(islice(batch.requests, AT_ONCE)):
            identities = [request.identity(name, servers, self.seed) for request in requests]
            batch.cached.update(self.store.get_all(list(filter(batch.is_new, identities))))
            for identity, request in zip(identities, requests, strict=True):
                batch.asked.append(_Asked.of(identity, request))
                if batch.is_new(identity):
                    batch.pending.add(identity)
                    await batch.queue.put((identity, request))
            await asyncio.sleep(0)
        for _ in range(batch.workers):
            await batch.queue.put(None)

    async def _work(self, batch: _Batch, writer: CallWriter) -> None:
        while (queued := await batch.queue.get()) is not None:
            writer.add(await self._call(*queued))

    async def _call(self, identity: str, request: Request) -> Call:
        started = time.perf_counter()
        answer = _checked(request, await self.model.complete(request, request.draw(self.seed)))
        given = answer._asdict()
        given["value"] = orjson.dumps(answer.value).decode() if answer.outcome is Outcome.OK else ""
        content = orjson.dumps(request.content, option=orjson.OPT_SORT_KEYS).decode()
        seconds = time.perf_counter() - started
        asked = _Asked.of(identity, request)._asdict()
        return Call(**asked, request=content, model=self.model.name, seconds=seconds, **given)


def _checked(request: Request, answer: Answer) -> Answer:
    """Return the answer, made a failure if its value does not fit the schema, regardless of the member says."""
    if answer.outcome is not Outcome.OK:
        return answer._replace(value=None)
    if request.schema:
        fault = schema_fault(request.schema, answer.value)
    else:
        fault = "" if isinstance(answer.value, str) else "the whole: plain text was asked for"
    return answer._replace(outcome=Outcome.INVALID, value=None, error=fault) if fault else answer


def _reply(call: Call) -> Reply:
    value = orjson.loads(call.value) if call.outcome is Outcome.OK else None
    return Reply(call.outcome, value, call.text, call.error, call.identity)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error of a group, without the group."""
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner


# Records calls while others run; calls that end within a twentieth of a second share one commit.


GATHERED = 0.05
"""Minimum seconds between commits; each costs a disk write and a thread switch."""


class CallWriter:
    """Writes to a store from a separate thread, so that a slow disk holds up neither servers nor the next question.

    Use as ``async with``; when it ends, all that was handed in is recorded, also if the work was given up.

    Parameters
    ----------
    store : CallStore
    on_written : callable
        Called with each call once it is recorded, in the event loop.

    Raises
    ------
    ModelError
        The store could not take a call: at the next :meth:`add`, or at the end.
    """

    def __init__(self, store: CallStore, on_written: Callable[[Call], None]) -> None:
        self._store, self._on_written = store, on_written
        self._waiting: list[Call] = []
        self._writer: asyncio.Task[None] | None = None
        self._error: Exception | None = None
        self._last = float("-inf")
        self._ending = asyncio.Event()

    def add(self, call: Call) -> None:
        """Queue a finished call for writing."""
        if self._error is not None:
            raise self._error
        self._waiting.append(call)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())

    async def _write(self) -> None:
        while self._waiting and self._error is None:
            wait = self._last + GATHERED - time.monotonic()
            if wait > 0:  # the last commit was only just now: let more calls come together, unless all work has ended
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._ending.wait(), wait)
            batch, self._waiting = self._waiting, []
            self._last = time.monotonic()
            try:
                await asyncio.to_thread(self._store.put_all, batch)
                for call in batch:
                    self._on_written(call)
            except Exception as error:  # whatever it is, it must stop the work
                self._error = error

    async def __aenter__(self) -> CallWriter:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._ending.set()
        if self._writer is not None:
            await asyncio.shield(self._writer)
        if self._error is not None and error is None:
            raise self._error
