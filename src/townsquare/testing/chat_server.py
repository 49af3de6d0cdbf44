"""A local chat completion server for tests and benchmarks: no model, no key, no network.

It speaks OpenAI's protocol and answers as ``fake`` does: a pure function of what it was asked, whichever way an object
was asked for. What it supports, how long it takes and how it fails can be chosen and changed while it runs. By itself::

    python -m townsquare.testing.chat_server --port 8000 --latency 0.5
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import orjson

from townsquare.core.extras import library
from townsquare.models.capabilities import INSTRUCTION
from townsquare.models.contract import Message, Request
from townsquare.models.fake import made, written
from townsquare.models.usage import estimate

if TYPE_CHECKING:
    from aiohttp import web
else:
    web = library("aiohttp.web", "the chat server")

FORMATS = frozenset({"json_schema", "json_object", "tools"})
HANG = 3600.0


class Fault(NamedTuple):
    """Failure of a request: a status, a cut connection, no answer at all, or a given reply."""

    status: int = 200
    text: str | None = None
    """What the model says instead; with a status other than 200, the message of the error."""
    retry_after: str | None = None
    drop: bool = False
    hang: bool = False
    finish: str = "stop"
    body: bytes | None = None
    """The whole body instead."""


FaultOf = Callable[[int, Mapping[str, Any]], Fault | None]


@dataclass
class Behavior:
    """Behavior of the server; may be changed while it runs.

    Attributes
    ----------
    latency : float
        Seconds that an answer takes.
    spread : float
        Seconds by which that differs at most from request to request, evenly spread up and down and a function of the
        request, so that replies come back in another order.
    formats : frozenset of str
        Ways of asking for an object that it takes, of ``FORMATS``; others are answered by 400.
    ignored : frozenset of str
        Ways that it takes and does not heed.
    refused : frozenset of str
        Parameters that it answers by 400.
    models : tuple of str
        Names that it knows; of others it says 404. Empty: any.
    thinking : str
        ``"tags"``: replies begin with ``<think>``; ``"field"``: thinking is in ``reasoning_content``.
    key : str
        That it wants; "" for none. It repeats a wrong one in its error, as some servers do.
    slots : int
        Requests that it takes at once; 0 for any number. Others get 429 with ``retry_after``.
    retry_after : str
        Header of those 429s; "" for none.
    usage : bool
        Whether it counts tokens.
    fault : callable or None
        ``fault(number, body)`` fails a request; numbers count from 0.
    """

    latency: float = 0.0
    spread: float = 0.0
    formats: frozenset[str] = FORMATS
    ignored: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    models: tuple[str, ...] = ()
    thinking: str = ""
    key: str = ""
    slots: int = 0
    retry_after: str = ""
    usage: bool = True
    fault: FaultOf | None = None


@dataclass
class Seen:
    """Counts of requests.

    Attributes
    ----------
    requests : int
    bodies : Counter of str
        How often each body came, by its SHA-256; questions of first contact are not in it.
    statuses : Counter of int
    last : mapping
        The last body.
    in_flight, peak : int
        Requests under way, now and at most.
    worked : float
        Seconds of latency that answers were meant to take, summed; without those of first contact.
    began, ended : float
        When the first request came and the last answer went, by ``time.monotonic()``; without those of first contact.
    """

    requests: int = 0
    bodies: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    last: Mapping[str, Any] = field(default_factory=dict)
    in_flight: int = 0
    peak: int = 0
    worked: float = 0.0
    began: float = 0.0
    ended: float = 0.0


class ChatServer:
    """The server, in a separate thread.

    >>> with ChatServer() as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, behavior: Behavior | None = None, port: int = 0) -> None:
        self.behavior = behavior or Behavior()
        self.seen = Seen()
        self.url = ""
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chat-server", daemon=True)
        self._runner: web.AppRunner

    def __enter__(self) -> Self:
        """Listen on loopback; the port is free if none was given."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def __exit__(self, *error: object) -> None:
        """Cut what is under way and stop listening."""
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> None:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/stats", self._stats)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, backlog=4096).start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}/v1"

    async def _models(self, request: web.Request) -> web.Response:
        names = self.behavior.models or ("any",)
        return _json(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]})

    async def _stats(self, request: web.Request) -> web.Response:
        seen = self.seen
        names = ("requests", "peak", "began", "ended", "worked")
        stats: dict[str, Any] = {name: getattr(seen, name) for name in names}
        stats |= {"seconds": seen.ended - seen.began, "processor": time.process_time()}
        return _json(200, stats | {"statuses": {str(status): count for status, count in seen.statuses.items()}})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        seen = self.seen
        raw = await request.read()
        number, seen.requests = seen.requests, seen.requests + 1
        seen.in_flight += 1
        seen.peak = max(seen.peak, seen.in_flight)
        try:
            body = orjson.loads(raw)
            seen.last = body
            is_contact = name_of(body) == "contact"
            if not is_contact:
                seen.began = seen.began or time.monotonic()
                seen.bodies[hashlib.sha256(raw).hexdigest()] += 1
            refused = self._turned_away(request, body)
            response = await self._answered(request, number, body, raw) if refused is None else refused
            seen.statuses[response.status] += 1
            seen.ended = seen.ended if is_contact else time.monotonic()
            return response
        except orjson.JSONDecodeError:
            return _error(400, "the body is no JSON")
        finally:
            seen.in_flight -= 1

    def _turned_away(self, request: web.Request, body: Mapping[str, Any]) -> web.Response | None:
        behavior = self.behavior
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if behavior.key and given != behavior.key:
            return _error(401, f"Incorrect API key provided: {given}.", "invalid_api_key")
        if behavior.models and body.get("model") not in behavior.models:
            return _error(404, f"The model {body.get('model')!r} does not exist", "model_not_found")
        if behavior.slots and self.seen.in_flight > behavior.slots:
            headers = {"Retry-After": behavior.retry_after} if behavior.retry_after else {}
            return _error(429, "too many requests", "rate_limit_exceeded", headers)
        for name in sorted(behavior.refused & set(body)):
            instead = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
            message = f"Unsupported parameter: '{name}' is not supported with this model.{instead}"
            return _error(400, message, "unsupported_parameter")
        way = _way(body)
        if way and way not in behavior.formats and way not in behavior.ignored:
            return _error(400, f"{way} is not supported by this server")
        return None

    async def _answered(
        self, request: web.Request, number: int, body: Mapping[str, Any], raw: bytes
    ) -> web.StreamResponse:
        behavior = self.behavior
        fault = (behavior.fault(number, body) if behavior.fault else None) or Fault()
        wait = behavior.latency
        if behavior.spread:
            share = int.from_bytes(hashlib.sha256(raw).digest()[:4], "big") / 2**32
            wait = max(0.0, wait + behavior.spread * (2 * share - 1))
        if name_of(body) != "contact":
            self.seen.worked += wait
        if wait or fault.hang:
            await asyncio.sleep(HANG if fault.hang else wait)
        if fault.drop and request.transport is not None:
            request.transport.close()
        if fault.body is not None:
            return web.Response(status=fault.status, body=fault.body, content_type="application/json")
        if fault.status != 200:
            headers = {"Retry-After": fault.retry_after} if fault.retry_after else {}
            return _error(fault.status, fault.text or "it did not work", "", headers)
        return _json(200, self._completion(body, fault))

    def _completion(self, body: Mapping[str, Any], fault: Fault) -> dict[str, Any]:
        asked, is_tool = asked_of(body, self.behavior.ignored)
        value = made(asked, body.get("seed"))
        text = written(value) if fault.text is None else fault.text
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if is_tool and fault.text is None:
            function = {"name": asked.name, "arguments": text}
            message = {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": function}]}
            message["tool_calls"][0]["id"] = "call_0"
        elif self.behavior.thinking == "tags":
            message["content"] = f'<think>They want {{"something": 1}}.</think>\n{text}'
        elif self.behavior.thinking == "field":
            message["reasoning_content"] = 'They want {"something": 1}.'
        out: dict[str, Any] = {
            "id": "chatcmpl-" + hashlib.sha256(orjson.dumps(body)).hexdigest()[:12],
            "object": "chat.completion",
            "created": 0,
            "model": body.get("model", ""),
            "system_fingerprint": "fp_townsquare",
            "choices": [{"index": 0, "message": message, "finish_reason": fault.finish, "logprobs": None}],
        }
        if self.behavior.usage:
            tokens_in = sum(estimate(message.content) for message in asked.messages)
            tokens_out = estimate(text)
            counts = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
            out["usage"] = {**counts, "total_tokens": tokens_in + tokens_out}
        return out


def name_of(body: Mapping[str, Any]) -> str:
    """Return the name of the requested schema; "contact" for questions of first contact; "" if none exists."""
    wanted = body.get("response_format", {}).get("json_schema", {}).get("name")
    if wanted is None and body.get("tools"):
        wanted = body["tools"][0]["function"]["name"]
    if wanted is None and any('"tq7"' in str(message.get("content")) for message in body.get("messages", ())):
        wanted = "contact"
    return str(wanted or "")


def asked_of(body: Mapping[str, Any], ignored: frozenset[str] = frozenset()) -> tuple[Request, bool]:
    """Return the request behind a body, whichever way an object is asked for, and whether a function is to be called.

    What is ignored asks for no object, unless the schema is in the prompt.
    """
    way = _way(body)
    schema: Mapping[str, Any] = {}
    if way == "json_schema" and way not in ignored:
        schema = body["response_format"]["json_schema"].get("schema", {})
    is_tool = way == "tools" and way not in ignored
    if is_tool:
        schema = body["tools"][0]["function"]["parameters"]
    messages = []
    for message in body.get("messages", ()):
        content, mark, written = str(message.get("content")).partition(INSTRUCTION)
        if mark:
            schema, content = orjson.loads(written), content.rstrip("\n")
        messages.append(Message(str(message.get("role")), content))
    most = body.get("max_tokens", body.get("max_completion_tokens", 512))
    request = Request(
        purpose="", messages=tuple(messages), schema=schema, name=name_of(body) or "reply",
        temperature=body.get("temperature", 0.0), max_tokens=most,
    )  # fmt: skip
    return request, is_tool


def _way(body: Mapping[str, Any]) -> str:
    kind = body.get("response_format", {}).get("type", "")
    return "tools" if body.get("tools") else kind if kind in FORMATS else ""


def _json(status: int, value: Any, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(value), content_type="application/json", headers=headers)


def _error(status: int, message: str, code: str = "", headers: Mapping[str, str] | None = None) -> web.Response:
    return _json(status, {"error": {"message": message, "type": "error", "param": None, "code": code}}, headers)


def main(arguments: list[str] | None = None) -> None:
    """Serve until interrupted; the first line of output is the base URL."""
    parser = argparse.ArgumentParser(description="A fake server of chat completions on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds an answer takes")
    parser.add_argument("--spread", type=float, default=0.0, help="seconds by which that differs, up and down")
    parser.add_argument("--slots", type=int, default=0, help="requests at once; others get 429")
    asked = parser.parse_args(arguments)
    behavior = Behavior(latency=asked.latency, spread=asked.spread, slots=asked.slots)
    with ChatServer(behavior, asked.port) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
