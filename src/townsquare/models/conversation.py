"""One call from request to answer: retries, waits, failover, fallbacks and one correction."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from enum import Enum
from typing import NamedTuple

import orjson

from townsquare.models import reply
from townsquare.models.capabilities import Mode
from townsquare.models.contract import Answer, Message, Outcome, Request
from townsquare.models.http import CROWDED, MOST_ASKED, RETRIED, HttpRequest, HttpResponse, NoResponse, backoff
from townsquare.models.reply import BadEnvelope, ParsedReply, failed
from townsquare.models.servers import Backend, Endpoint, ServerSlot

ECHOED = 4000
"""Characters of an invalid reply shown to the model again."""
STEPS_DOWN = frozenset({400, 404, 415, 422, 501})
"""Statuses of servers that refuse a way of requesting JSON."""
TURNED_AWAY = frozenset({401, 402, 403, 404})
"""Statuses of a server that refuses the key, the account or the model; another server may accept."""
NEVER_PASSES = ("insufficient_quota", "billing")


class Then(Enum):
    """Reaction to a failure."""

    GIVE_UP = "give up"
    WAIT = "wait and ask again"
    ADAPT = "ask in another way, or elsewhere"


class Failure(NamedTuple):
    """Meaning of an error response: outcome of the call, reaction, and prefix of its message."""

    outcome: Outcome
    then: Then
    begins: str = ""


FAILURES: Sequence[tuple[Collection[int], Collection[str], Failure]] = (
    ((), ("content_filter", "content_policy", "content management policy", "safety system"),
     Failure(Outcome.REFUSED, Then.GIVE_UP)),
    ((), NEVER_PASSES, Failure(Outcome.ERROR, Then.GIVE_UP)),
    (RETRIED, (), Failure(Outcome.ERROR, Then.WAIT)),
    ((), ("context length", "context size", "context window", "context_length", "maximum context", "exceed_context",
          "prompt is too long", "too many tokens", "reduce the length"),
     Failure(Outcome.TRUNCATED, Then.GIVE_UP, "the prompt is longer than the server takes: ")),
    (STEPS_DOWN | TURNED_AWAY, (), Failure(Outcome.ERROR, Then.ADAPT)),
    ((), (), Failure(Outcome.ERROR, Then.GIVE_UP)),
)  # fmt: skip
"""Statuses, phrases of which the text holds one (none: any), and what both mean; the first line that fits counts."""


def failure_of(status: int, text: str) -> Failure:
    """Return what an error response means.

    >>> failure_of(400, "maximum context length is 8192 tokens").outcome.name, failure_of(503, "").then.value
    ('TRUNCATED', 'wait and ask again')
    """
    low = text.lower()
    return next(
        failure
        for statuses, phrases, failure in FAILURES
        if (not statuses or status in statuses) and (not phrases or any(phrase in low for phrase in phrases))
    )


class Retry(NamedTuple):
    """A retry: what went wrong, and the requested wait."""

    outcome: Outcome
    error: str
    asked_wait: float | None = None
    counts: bool = True  # False where something was learned and the next request differs


class Conversation:
    """A call in progress."""

    def __init__(self, backend: Backend, request: Request, draw: int | None) -> None:
        self._backend, self._request, self._draw = backend, request, draw
        self._sent = 0
        self._failed = 0
        self._floor: dict[Endpoint, Mode] = {}  # of each server: what one refuses, another may take
        self._tokens = (-1, -1)
        self._server = ""
        self._reported = ""

    async def answer(self) -> Answer:
        """Ask, and ask once more with the error if the reply is invalid."""
        asked = self._request.messages
        parsed = await self._ask(asked)
        self._failed += parsed.may_ask_again
        if parsed.may_ask_again and self._failed < self._backend.tries:
            again = f"That answer cannot be used: {parsed.error}. Give the whole answer again, corrected."
            echo = Message("assistant", parsed.text[:ECHOED] or "(nothing)")
            second = await self._ask([*asked, echo, Message("user", again)])
            parsed = second if second.is_reply else parsed
        return self._answer(parsed)

    def _answer(self, parsed: ParsedReply) -> Answer:
        """Return what is recorded. A reply that repeats the key goes nowhere, whatever else it says."""
        scrubbed = self._backend.transport.scrubbed
        whole = parsed.text if parsed.value is None else parsed.text + orjson.dumps(parsed.value).decode()
        if scrubbed(whole) != whole:
            parsed = parsed._replace(outcome=Outcome.INVALID, value=None, error="the reply repeats the key")
        text, error, reported = map(scrubbed, (parsed.text, parsed.error, self._reported))
        return Answer(parsed.outcome, parsed.value, text, error, reported, self._server, *self._tokens, self._sent)

    async def _ask(self, messages: Sequence[Message]) -> ParsedReply:
        """Return a reading of one reply, after as many tries as it takes; or how the last of them failed."""
        avoid: Endpoint | None = None
        while True:
            slot = await self._backend.endpoints.take(avoid)
            avoid = slot.endpoint
            try:
                result = await self._try(slot, messages)
            finally:
                self._backend.endpoints.give_back(slot)
            if isinstance(result, ParsedReply):
                return result
            if not result.counts:
                continue
            self._failed += 1
            if self._failed >= self._backend.tries:
                return failed(result.outcome, result.error)
            await self._wait(slot.endpoint, result)

    async def _wait(self, endpoint: Endpoint, later: Retry) -> None:
        """Wait; where other servers can take the call, what one asks for holds for that one alone."""
        alone = len(self._backend.endpoints.all) == 1
        if later.asked_wait:
            self._backend.endpoints.pause(endpoint, later.asked_wait)
        seconds = backoff(self._failed, later.asked_wait if alone else None, self._backend.dice)
        await self._backend.transport.sleep(seconds)

    async def _try(self, slot: ServerSlot, messages: Sequence[Message]) -> ParsedReply | Retry:
        """Return one request and what it came to."""
        endpoint, request = slot.endpoint, self._request
        mode = max(endpoint.capabilities.mode_for(request), self._floor.get(endpoint, Mode.SCHEMA))
        body = endpoint.capabilities.body(self._backend.model, request, messages, self._draw, mode)
        self._server = endpoint.url
        try:
            sent = await self._backend.transport.send(endpoint.url, HttpRequest(body, request, self._draw, self._sent))
        except NoResponse as error:
            self._backend.endpoints.failed(endpoint)
            if error.timeout:
                endpoint.limiter.crowded(slot.sent, time.monotonic())
            return Retry(Outcome.TIMEOUT if error.timeout else Outcome.ERROR, str(error))
        finally:
            self._sent += 1
        if sent.status == 200:
            return self._read(slot, sent, mode)
        if sent.status in CROWDED:
            endpoint.limiter.crowded(slot.sent, time.monotonic())
        return self._refused(endpoint, sent, body, mode)

    def _read(self, slot: ServerSlot, sent: HttpResponse, mode: Mode) -> ParsedReply | Retry:
        slot.endpoint.limiter.went_well(slot.sent, time.monotonic())
        try:
            parsed = reply.read(sent.body, self._request)
        except BadEnvelope as error:
            self._backend.endpoints.failed(slot.endpoint)
            return Retry(Outcome.ERROR, str(error))
        self._backend.endpoints.answered(slot.endpoint)
        if self._request.schema and mode > slot.endpoint.capabilities.mode_for(self._request):
            slot.endpoint.capabilities.by_name[self._request.name] = mode
        self._reported = parsed.reported or self._reported
        self._tokens = _sum(self._tokens[0], parsed.tokens_in), _sum(self._tokens[1], parsed.tokens_out)
        return parsed

    def _refused(
        self, endpoint: Endpoint, sent: HttpResponse, body: dict[str, object], mode: Mode
    ) -> ParsedReply | Retry:
        """Return what a status other than 200 means: give up, or ask again."""
        text = reply.error_text(sent.body)
        failure = failure_of(sent.status, text)
        error = f"{failure.begins}HTTP {sent.status}: {text}"
        adapts = failure.then is Then.ADAPT
        can_move = adapts and sent.status in TURNED_AWAY and len(self._backend.endpoints.all) > 1
        if can_move or (failure.then is Then.WAIT and sent.status not in CROWDED):
            # It answers at once and so would look idle, and draw the calls of the run to fail them.
            self._backend.endpoints.failed(endpoint)
        if failure.then is Then.WAIT:
            if (sent.asked_wait or 0) > MOST_ASKED:
                return failed(Outcome.ERROR, f"{error}; the server asks to wait {sent.asked_wait:.0f} s")
            return Retry(Outcome.ERROR, error, sent.asked_wait)
        if adapts and sent.status in STEPS_DOWN and self._adapts(endpoint, text, body, mode):
            return Retry(Outcome.ERROR, error, counts=False)
        return Retry(Outcome.ERROR, error) if can_move else failed(failure.outcome, error)

    def _adapts(self, endpoint: Endpoint, text: str, body: dict[str, object], mode: Mode) -> bool:
        """Return whether the next request to a server differs, since something was learned of what it takes."""
        if endpoint.capabilities.is_outdated(body):  # another call has learned it meanwhile
            return True
        if learned := endpoint.capabilities.learn(text, body):
            self._backend.note(endpoint.url, learned)
            return True
        if self._request.schema and mode < Mode.TEXT:
            self._floor[endpoint] = Mode(mode + 1)
            return True
        return False


def _sum(before: int, now: int) -> int:
    """Return tokens of all replies so far; -1 as long as no server has counted."""
    return before if now < 0 else max(before, 0) + now
