"""Requests over HTTP: OpenAI's chat completions by aiohttp and orjson, thousands in flight over kept connections."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

import aiohttp
import orjson

from townsquare.models.retry import asked_wait
from townsquare.models.transport import NoResponse, Parcel, Sent

if sys.platform != "win32":
    import resource

LARGEST = 8 * 1024 * 1024
"""Bytes of a response; a longer one is given up."""
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
        self._key = key
        self._timeout = timeout
        self._most = most
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if key:
            self._headers["authorization"] = f"Bearer {key}"

    async def send(self, url: str, parcel: Parcel) -> Sent:
        """One request, one response; no redirects, which could carry the key elsewhere."""
        session = self._session(is_local(url))
        try:
            async with session.post(
                f"{url}/chat/completions", data=orjson.dumps(parcel.body), headers=self._headers, allow_redirects=False
            ) as response:
                body = await _read(response)
                asked = response.headers.get("Retry-After"), response.headers.get("retry-after-ms")
                wait = asked_wait(*asked, datetime.now(UTC)) if any(asked) else None
                return Sent(response.status, body, wait)
        except TimeoutError as error:
            raise NoResponse(f"no answer within {self._timeout:g} s", timeout=True) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NoResponse(self.scrubbed(f"{type(error).__name__}: {error}"[:300])) from error

    async def sleep(self, seconds: float) -> None:
        """Wait before trying again."""
        await asyncio.sleep(seconds)

    def scrubbed(self, text: str) -> str:
        """A text without the key."""
        return text.replace(self._key, _HIDDEN) if self._key else text

    async def close(self) -> None:
        """Give back connections."""
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()

    def _session(self, local: bool) -> aiohttp.ClientSession:
        """The session for this machine, or for others, where the proxies of the environment hold."""
        if local not in self._sessions:
            allow_files(self._most + SPARE_FILES)
            self._sessions[local] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30),
                timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=CONNECT),
                trust_env=not local,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._sessions[local]


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
    """Whether an address is this machine's own.

    >>> is_local("http://127.0.0.1:8000/v1"), is_local("http://localhost/v1"), is_local("https://api.openai.com/v1")
    (True, True, False)
    """
    host = urlsplit(url).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def allow_files(wanted: int) -> None:
    """Raise this process's soft limit of open files as far as it may; each request in flight is one."""
    if sys.platform == "win32":
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
