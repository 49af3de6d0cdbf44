"""One request to a server, and what comes back of it: the seam between the door and the network.

Above it stand retries, the ladder, parsing and checking, the same for real servers and for ``faulty``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from townsquare.models.contract import Request


class Parcel(NamedTuple):
    """What is sent: the body for the server, and what it is about."""

    body: Mapping[str, Any]
    request: Request
    draw: int | None
    tries: int  # requests sent for this call before


class Sent(NamedTuple):
    """What a server answered; ``asked_wait`` is its ``Retry-After`` in seconds."""

    status: int
    body: bytes
    asked_wait: float | None = None


class NoResponse(Exception):
    """A server gave no answer: the connection failed, was cut, or took too long."""

    def __init__(self, text: str, *, timeout: bool = False) -> None:
        super().__init__(text)
        self.timeout = timeout


class Transport(Protocol):
    """How requests travel."""

    async def send(self, url: str, parcel: Parcel) -> Sent:
        """Send to the server at a base URL; raises :class:`NoResponse` and nothing else."""

    async def sleep(self, seconds: float) -> None:
        """Wait before trying again."""

    def scrubbed(self, text: str) -> str:
        """A text of a server without the key, should it repeat it."""

    async def close(self) -> None:
        """Give back connections."""
