"""The door: what callers ask through. Synchronous outside, thousands of calls at once inside."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from types import TracebackType
from typing import Any, NamedTuple

import orjson

from townsquare.models.contract import Answer, Call, CallStore, ChatModel, Outcome, Reply, Request
from townsquare.models.store import get_all, put_all
from townsquare.models.usage import Prices, Spent, Tally
from townsquare.models.validate import fault_of

OnCall = Callable[[Call], None]
AT_ONCE = 2
"""Questions that are put together before replies get their turn again."""
LONGEST_WAIT = 0.5
"""Seconds."""


def nothing() -> None:
    """What a door does meanwhile unless told."""


class _Asked(NamedTuple):
    """A request of a batch, once it was handed over: which call it is, and whose and for what."""

    identity: str
    purpose: str
    agent: int
    step: int
    turn: int


_Found = tuple[Sequence[_Asked], Mapping[str, Call], int]
"""Every request of a batch, the calls by identity, and how many of them were made."""


@dataclass
class _Batch:
    """What becomes of one batch: every request in order, calls that were found or have ended, and those to make."""

    requests: Iterator[Request]
    workers: int
    asked: list[_Asked] = field(default_factory=list)
    known: dict[str, Call] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.ready: asyncio.Queue[tuple[str, Request] | None] = asyncio.Queue(2 * self.workers + AT_ONCE)


class Door:
    """Asks one model and records what comes of it.

    A call that is in the store is never asked again, failed ones included. Equal requests of one batch are asked once.
    Requests are taken one by one while others are under way, so that those of a generator, thousands of long prompts,
    are put together while servers work, and the first is sent when it is there.
    Every call is recorded as it ends, in whatever order they end; replies and :meth:`taken` are in request order.

    Parameters
    ----------
    model : ChatModel
        Closed with the door.
    store : CallStore
        Not closed with the door: several doors may share one.
    seed : int
        Of the run: the draws of sampled calls come from it.
    concurrency : int
        Calls that are under way at most.
    on_call : callable, optional
        Called with each call after it was recorded, from another thread.
    prices : Prices, optional
        For ``tally.usd``; without them nothing has a price.

    Attributes
    ----------
    meanwhile : callable
        Called twice a second while calls are waited for, in the thread that asks. What it raises ends the wait, in good
        order, as a KeyboardInterrupt does.

    Examples
    --------
    >>> from townsquare.models.store import MemoryCalls
    >>> from townsquare.models.contract import Message
    >>> from townsquare.models.fake import FakeModel
    >>> asked = Request(purpose="act", messages=(Message("user", "Hello"),), schema={"enum": ["like", "ignore"]})
    >>> with Door(FakeModel(), MemoryCalls(), 1, concurrency=8) as door:
    ...     replies = door.ask([asked, asked])
    >>> replies[0].value in ("like", "ignore"), door.tally.calls, door.tally.cached
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
        self.tally = Tally(prices or Prices())
        self.spent = Spent(prices or Prices())
        self.meanwhile: Callable[[], None] = nothing
        self._on_call = on_call
        self._taken: list[Call] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._closed = False

    def ask(self, requests: Iterable[Request]) -> list[Reply]:
        """One reply a request, in their order; see :class:`townsquare.models.contract.Asker`.

        Raises
        ------
        ModelError
            Calls cannot be recorded; no server answers at all; only recorded calls may answer and one is missing.
            What ended before is recorded.
        KeyboardInterrupt
            As it came: what is under way is given up, what ended is recorded.
        """
        if self._closed:
            raise ValueError("the door is closed")
        if isinstance(requests, Sequence) and not requests:
            return []
        most = len(requests) if isinstance(requests, Sequence) else self.concurrency
        with seldom():
            asked, known, made = self._run(self._ask_all(iter(requests), most))
        self.tally.cached += len(asked) - made
        calls = list(_in_order(asked, known))
        self._taken += calls
        self.spent.add(calls)
        return [_reply(call) for call in calls]

    def taken(self) -> list[Call]:
        """The calls of all requests since this was last asked for, in request order, for the rows of a step.

        A call answered from the store appears as it was recorded, so that rows of a resumed run are equal to those of
        one that was not. Where another request had paid for it, it bears this request's purpose, agent, step and turn,
        no seconds and no tries.
        """
        calls, self._taken = self._taken, []
        return calls

    def close(self) -> None:
        """Give back connections; the store stays open."""
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

    def __enter__(self) -> Door:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, _Found]) -> _Found:
        """Do work in the door's own thread; if the wait is cut short, give it up in good order first."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="townsquare-models", daemon=True)
            self._thread.start()
        self._ended = threading.Event()
        future: Future[_Found] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            # A signal that comes just before a wait begins is seen only when the wait ends: so none is long.
            while not wait((future,), timeout=LONGEST_WAIT).done:
                self.meanwhile()
            return future.result()
        finally:
            if not future.done():
                future.cancel()
                self._ended.wait()

    async def _ask_all(self, requests: Iterator[Request], most: int) -> _Found:
        """Ask every request; the workers take them in order, so that the first is under way first."""
        batch = _Batch(requests, min(self.concurrency, most))

        def kept(call: Call) -> None:
            batch.known[call.identity] = call
            self.tally.add(call)
            if self._on_call is not None:
                self._on_call(call)

        try:
            async with Keeper(self.store, kept) as keeper, asyncio.TaskGroup() as group:
                group.create_task(self._prepare(batch))
                for _ in range(batch.workers):
                    group.create_task(self._work(batch, keeper))
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        finally:
            self._ended.set()
        return batch.asked, batch.known, len(batch.begun)

    async def _prepare(self, batch: _Batch) -> None:
        """Take the requests, a few at a time, look up which were asked before, and hand on the others."""
        name, servers = self.model.name, self.model.servers
        while some := list(islice(batch.requests, AT_ONCE)):
            identities = [request.identity(name, servers, self.seed) for request in some]
            fresh = [one for one in identities if one not in batch.known and one not in batch.begun]
            batch.known.update(get_all(self.store, fresh))
            for identity, request in zip(identities, some, strict=True):
                batch.asked.append(_Asked(identity, request.purpose, request.agent, request.step, request.turn))
                if identity not in batch.known and identity not in batch.begun:
                    batch.begun.add(identity)
                    await batch.ready.put((identity, request))
            await asyncio.sleep(0)
        for _ in range(batch.workers):
            await batch.ready.put(None)

    async def _work(self, batch: _Batch, keeper: Keeper) -> None:
        while (one := await batch.ready.get()) is not None:
            keeper.keep(await self._call(*one))

    async def _call(self, identity: str, request: Request) -> Call:
        started = time.perf_counter()
        answer = _checked(request, await self.model.complete(request, request.draw(self.seed)))
        return Call(
            identity=identity,
            purpose=request.purpose,
            agent=request.agent,
            step=request.step,
            turn=request.turn,
            request=orjson.dumps(request.content, option=orjson.OPT_SORT_KEYS).decode(),
            outcome=answer.outcome,
            text=answer.text,
            value=orjson.dumps(answer.value).decode() if answer.outcome is Outcome.OK else "",
            error=answer.error,
            model=self.model.name,
            reported=answer.reported,
            server=answer.server,
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            seconds=time.perf_counter() - started,
            tries=answer.tries,
        )


def _checked(request: Request, answer: Answer) -> Answer:
    """The answer, made a failure if its value does not fit the schema, whatever the member says."""
    if answer.outcome is not Outcome.OK:
        return answer._replace(value=None)
    if request.schema:
        fault = fault_of(request.schema, answer.value)
    else:
        fault = "" if isinstance(answer.value, str) else "the whole: plain text was asked for"
    return answer._replace(outcome=Outcome.INVALID, value=None, error=fault) if fault else answer


def _reply(call: Call) -> Reply:
    value = orjson.loads(call.value) if call.outcome is Outcome.OK else None
    return Reply(call.outcome, value, call.text, call.error, call.identity)


def _in_order(asked: Sequence[_Asked], known: Mapping[str, Call]) -> Iterator[Call]:
    """The call of each request, as that request's own; the first one that made it paid for it."""
    seen = set()
    for one in asked:
        call = known[one.identity]
        if one.identity in seen or one[1:] != (call.purpose, call.agent, call.step, call.turn):
            call = replace(
                call, purpose=one.purpose, agent=one.agent, step=one.step, turn=one.turn, seconds=0.0, tries=0
            )
        seen.add(one.identity)
        yield call


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of a group, without the group."""
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner


# Python's search for unreachable cycles, told to look less often while thousands of calls are under way.
#
# It looks whenever 700 containers more were made than given up, and what it finds alive grows old: after two more looks
# only a search through everything finds it. A call has some three hundred containers for as long as it takes, its
# schema and what HTTP needs among them; they all grew old while the call waited for its server, and every few hundred
# calls all of the process was searched. With more room they are gone, freed by their last reader, before anybody looks.


ROOM = 50_000
"""Containers, some ten megabytes, that may come together before a search."""

_lock = threading.Lock()
_before: list[tuple[int, int, int]] = []  # how often it looked when each of the stretches under way began


@contextmanager
def seldom() -> Iterator[None]:
    """Search less often until the end, in all threads; as before when the last of several such stretches has ended.

    Who has switched the search off, or given it more room, is left alone.
    """
    with _lock:
        _before.append(gc.get_threshold())
        if 0 < _before[0][0] < ROOM:
            gc.set_threshold(ROOM, *_before[0][1:])
    try:
        yield
    finally:
        with _lock:
            if len(_before) == 1:
                gc.set_threshold(*_before[0])
            _before.pop()


# Records calls while others are under way: those that end within a twentieth of a second share one commit.


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
