"""A real Ray cluster for tests: two nodes on one machine, on the loopback address, in a program of their own.

``python ray_nodes.py`` starts it, prints its addresses as JSON, and ends it when its standard input closes.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from repository import environment_with_helpers

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs `pip install 'townsquare[cluster]'`")
TOKEN = secrets.token_hex(32)
ENVIRONMENT = {
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": TOKEN,
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # loopback only
    "RAY_USAGE_STATS_ENABLED": "0",
    "PYTHONPATH": environment_with_helpers()["PYTHONPATH"],  # worker_jobs
}


@dataclass(frozen=True)
class Nodes:
    """A running cluster: where it is asked, and the process that holds it."""

    address: str
    client: str
    process: subprocess.Popen[str]

    def busy(self, word: str) -> list[psutil.Process]:
        """Processes of the cluster whose name says that they work on a task."""
        return [one for one in _below(self.process.pid) if word in _name(one)]

    def listens_on(self) -> set[str]:
        """Addresses on which any of its processes listens."""
        return {
            connection.laddr.ip
            for one in _below(self.process.pid)
            for connection in one.net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        }


@contextmanager
def nodes() -> Iterator[Nodes]:
    """Two nodes with one processor each, and the server for ``ray://``."""
    folder = Path(tempfile.mkdtemp(prefix="ts-nodes-"))
    # Its address stands below this folder, so that nothing else on this machine takes it for the one to join.
    environment = {**os.environ, **ENVIRONMENT, "RAY_TMPDIR": str(folder)}
    process = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, env=environment,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        said = next((line for line in process.stdout if line.startswith("{")), None)
        assert said is not None, "the cluster did not start"
        found = json.loads(said)
        yield Nodes(found["address"], found["client"], process)
    finally:
        process.stdin.close()
        process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def _below(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _name(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


def _main() -> None:
    from ray.cluster_utils import Cluster

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    (Path(os.environ["RAY_TMPDIR"]) / "ray").mkdir()
    cluster = Cluster(initialize_head=True, head_node_args={**common, "ray_client_server_port": port})
    cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
    sys.stdout.write(json.dumps({"address": cluster.address, "client": f"ray://127.0.0.1:{port}"}) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    _main()
