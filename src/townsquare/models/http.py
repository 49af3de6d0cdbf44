"""HTTP requests to servers and their responses.

Above it stand retries, capabilities, parsing and checking, the same for real servers and for ``faulty``.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import orjson

from townsquare.core.extras import library
from townsquare.models.contract import Request


class HttpRequest(NamedTuple):
    """What is sent: the body for the server, and what it is about."""

    body: Mapping[str, Any]
    request: Request
    draw: int | None
    tries: int  # requests sent for this call before


class HttpResponse(NamedTuple):
    """A response of a server; ``asked_wait`` is its ``Retry-After`` in seconds."""

    status: int
    body: bytes
    asked_wait: float | None = None


NO_ANSWER = "no answer within"
"""Prefix of a timeout message."""


class NoResponse(Exception):
    """A server gave no answer: the connection failed, was cut, or took too long."""

    def __init__(self, text: str, *, timeout: bool = False) -> None:
        super().__init__(text)
        self.timeout = timeout


class Transport(Protocol):
    """Sends requests."""

    async def send(self, url: str, parcel: HttpRequest) -> HttpResponse:
        """Send to the server at a base URL; raises :class:`NoResponse` and nothing else."""

    async def sleep(self, seconds: float) -> None:
        """Wait before trying again."""

    def scrubbed(self, text: str) -> str:
        """Return a text of a server without the key, should it repeat it."""

    async def close(self) -> None:
        """Give back connections."""


# Retries and waiting times.


RETRIED = frozenset({408, 409, 423, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Transient statuses."""
CROWDED = frozenset({429, 503, 529})
"""Statuses of an overloaded server."""
FIRST, LONGEST = 0.5, 30.0
MOST_ASKED = 600.0
"""Longest ``Retry-After`` in seconds; a call fails rather than wait longer."""


def backoff(tries: int, asked: float | None, dice: random.Random) -> float:
    """Return seconds to wait before the next try.

    Full jitter: even between 0 and 0.5 s x 2^(tries - 1), at most 30 s, so that thousands of calls that failed together
    do not come back together. What the server asks for is the least; a tenth more is spread on top.

    Parameters
    ----------
    tries : int
        Requests sent so far, at least 1.
    asked : float or None
        Seconds of ``Retry-After``.
    dice : random.Random
        Moves nothing but time.
    """
    if asked is not None:
        return asked + dice.uniform(0.0, min(1.0, asked / 10))
    return dice.uniform(0.0, min(LONGEST, FIRST * 2.0 ** min(tries - 1, 20)))


def asked_wait(header: str | None, milliseconds: str | None, now: datetime) -> float | None:
    """Return the seconds to wait from ``Retry-After`` (seconds or a date) or ``retry-after-ms``.

    None if it asks for nothing, or for something that cannot be read.

    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> [asked_wait(header, None, now) for header in ("2.5", "Thu, 01 Jan 2026 00:00:07 GMT", "soon")]
    [2.5, 7.0, None]
    """
    if not header and not milliseconds:
        return None
    for text, unit in ((milliseconds, 1000.0), (header, 1.0)):
        try:
            seconds = float(text or "") / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        date = parsedate_to_datetime(header or "")
    except (TypeError, ValueError, OverflowError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - now).total_seconds())


# Requests over HTTP: OpenAI's chat completions by aiohttp and orjson, thousands in flight over kept connections.


if TYPE_CHECKING:
    import aiohttp

if sys.platform != "win32":
    import resource

LARGEST = 8 * 1024 * 1024
"""Maximum bytes of a response."""
CONNECT = 15.0
SPARE_FILES = 256
_HIDDEN = "[key]"


class HttpTransport:
    """Sends over the network.

    Parameters
    ----------
    key : str or None
        For the header ``Authorization``; in no message, and cut out of what servers say.
    timeout : float
        Seconds for one request, connecting and reading included.
    most : int
        Requests in flight, for which the limit of open files is raised where that is allowed.
    """

    def __init__(self, key: str | None, timeout: float, most: int) -> None:
        library("aiohttp", "a language model on a server")
        self._key = key
        self._timeout = timeout
        self._most = most
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if key:
            self._headers["authorization"] = f"Bearer {key}"

    async def send(self, url: str, parcel: HttpRequest) -> HttpResponse:
        """Return one request, one response; no redirects, which could carry the key elsewhere."""
        import aiohttp

        session = self._session(is_local(url))
        try:
            async with session.post(
                f"{url}/chat/completions", data=orjson.dumps(parcel.body), headers=self._headers, allow_redirects=False
            ) as response:
                body = await _read(response)
                asked = response.headers.get("Retry-After"), response.headers.get("retry-after-ms")
                wait = asked_wait(*asked, datetime.now(UTC)) if any(asked) else None
                return HttpResponse(response.status, body, wait)
        except TimeoutError as error:
            raise NoResponse(f"{NO_ANSWER} {self._timeout:g} s", timeout=True) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NoResponse(self.scrubbed(_in_words(error)[:300])) from error

    async def sleep(self, seconds: float) -> None:
        """Wait before trying again."""
        await asyncio.sleep(seconds)

    def scrubbed(self, text: str) -> str:
        """Return a text without the key."""
        return text.replace(self._key, _HIDDEN) if self._key else text

    async def close(self) -> None:
        """Give back connections."""
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()

    def _session(self, local: bool) -> aiohttp.ClientSession:
        """Return the session for this machine, or for others, where the proxies of the environment hold."""
        import aiohttp

        if local not in self._sessions:
            allow_files(self._most + SPARE_FILES)
            self._sessions[local] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30),
                timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=CONNECT),
                trust_env=not local,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._sessions[local]


def _in_words(error: Exception) -> str:
    """Return why no response came: in words where a server cannot be reached at all."""
    import aiohttp

    match error:
        case aiohttp.ClientConnectorDNSError():
            return "unknown host"
        case aiohttp.ClientSSLError():
            return f"TLS error: {error}"
        case aiohttp.ClientConnectorError():
            return f"no server answers at this address ({os.strerror(error.errno) if error.errno else 'no connection'})"
    return f"{type(error).__name__}: {error}"


async def _read(response: aiohttp.ClientResponse) -> bytes:
    pieces, size = [], 0
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > LARGEST:
            raise ValueError(f"a response of over {LARGEST} bytes")
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


@lru_cache(maxsize=64)
def is_local(url: str) -> bool:
    """Return whether an address is this machine's own.

    >>> is_local("http://127.0.0.1:8000/v1"), is_local("http://localhost/v1"), is_local("https://api.openai.com/v1")
    (True, True, False)
    """
    host = urlsplit(url).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def allow_files(wanted: int) -> None:
    """Raise the soft limit of open files; each request in flight uses one."""
    if sys.platform == "win32":
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
