"""Answering on this machine's own address: a socket on the loopback interface, and the server behind it."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from time import sleep
from typing import cast
from urllib.parse import urlencode

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from townsquare.core.errors import SettingError
from townsquare.pages.view.access import TOKEN
from townsquare.pages.view.security import LOOPBACK
from townsquare.pages.view.server import app

PORT = 8150
"""Tried first where no port is asked for."""
_GRACE = 2  # seconds that open pages have to notice the end
_LOOK = 0.02
HEAD_SECONDS = 10.0
"""What a client has for the head of a request, from its connection on or from the first byte after an answer."""


class Punctual(H11Protocol):
    """uvicorn's protocol, and a limit to the time between two answers: its own applies to silent connections only."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait on while the head of a request is incomplete; further bytes of it extend nothing."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        cycle = cast("object | None", self.cycle)  # None until the first request
        if cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def listen(port: int | None) -> socket.socket:
    """Return a socket on the loopback interface only: at ``port``, or at :data:`PORT`, or at any free port.

    Raises
    ------
    SettingError
        The port asked for is taken, or no port.
    """
    ports = (PORT, 0) if port is None else (port,) if port in range(2**16) else ()
    for wanted in ports:
        with suppress(OSError):
            return socket.create_server((LOOPBACK, wanted))  # it listens: a browser that asks at once is answered
    raise SettingError("--port", got=str(port), allowed="a free port from 1024 to 65535, or 0 for any")


def address(of: socket.socket, token: str = "") -> str:
    """Return where a browser finds it."""
    query = f"?{urlencode({TOKEN: token})}" if token else ""
    return f"http://{LOOPBACK}:{of.getsockname()[1]}/{query}"


class Viewer(uvicorn.Server):
    """A server that ends without a trace of requests that it broke off."""

    broke_off = False
    """Whether a request was broken off: the thread that works on its answer goes on."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End; what is broken off by that is no error to log."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # the next server sets its own level
        answering = set(self.server_state.tasks)
        await super().shutdown(sockets)
        self.broke_off = any(task.cancelling() for task in answering)


def server(folder: Path | str, token: str = "") -> Viewer:
    """Return the viewer of a folder, ready to run on a socket; raises as :func:`~townsquare.pages.view.server.app`."""
    pages = app(folder, token)
    config = uvicorn.Config(
        pages, http=Punctual, ws="none", log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=_GRACE,
    )  # fmt: skip
    made = Viewer(config)
    pages.state.ending = lambda: made.should_exit
    return made


@contextmanager
def serving(folder: Path | str, token: str = "") -> Iterator[str]:
    """Return the viewer over a folder in a thread of this process, while the context lasts; gives its address."""
    made, listening = server(folder, token), listen(0)
    thread = Thread(target=made.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not made.started and thread.is_alive():
        sleep(_LOOK)
    try:
        yield address(listening, token)
    finally:
        made.should_exit = True
        thread.join()
        listening.close()
