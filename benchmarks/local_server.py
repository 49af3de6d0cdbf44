"""A server of chat completions in a process of its own, for the benchmarks of language models."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def server(latency: float, *options: str) -> Iterator[str]:
    """Base URL of a server that takes ``latency`` seconds; further options of :mod:`townsquare.testing.chat_server`."""
    command = [sys.executable, "-m", "townsquare.testing.chat_server", "--latency", str(latency), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def stats(url: str) -> dict[str, Any]:
    """What a server has seen."""
    with urllib.request.urlopen(url.removesuffix("/v1") + "/stats", timeout=30) as response:
        return dict(json.load(response))
