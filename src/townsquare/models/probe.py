"""Probe a server once for the strictest way to request JSON.

Each rung is tried with one short question of our own, before any question of a run, so that what is found does not
depend on which call happened to come first. A rung counts only if the server honors it: the schema of the question
wants a code that stands nowhere else, which a server that takes ``response_format`` and forgets it cannot guess.
"""

from __future__ import annotations

import asyncio
import time

from townsquare.core.errors import Unreachable
from townsquare.models import reply
from townsquare.models.capabilities import Mode
from townsquare.models.contract import Outcome, Request, object_schema
from townsquare.models.conversation import NEVER_PASSES, STEPS_DOWN
from townsquare.models.http import (
    CROWDED,
    MOST_ASKED,
    NO_ANSWER,
    RETRIED,
    HttpRequest,
    HttpResponse,
    NoResponse,
    backoff,
)
from townsquare.models.parse import candidates
from townsquare.models.reply import BadEnvelope
from townsquare.models.servers import ASIDE, Backend, Endpoint

CODE = "tq7"
_FORM = object_schema(
    code={"type": "string", "enum": [CODE]},
    words={"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 12}},
    number={"type": "number", "minimum": -1, "maximum": 1},
)
QUESTION = Request.of("contact", "Answer in the form that was agreed on.", _FORM)
REFUSED_KEY = frozenset({401, 403})
"""Statuses by which a server refuses a key, or its absence."""
TRIES = 3
"""Requests on one rung where the server fails; where it says that it is crowded, as many as a call has."""


class NoContact(Exception):
    """A server cannot be used: no answer, overloaded, or key or model refused; ``do`` is the remedy."""

    def __init__(self, text: str, do: str) -> None:
        super().__init__(text)
        self.do = do


class CapabilityProbe:
    """Determines the capabilities of the servers of a backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._under_way: dict[Endpoint, asyncio.Task[None]] = {}
        self._faults: dict[Endpoint, NoContact] = {}

    async def settle(self) -> None:
        """Contact the servers that are not known yet; waits until one is. The others are contacted next to the run.

        Raises
        ------
        Unreachable
            None of them can be used.
        """
        servers = self._backend.endpoints.all
        if all(endpoint.capabilities.mode is not None for endpoint in servers):
            return
        now = time.monotonic()
        for endpoint in servers:
            if endpoint.capabilities.mode is None and now >= endpoint.not_before and endpoint not in self._under_way:
                self._under_way[endpoint] = asyncio.create_task(self._contact(endpoint))
        while all(endpoint.capabilities.mode is None for endpoint in servers):
            if not self._under_way:
                raise self._unreachable()
            await asyncio.wait(self._under_way.values(), return_when=asyncio.FIRST_COMPLETED)

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _unreachable(self) -> Unreachable:
        do = "; ".join(dict.fromkeys(fault.do for fault in self._faults.values()))
        faults = "; ".join(f"{endpoint.url}: {fault}" for endpoint, fault in self._faults.items())
        return Unreachable(f"model {self._backend.name}", got=self._backend.transport.scrubbed(faults), do=do)

    async def _contact(self, endpoint: Endpoint) -> None:
        """Determine the capabilities of a server, or skip it for a while."""
        try:
            for mode in Mode:
                if await self._honors(endpoint, mode):
                    endpoint.capabilities.mode = mode
                    self._backend.endpoints.wake()
                    return
        except NoContact as error:
            self._faults[endpoint] = error
            self._backend.endpoints.pause(endpoint, ASIDE)
        finally:
            del self._under_way[endpoint]

    async def _honors(self, endpoint: Endpoint, mode: Mode) -> bool:
        failures = 0
        while True:
            body = endpoint.capabilities.body(self._backend.model, QUESTION, QUESTION.messages, None, mode)
            failures += 1
            try:
                sent = await self._backend.transport.send(endpoint.url, HttpRequest(body, QUESTION, None, failures - 1))
                if sent.status == 200:
                    return _is_honored(sent, mode)
                error, wait = f"HTTP {sent.status}: {reply.error_text(sent.body)}", sent.asked_wait
            except (NoResponse, BadEnvelope) as failure:
                sent, error, wait = None, str(failure), None
            if sent is not None and sent.status not in RETRIED:
                if sent.status in STEPS_DOWN and (learned := endpoint.capabilities.learn(error, body)):
                    self._backend.note(endpoint.url, learned)
                    continue
                if sent.status in STEPS_DOWN and mode < Mode.TEXT:
                    return False
                raise NoContact(error, self._remedy(sent.status))
            is_crowded = sent is not None and sent.status in CROWDED
            most = self._backend.tries if is_crowded else min(TRIES, self._backend.tries)
            if failures >= most or (wait or 0) > MOST_ASKED:
                if sent is not None and sent.status == 500 and mode < Mode.TEXT:
                    return False
                raise self._given_up(sent, error)
            await self._backend.transport.sleep(backoff(failures, wait, self._backend.dice))

    def _given_up(self, sent: HttpResponse | None, error: str) -> NoContact:
        """Return a server that was asked again until it was enough."""
        if sent is None:
            late = error.startswith(NO_ANSWER)
            do = "wait until the server is ready, or raise serving.timeout" if late else "start the server"
            return NoContact(error, f"{do}, or correct model.base_url")
        if sent.status not in CROWDED:
            return NoContact(error, self._remedy(sent.status))
        if any(word in error for word in NEVER_PASSES):
            return NoContact(error, "add credit to the account of the key, or choose another model")
        wait = f"in {sent.asked_wait:,.0f} s, as it asks" if sent.asked_wait is not None else "later"
        do = f"retry {wait}, or lower serving.concurrency"
        return NoContact(f"the server is overloaded or not ready: {error}", do)

    def _remedy(self, status: int) -> str:
        if status in REFUSED_KEY:
            return self._backend.key_hint or "see the server's message about the key"
        if status in STEPS_DOWN:
            return "correct the name of the model, or model.base_url"
        return "see why the server fails, or correct model.base_url"


def _is_honored(sent: HttpResponse, mode: Mode) -> bool:
    """Return whether a reply shows that the server did what it was asked.

    Bounds of numbers are no part of that: llama.cpp, for one, heeds schemas but for those.
    """
    parsed = reply.read(sent.body, QUESTION)
    values = candidates(parsed.text)
    is_object = len(values) == 1 and isinstance(values[0], dict)
    match mode:
        case Mode.SCHEMA | Mode.LOOSE_SCHEMA:
            all_thought = parsed.outcome is Outcome.TRUNCATED and not parsed.text
            return (is_object and values[0].get("code") == CODE) or all_thought
        case Mode.OBJECT:
            return is_object
        case Mode.TOOL:
            return parsed.is_call
        case Mode.TEXT:
            return True
