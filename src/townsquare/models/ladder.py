"""First contact with a server: the best way to ask it for an object, found once and remembered.

Each rung is tried with one short question of our own, before any question of a run, so that what is found does not
depend on which call happened to come first. A rung counts only if the server honours it: the schema of the question
wants a code that stands nowhere else, which a server that takes ``response_format`` and forgets it cannot guess.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import orjson

from townsquare.errors import Unreachable
from townsquare.models import reading
from townsquare.models.contract import Message, Request
from townsquare.models.conversation import STEPS_DOWN
from townsquare.models.dialect import Mode
from townsquare.models.endpoints import ASIDE, Endpoint
from townsquare.models.line import Line
from townsquare.models.reading import BadEnvelope
from townsquare.models.retry import CROWDED, MOST_ASKED, RETRIED, backoff
from townsquare.models.transport import NoResponse, Parcel, Sent

CODE = "tq7"
QUESTION = Request(
    purpose="contact",
    messages=(Message("user", "Answer in the form that was agreed on."),),
    schema={
        "type": "object",
        "properties": {
            "code": {"type": "string", "enum": [CODE]},
            "words": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 12}},
            "number": {"type": "number", "minimum": -1, "maximum": 1},
        },
        "required": ["code", "words", "number"],
        "additionalProperties": False,
    },
    name="contact",
    max_tokens=512,
)
TRIES = 3
"""Requests on one rung where the server fails; where it says that it is crowded, as many as a call has."""


class NoContact(Exception):
    """A server cannot be used: it does not answer, or refuses the key or the model."""


class Ladder:
    """Settles how to speak to the servers of a line."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._lock = asyncio.Lock()

    async def settle(self) -> None:
        """Contact the servers that are not known yet; returns at once where all are.

        Raises
        ------
        Unreachable
            None of them can be used.
        """
        servers = self._line.endpoints.all
        if all(endpoint.dialect.mode is not None for endpoint in servers):
            return
        async with self._lock:
            now = time.monotonic()
            unknown = [e for e in servers if e.dialect.mode is None and now >= e.not_before]
            faults = await asyncio.gather(*map(self._contact, unknown))
            for endpoint, fault in zip(unknown, faults, strict=True):
                if fault:
                    self._line.endpoints.pause(endpoint, ASIDE)
            if all(endpoint.dialect.mode is None for endpoint in servers):
                raise self._unreachable([f"{e.url}: {fault}" for e, fault in zip(unknown, faults, strict=True)])

    def _unreachable(self, faults: list[str]) -> Unreachable:
        do = "start the server, or correct model.base_url or the name of the model"
        if self._line.key_hint:
            do += f"; {self._line.key_hint}"
        got = self._line.transport.scrubbed("; ".join(faults)) or "no server that answers"
        return Unreachable(f"model {self._line.name}", got=got, do=do)

    async def _contact(self, endpoint: Endpoint) -> str:
        """Find a server's rung; what is wrong with it, or "" if nothing is."""
        try:
            for mode in Mode:
                if await self._honours(endpoint, mode):
                    endpoint.dialect.mode = mode
                    return ""
        except NoContact as error:
            return str(error)
        return "no way of asking works"

    async def _honours(self, endpoint: Endpoint, mode: Mode) -> bool:
        failures = 0
        while True:
            body = endpoint.dialect.body(self._line.model, QUESTION, QUESTION.messages, None, mode)
            failures += 1
            try:
                sent = await self._line.transport.send(endpoint.url, Parcel(body, QUESTION, None, failures - 1))
                if sent.status == 200:
                    return _is_honoured(sent, mode)
                error, wait = f"HTTP {sent.status}: {reading.error_text(sent.body)}", sent.asked_wait
            except (NoResponse, BadEnvelope) as failure:
                sent, error, wait = None, str(failure), None
            if sent is not None and sent.status not in RETRIED:
                if sent.status in STEPS_DOWN and (learnt := endpoint.dialect.learn(error, body)):
                    self._line.note(endpoint.url, learnt)
                    continue
                if sent.status in STEPS_DOWN and mode < Mode.TEXT:
                    return False
                raise NoContact(error)
            most = self._line.tries if sent is not None and sent.status in CROWDED else min(TRIES, self._line.tries)
            if failures >= most or (wait or 0) > MOST_ASKED:
                if sent is not None and sent.status == 500 and mode < Mode.TEXT:
                    return False
                raise NoContact(error)
            await self._line.transport.sleep(backoff(failures, wait, self._line.dice))


def _is_honoured(sent: Sent, mode: Mode) -> bool:
    """Whether a reply shows that the server did what it was asked."""
    found = reading.read(sent.body, QUESTION)
    choice = orjson.loads(sent.body)["choices"][0]
    message: dict[str, Any] = choice.get("message") or {}
    match mode:
        case Mode.SCHEMA | Mode.LOOSE_SCHEMA:
            return (isinstance(found.value, dict) and found.value.get("code") == CODE) or (
                choice.get("finish_reason") == "length" and not found.text  # all of it went into thinking
            )
        case Mode.OBJECT:
            return isinstance(found.value, dict) or found.text.lstrip().startswith("{")
        case Mode.TOOL:
            return bool(message.get("tool_calls"))
        case Mode.TEXT:
            return True
