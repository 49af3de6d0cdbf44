"""A real server of chat completions for tests: llama.cpp in a process of its own, on loopback.

As a program: ``llama_server.py MODEL PORT`` serves until it is terminated, or its parent is gone.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SLOTS, CONTEXT, THREADS = 8, 65536, 1
MISSING = (
    "needs xllamacpp and gguf: `uv pip install xllamacpp==2026.10.11549 gguf`, or the group `dev` of pyproject.toml"
)


@contextmanager
def real_server(folder: Path) -> Iterator[str]:
    """Its base URL, while it runs; the model is written into ``folder``. Skips the test where parts are missing."""
    pytest.importorskip("xllamacpp", reason=MISSING)
    pytest.importorskip("gguf", reason=MISSING)
    import tiny_model

    model = folder / "tiny.gguf"
    tiny_model.write(str(model))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, __file__, str(model), str(port)], stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _wait_for(f"http://127.0.0.1:{port}/v1/models", process, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail("the model server did not start:\n" + log.read_text(encoding="utf-8", errors="replace")[-2000:])


def _serve(model: str, port: int) -> None:
    import xllamacpp

    given = xllamacpp.CommonParams()
    given.model.path = model
    given.hostnames = ["127.0.0.1"]
    given.port = port
    given.n_ctx = CONTEXT
    given.n_parallel = SLOTS
    given.cpuparams.n_threads = THREADS
    given.verbosity = 1
    given.warmup = given.fit_params = given.ui = False
    given.enable_reasoning = 0
    server = xllamacpp.Server(given)
    parent = os.getppid()
    while os.getppid() == parent:  # tests that are killed leave no server behind
        time.sleep(1)
    del server


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
