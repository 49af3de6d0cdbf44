"""Measure the client of language models against a bare client, and how busy it keeps a server: prints JSON.

A server of our own runs in another process and answers each request after a fixed time. Overhead is processor time of
this process a call, first with a bare aiohttp client that sends the same body and reads the same answer, then through
the client, in turns; the median turn counts. How busy a server is kept is the work it did, calls times latency, as a
share of what its 256 places could have done from its first request to its last answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from local_server import server, stats
from townsquare.models.capabilities import Capabilities, Mode
from townsquare.models.contract import CallStore, Message, Request
from townsquare.models.open import client_of
from townsquare.models.store import MemoryCalls, SqliteCalls
from townsquare.settings.config import Config

CALLS, TURNS, AT_ONCE = 1500, 5, 64
BUSY_AT_ONCE, LATENCY, ROUNDS = 256, 2.0, 12
PROMPT = "You are a person who reads a feed. " * 115  # about 4 kB
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "action": {"enum": ["like", "share", "comment", "ignore"]},
        "text": {"type": "string", "maxLength": 120},
    },
    "required": ["action", "text"],
    "additionalProperties": False,
}


def questions(first: int, count: int) -> list[Request]:
    """Different ones, of about 4 kB."""
    return [
        Request(
            purpose="act",
            messages=(Message("system", PROMPT), Message("user", f"Feed number {i}.")),
            schema=SCHEMA,
            temperature=1.0,
            agent=i,
        )
        for i in range(first, first + count)
    ]


async def bare(url: str, requests: Sequence[Request]) -> None:
    """The least that a client can do: send, receive, read the JSON."""
    waiting = iter([Capabilities().body("m", request, request.messages, 1, Mode.SCHEMA) for request in requests])
    headers = {"content-type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def work() -> None:
            for body in waiting:
                data = orjson.dumps(body)
                async with session.post(f"{url}/chat/completions", data=data, headers=headers) as response:
                    orjson.loads(orjson.loads(await response.read())["choices"][0]["message"]["content"])

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))


def through_the_client(url: str, requests: Sequence[Request], store: CallStore, at_once: int) -> None:
    """The same through the client: identities, checks, records."""
    config = Config.model_validate(
        {"model": {"name": "server/m", "base_url": url}, "serving": {"concurrency": at_once}}
    )
    with client_of(config, store, 1) as client:
        replies = client.ask(requests)
    assert all(reply.ok for reply in replies), next(reply.error for reply in replies if not reply.ok)


def overhead(url: str) -> dict[str, float]:
    """Processor microseconds a call, of each way in turns."""
    spent: dict[str, list[float]] = {"bare": [], "memory": [], "file": []}
    for turn in range(TURNS):
        asked = questions(turn * CALLS, CALLS)
        for way, took in spent.items():
            started = time.process_time()
            if way == "bare":
                asyncio.run(bare(url, asked))
            elif way == "memory":
                through_the_client(url, asked, MemoryCalls(), AT_ONCE)
            else:
                with tempfile.TemporaryDirectory() as folder:
                    store = SqliteCalls(Path(folder))
                    through_the_client(url, asked, store, AT_ONCE)
                    store.close()
            took.append((time.process_time() - started) / CALLS * 1e6)
    return {way: statistics.median(took) for way, took in spent.items()}


def busy(url: str) -> dict[str, float]:
    """How busy 256 places of a server are kept while calls are recorded to disk."""
    asked = questions(10**6, BUSY_AT_ONCE * ROUNDS)
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteCalls(Path(folder))
        through_the_client(url, asked, store, BUSY_AT_ONCE)
        store.close()
    seen = stats(url)
    return {
        "busy": len(asked) * LATENCY / (BUSY_AT_ONCE * seen["seconds"]),
        "rate": len(asked) / seen["seconds"],
        "latency": LATENCY,
        "at_once": BUSY_AT_ONCE,
    }


def main() -> None:
    """Measure both."""
    with server(0.0) as url:
        found = overhead(url)
    with server(LATENCY) as url:
        found |= busy(url)
    print(json.dumps({**found, "calls": CALLS, "load": os.getloadavg()[0]}))


if __name__ == "__main__":
    main()
