"""Answering on this machine's own address: a socket on the loopback interface, and the server behind it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from time import sleep

import uvicorn

from townsquare.errors import SettingError
from townsquare.view.security import LOOPBACK
from townsquare.view.server import app

PORT = 8150
"""Tried first where no port is asked for."""
_GRACE = 2  # seconds that open pages have to notice the end
_LOOK = 0.02


def listen(port: int | None) -> socket.socket:
    """A socket on the loopback interface, and on no other: at ``port``, or at :data:`PORT`, or wherever there is room.

    Raises
    ------
    SettingError
        The port asked for is taken, or no port.
    """
    for wanted in (PORT, 0) if port is None else (port,):
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((LOOPBACK, wanted))
        except (OSError, OverflowError):
            made.close()
            continue
        return made
    raise SettingError("--port", got=str(port), allowed="a free port from 1024 to 65535, or 0 for any")


def address(of: socket.socket) -> str:
    """Where a browser finds it."""
    return f"http://{LOOPBACK}:{of.getsockname()[1]}/"


def server(folder: Path | str) -> uvicorn.Server:
    """The viewer over a folder, ready to run on a socket. Raises as :func:`townsquare.view.server.app` does."""
    pages = app(folder)
    config = uvicorn.Config(
        pages, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=_GRACE
    )
    made = uvicorn.Server(config)
    pages.state.ending = lambda: made.should_exit
    return made


@contextmanager
def serving(folder: Path | str) -> Iterator[str]:
    """The viewer over a folder in a thread of this process, while the context lasts; gives its address."""
    made, place = server(folder), listen(0)
    thread = Thread(target=made.run, kwargs={"sockets": [place]}, daemon=True)
    thread.start()
    while not made.started and thread.is_alive():
        sleep(_LOOK)
    try:
        yield address(place)
    finally:
        made.should_exit = True
        thread.join()
        place.close()
