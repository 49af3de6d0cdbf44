"""A Ray cluster to work on: one that is started here, one that runs here, or one at an address.

A cluster that is started here listens on the loopback address alone, wants a token that only its own processes know,
reports nothing to anyone, shows no dashboard, and ends with what asked for it. Ray, the extra ``cluster``, is imported
when it is first asked for.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from townsquare.core.errors import SettingError, TownsquareError, WrongVersion
from townsquare.core.extras import library
from townsquare.experiments.workers import ONE_THREAD, in_environment
from townsquare.settings.resolve import current_version

HERE = ""
"""No cluster: processes of this machine."""
RAY, REMOTE = "ray", "ray://"
LOOPBACK = "127.0.0.1"
_ANY = "auto"
"""What ``RAY_ADDRESS`` may say for the cluster that runs here."""
_REACH = 5.0  # seconds that a machine may take to answer at all
_PROBE = 60.0  # seconds that it may take to start a process and say what it is
_STARTS = 3  # Ray gives its processes 30 seconds to start, which a busy machine may exceed
_LEAST_MEMORY = 80 << 20  # bytes; what goes between processes here is small, and Ray wants at least 75 MiB
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",  # lines of its own that Ray would put among results on stdout
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
_ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""What keeps Ray to the loopback address, on every system; it reads this when it is imported."""


def checked_place(on: str) -> str:
    """Return the words of ``--on``, if they name a place.

    Raises
    ------
    SettingError
        They are neither "", ``ray`` nor ``ray://HOST:PORT``.

    >>> checked_place("ray://db.example.org:10001")
    'ray://db.example.org:10001'
    """
    host, port = _host_and_port(on)
    if on not in (HERE, RAY) and (not host or not port or not re.fullmatch(r"ray://[^/@?#]+/*", on)):
        raise SettingError("--on", got=repr(on[:80]), allowed="ray, or ray://HOST:PORT")
    return on


