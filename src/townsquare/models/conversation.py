"""One call, from question to answer: tries, waits, other servers, lower rungs, and the second question."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import orjson

from townsquare.models import reply
from townsquare.models.contract import Answer, Message, Outcome, Request
from townsquare.models.dialect import Mode
from townsquare.models.http import CROWDED, MOST_ASKED, RETRIED, NoResponse, Parcel, Sent, backoff
from townsquare.models.reply import BadEnvelope, Reading, failed
from townsquare.models.servers import Endpoint, Line, Slot

ECHOED = 4000
"""Characters of a faulty reply that are shown to the model again."""
STEPS_DOWN = frozenset({400, 404, 415, 422, 501})
"""Statuses by which servers refuse a way of asking for an object."""
TURNED_AWAY = frozenset({401, 402, 403, 404})
"""Statuses by which a server takes no call at all, which another one may: of the key, the account or the model."""
_TOO_LONG = (
    "context length", "context size", "context window", "context_length", "maximum context", "exceed_context",
    "prompt is too long", "too many tokens", "reduce the length",
)  # fmt: skip
_FILTERED = ("content_filter", "content_policy", "content management policy", "safety system")
NEVER_PASSES = ("insufficient_quota", "billing")


class Later(NamedTuple):
    """Ask again: what went wrong, and how long the server asks us to wait."""

    outcome: Outcome
    error: str
    asked_wait: float | None = None
    counts: bool = True  # False where something was learnt and the next request differs


class Conversation:
    """One call under way."""

    def __init__(self, line: Line, request: Request, draw: int | None) -> None:
        self._line, self._request, self._draw = line, request, draw
        self._sent = 0
        self._failed = 0
        self._floor: dict[Endpoint, Mode] = {}  # of each server: what one refuses, another may take
        self._tokens = (-1, -1)
        self._server = ""
        self._reported = ""

    async def answer(self) -> Answer:
        """Ask; if the reply itself is at fault, once more with what was wrong."""
        asked = self._request.messages
        found = await self._ask(asked)
        self._failed += found.may_ask_again
        if found.may_ask_again and self._failed < self._line.tries:
            told = Message(
                "user", f"That answer cannot be used: {found.error}. Give the whole answer again, corrected."
            )
            second = await self._ask([*asked, Message("assistant", found.text[:ECHOED] or "(nothing)"), told])
            found = second if second.is_reply else found
        return self._answer(found)

    def _answer(self, found: Reading) -> Answer:
        """What is recorded. A reply that repeats the key goes nowhere, whatever else it says."""
        scrubbed = self._line.transport.scrubbed
        said = found.text if found.value is None else found.text + orjson.dumps(found.value).decode()
        if scrubbed(said) != said:
            found = found._replace(outcome=Outcome.INVALID, value=None, error="the reply repeats the key")
        return Answer(
            found.outcome,
            found.value,
            scrubbed(found.text),
            scrubbed(found.error),
            scrubbed(self._reported),
            self._server,
            *self._tokens,
            self._sent,
        )

    async def _ask(self, messages: Sequence[Message]) -> Reading:
        """A reading of one reply, after as many tries as it takes; or how the last of them failed."""
        avoid: Endpoint | None = None
        while True:
            slot = await self._line.endpoints.take(avoid)
            avoid = slot.endpoint
            try:
                result = await self._try(slot, messages)
            finally:
                self._line.endpoints.give_back(slot)
            if isinstance(result, Reading):
                return result
            if not result.counts:
                continue
            self._failed += 1
            if self._failed >= self._line.tries:
                return failed(result.outcome, result.error)
            await self._wait(slot.endpoint, result)

    async def _wait(self, endpoint: Endpoint, later: Later) -> None:
        """Wait; where other servers can take the call, what one asks for holds for that one alone."""
        alone = len(self._line.endpoints.all) == 1
        if later.asked_wait:
            self._line.endpoints.pause(endpoint, later.asked_wait)
        await self._line.transport.sleep(backoff(self._failed, later.asked_wait if alone else None, self._line.dice))

    async def _try(self, slot: Slot, messages: Sequence[Message]) -> Reading | Later:
        """One request and what it came to."""
        endpoint, request = slot.endpoint, self._request
        mode = max(endpoint.dialect.mode_for(request), self._floor.get(endpoint, Mode.SCHEMA))
        body = endpoint.dialect.body(self._line.model, request, messages, self._draw, mode)
        self._server = endpoint.url
        try:
            sent = await self._line.transport.send(endpoint.url, Parcel(body, request, self._draw, self._sent))
        except NoResponse as error:
            self._line.endpoints.failed(endpoint)
            if error.timeout:
                endpoint.limiter.crowded(slot.sent, time.monotonic())
            return Later(Outcome.TIMEOUT if error.timeout else Outcome.ERROR, str(error))
        finally:
            self._sent += 1
        if sent.status == 200:
            return self._read(slot, sent, mode)
        if sent.status in CROWDED:
            endpoint.limiter.crowded(slot.sent, time.monotonic())
        return self._refused(endpoint, sent, body, mode)

    def _read(self, slot: Slot, sent: Sent, mode: Mode) -> Reading | Later:
        slot.endpoint.limiter.went_well(slot.sent, time.monotonic())
        try:
            found = reply.read(sent.body, self._request)
        except BadEnvelope as error:
            self._line.endpoints.failed(slot.endpoint)
            return Later(Outcome.ERROR, str(error))
        self._line.endpoints.answered(slot.endpoint)
        if self._request.schema and mode > slot.endpoint.dialect.mode_for(self._request):
            slot.endpoint.dialect.by_name[self._request.name] = mode
        self._reported = found.reported or self._reported
        self._tokens = _sum(self._tokens[0], found.tokens_in), _sum(self._tokens[1], found.tokens_out)
        return found

    def _refused(self, endpoint: Endpoint, sent: Sent, body: dict[str, object], mode: Mode) -> Reading | Later:
        """What a status other than 200 means."""
        said = reply.error_text(sent.body)
        low, error = said.lower(), f"HTTP {sent.status}: {said}"
        if any(word in low for word in _FILTERED):
            return failed(Outcome.REFUSED, error)
        if any(word in low for word in NEVER_PASSES):
            return failed(Outcome.ERROR, error)
        if sent.status in RETRIED:
            if sent.status not in CROWDED:
                self._line.endpoints.failed(endpoint)
            if (sent.asked_wait or 0) > MOST_ASKED:
                return failed(Outcome.ERROR, f"{error}; the server asks to wait {sent.asked_wait:.0f} s")
            return Later(Outcome.ERROR, error, sent.asked_wait)
        if any(word in low for word in _TOO_LONG):
            return failed(Outcome.TRUNCATED, f"the prompt is longer than the server takes: {error}")
        is_turned_away = sent.status in TURNED_AWAY and len(self._line.endpoints.all) > 1
        if is_turned_away:
            # It answers at once and so would look idle, and draw the calls of the run to fail them.
            self._line.endpoints.failed(endpoint)
        if sent.status in STEPS_DOWN:
            if endpoint.dialect.is_outdated(body):  # another call has learnt it meanwhile
                return Later(Outcome.ERROR, error, counts=False)
            if learnt := endpoint.dialect.learn(said, body):
                self._line.note(endpoint.url, learnt)
                return Later(Outcome.ERROR, error, counts=False)
            if self._request.schema and mode < Mode.TEXT:
                self._floor[endpoint] = Mode(mode + 1)
                return Later(Outcome.ERROR, error, counts=False)
        return Later(Outcome.ERROR, error) if is_turned_away else failed(Outcome.ERROR, error)


def _sum(before: int, now: int) -> int:
    """Tokens of all replies so far; -1 as long as no server has counted."""
    return before if now < 0 else max(before, 0) + now
