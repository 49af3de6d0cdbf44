"""A file server on loopback, which tests reach by fsspec: another machine's files, for processes of this one."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def ftp_server(folder: Path) -> Iterator[str]:
    """Address of a folder that anyone on this machine may read and write by FTP."""
    modules = ("handlers", "authorizers", "servers")
    why = "needs a file server: `pip install pyftpdlib` (it has no wheel, so that the lock leaves it out)"
    handlers, authorizers, servers = (pytest.importorskip(f"pyftpdlib.{name}", reason=why) for name in modules)
    authorizer = authorizers.DummyAuthorizer()
    with warnings.catch_warnings(action="ignore"):  # that anyone may write: anyone on this machine
        authorizer.add_anonymous(str(folder), perm="elradfmwMT", msg_login="hello")

    class Handler(handlers.FTPHandler):  # type: ignore[misc, name-defined]
        pass

    Handler.authorizer = authorizer
    server = servers.ThreadedFTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"timeout": 0.1, "handle_exit": False}, daemon=True)
    thread.start()
    try:
        yield f"ftp://127.0.0.1:{server.address[1]}/"
    finally:
        server.close_all()
        thread.join(60)