def driver() -> Any:
    """Return the module ``ray``, made quiet before it is first imported.

    Raises
    ------
    MissingExtra
        It is not installed.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    ray = library("ray", "--on")
    for name in ("ray", "ray.client_builder"):  # the first is set anew when Ray connects
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return ray


@contextmanager
def connected(on: str, workers: int | None) -> Iterator[Any]:
    """Give the module ``ray``, connected to a cluster while the context lasts.

    Parameters
    ----------
    on : str
        ``ray``: the cluster that ``RAY_ADDRESS`` names or that runs on this machine; else one is started.
        ``ray://HOST:PORT``: that of Ray's client server there.
    workers : int, optional
        Processors of a cluster that is started here; by default those of the machine.

    Raises
    ------
    SettingError
        Ray is not installed, or nothing answers at the address.
    WrongVersion
        Machines of the cluster have another Python, Ray or Townsquare.
    """
    address = nearest() if on == RAY else on
    if address and not _answers(address):
        do = "check that the cluster runs; ray:// needs the port of its client server, 10001 by default"
        raise SettingError("--on", got=f"{address}, which does not respond", do=do)
    with in_environment(_variables(address)):
        ray = driver()
        if ray.is_initialized():  # the program that calls us is connected already, and stays so
            yield ray
            return
        with tempfile.TemporaryDirectory(prefix="ts-ray-", ignore_cleanup_errors=True) as folder:
            try:
                with _own_signals():
                    _connect(ray, address, folder, workers)
                if address:
                    _check_versions(ray)
                yield ray
            finally:
                with _own_signals():
                    ray.shutdown()


def made_by() -> dict[str, str]:
    """Return the versions that must be the same on every machine, by name."""
    return {"townsquare": current_version(), "Python": f"{sys.version_info.major}.{sys.version_info.minor}"}


def check_made_by(theirs: Mapping[str, str], where: str) -> None:
    """Refuse a machine that would compute something else.

    Raises
    ------
    WrongVersion
        Saying what differs.
    """
    ours = made_by()
    for name, version in ours.items():
        if theirs.get(name) != version:
            got = f"{name} {theirs.get(name, 'of unknown version')}"
            raise WrongVersion(where, got=got, allowed=version, do="install the same version on all machines")


def nearest() -> str:
    """Return the address of the cluster that the environment names, or that runs here; "" if none exists.

    One that runs here leaves its address in a file of Ray's temporary folder, into which anybody may write. What comes
    back from a cluster is unpickled, so that whoever runs it could have us run anything: it must be ours, or root's.
    """
    named = os.environ.get("RAY_ADDRESS", "")
    if named not in ("", _ANY):
        return named
    temporary = os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp"
    with suppress(OSError), Path(temporary, "ray", "ray_current_cluster").open(encoding="utf-8") as file:
        address = file.read().strip()
        if os.fstat(file.fileno()).st_uid in (os.getuid(), 0) and _answers(address):
            return address
    return ""


def _host_and_port(address: str) -> tuple[str, int]:
    with suppress(ValueError):
        parts = urlsplit(address if "://" in address else f"//{address}")
        return LOOPBACK if parts.hostname == "localhost" else parts.hostname or "", parts.port or 0
    return "", 0


def _answers(address: str) -> bool:
    with suppress(OSError, ValueError):
        socket.create_connection(_host_and_port(address), timeout=_REACH).close()
        return True
    return False


class _Failure:
    """Keeps the error of what it surrounds, of whatever type: Ray raises bare ``Exception`` among others."""

    error: Exception | None = None

    def __enter__(self) -> None:
        self.error = None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self.error = error if isinstance(error, Exception) else None
        return self.error is not None


def _connect(ray: Any, address: str, folder: str, workers: int | None) -> None:
    """Join the cluster at an address; without one, start one that keeps its files in a folder."""
    options: dict[str, Any] = {"address": address, "runtime_env": {"env_vars": dict.fromkeys(ONE_THREAD, "1")}}
    do = "use the same Python and ray there as here, and set its token here (RAY_AUTH_TOKEN)"
    if not address:
        options |= {
            "address": "local", "num_cpus": workers or os.cpu_count() or 1, "include_dashboard": False,
            "log_to_driver": False, "configure_logging": False, "object_store_memory": _LEAST_MEMORY,
            "_temp_dir": folder, "_node_ip_address": LOOPBACK,
        }  # fmt: skip
        do = "check that the machine is not overloaded, or leave out --on"
    elif not address.startswith(REMOTE):  # Ray's client would hand these to the server, which need not know them
        options |= {"log_to_driver": False, "logging_level": logging.CRITICAL}
    failure = _Failure()
    for _ in range(_STARTS if not address or address.startswith(REMOTE) else 1):
        with failure:
            ray.init(**options)
        if failure.error is None:
            break
        ray.shutdown()
    else:
        raise SettingError(f"--on {address or RAY}", got=_said(failure.error), do=do) from failure.error
    listens = LOOPBACK if address else _host_and_port(ray.get_runtime_context().gcs_address)[0]
    if listens != LOOPBACK:
        do = "import ray later, or set RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 before it is"
        raise TownsquareError("--on ray", got=f"a cluster that listens on {listens}", allowed=LOOPBACK, do=do)


def _said(error: BaseException | None) -> str:
    """Summarize an error of Ray: the missing module, the text below a heading, or the first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
    missing = [line for line in lines if "No module named" in line]
    return (missing or (lines[-1:] if lines[0].endswith(":") or "ray::" in lines[0] else lines))[0][:300]


def _check_versions(ray: Any) -> None:
    """Ask every machine of the cluster what it has; those without processors get no work and are not asked."""
    affinity = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    ask = ray.remote(num_cpus=0, max_retries=1)(made_by)
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    asked = [ask.options(scheduling_strategy=affinity(node["NodeID"], soft=False)).remote() for node in nodes]
    for node, reference in zip(nodes, asked, strict=True):
        where = f"machine {node['NodeManagerAddress']} of the cluster"
        try:
            theirs = ray.get(reference, timeout=_PROBE)
        except ray.exceptions.RayError as error:
            raise WrongVersion(where, got=_said(error), do="install the same version on all machines") from error
        check_made_by(theirs, where)


def _variables(address: str) -> dict[str, str]:
    """Return what Ray reads from the environment for a cluster of ours: the loopback address alone, and a token."""
    ours: dict[str, str] = {}
    if not address or _host_and_port(address)[0] == LOOPBACK:
        ours |= _ON_LOOPBACK
    if not address and "RAY_AUTH_MODE" not in os.environ:
        ours |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": _token()}
    return ours


@cache
def _token() -> str:
    """Make the token of this process; Ray reads it once."""
    return secrets.token_hex(32)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep our signal handlers where Ray sets its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
