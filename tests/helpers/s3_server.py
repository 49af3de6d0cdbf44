"""An object store on loopback that speaks S3, for what only stores with buckets do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

KEYS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}


@contextmanager
def s3_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The file system of fsspec at an empty store, which the environment names for other processes too."""
    why = "needs an object store: `pip install s3fs 'moto[server]'` (tested apart from the lock)"
    s3fs = pytest.importorskip("s3fs", reason=why)
    server = pytest.importorskip("moto.server", reason=why).ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    try:
        yield s3fs.S3FileSystem()
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()
