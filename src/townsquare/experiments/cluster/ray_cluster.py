"""A Ray cluster to work on: one that is started here, one that runs here, or one at an address.

A cluster that is started here listens on the loopback address alone, wants a token that only its own processes know,
reports nothing to anyone, shows no dashboard, and ends with what asked for it. Ray, the extra ``cluster``, is imported
when it is first asked for.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
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
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from townsquare.core.errors import SettingError, TownsquareError, WrongVersion
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
_STARTS = 3  # Ray gives its processes 30 seconds to start, which a machine that has to read them from disk may exceed
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
    """The words of ``--on``, if they name a place.

    Raises
    ------
    SettingError
        They are neither "", ``ray`` nor ``ray://HOST:PORT``.

    >>> checked_place("ray://db.example.org:10001")
    'ray://db.example.org:10001'
    """
    if on in (HERE, RAY):
        return on
    try:
        parts = urlsplit(on)
        known = parts.scheme == "ray" and parts.hostname and parts.port and not parts.path.strip("/")
        if known and parts.username is None and not parts.query and not parts.fragment:
            return on
    except ValueError:
        pass
    raise SettingError("--on", got=repr(on[:80]), allowed="ray, or ray://HOST:PORT")


def driver() -> Any:
    """The module ``ray``, made quiet before it is first imported.

    Raises
    ------
    SettingError
        It is not installed.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        ray = import_module("ray")
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise SettingError("--on", got="ray is not installed", do="pip install 'townsquare[cluster]'") from None
    for name in ("ray", "ray.client_builder"):  # the first is set anew when Ray connects
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return ray


@contextmanager
def connected(on: str, workers: int | None) -> Iterator[Any]:
    """The module ``ray``, connected to a cluster while the context lasts.

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
    _check_reachable(address)
    with in_environment(_variables(address)):
        ray = driver()
        if ray.is_initialized():  # the program that calls us is connected already, and stays so
            yield ray
            return
        folder = Path(tempfile.mkdtemp(prefix="ts-ray-"))
        try:
            with _own_signals():
                if address:
                    _join(ray, address)
                else:
                    _start(ray, folder, workers)
            if address:
                _check_versions(ray)
            yield ray
        finally:
            with _own_signals():
                ray.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


def made_by() -> dict[str, str]:
    """What must be the same on every machine, by name."""
    return {"townsquare": current_version(), "Python": f"{sys.version_info.major}.{sys.version_info.minor}"}


def check_made_by(theirs: Mapping[str, str], where: str) -> None:
    """Refuse a machine that would compute something else.

    Raises
    ------
    WrongVersion
        Saying what differs.
    """
    mine = made_by()
    for name, version in mine.items():
        if theirs.get(name) != version:
            got = f"{name} {theirs.get(name, 'of no version')}"
            raise WrongVersion(where, got=got, allowed=version, do="install the same there as here")


def nearest() -> str:
    """Address of the cluster that the environment names, or that runs here; "" if there is none."""
    named = os.environ.get("RAY_ADDRESS", "")
    return named if named not in ("", _ANY) else _running_here()


def _running_here() -> str:
    """Address of a cluster of ours, or of root, that runs on this machine and answers; "" if none does.

    It leaves its address in a file of Ray's temporary folder, into which anybody may write. What comes back from a
    cluster is unpickled, so that whoever runs it could have us run anything.
    """
    temporary = os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp"
    with suppress(OSError):
        with Path(temporary, "ray", "ray_current_cluster").open(encoding="utf-8") as file:
            is_ours = os.fstat(file.fileno()).st_uid in (os.getuid(), 0)
            address = file.read().strip()
        if is_ours and address and _answers(*_host_and_port(address)):
            return address
    return ""


def _host_and_port(address: str) -> tuple[str, int]:
    parts = urlsplit(address if "://" in address else f"//{address}")
    host = parts.hostname or ""
    with suppress(ValueError):
        return (LOOPBACK if host == "localhost" else host), parts.port or 0
    return host, 0


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=_REACH).close()
    except (OSError, ValueError):
        return False
    return True


def _check_reachable(address: str) -> None:
    if address and not _answers(*_host_and_port(address)):
        do = "see that the cluster runs; ray:// wants the port of its client server, 10001 unless it was told another"
        raise SettingError("--on", got=f"{address}, where nothing answers", do=do)


def _join(ray: Any, address: str) -> None:
    environment = {"env_vars": dict.fromkeys(ONE_THREAD, "1")}
    # Ray's client would hand these to the server, which need not know them.
    quiet = {} if address.startswith(REMOTE) else {"log_to_driver": False, "logging_level": logging.CRITICAL}
    do = "give it the Python and the ray of this machine, and this machine its token (RAY_AUTH_TOKEN)"
    # The client server gives the process that it starts for each connection 30 seconds: too few on a busy machine.
    for left in reversed(range(_STARTS if address.startswith(REMOTE) else 1)):
        attempt = _Explained(f"--on {address}", do, kept=left > 0)
        with attempt:
            ray.init(address=address, runtime_env=environment, **quiet)
        if not attempt.failed:
            return
        ray.shutdown()


class _Explained:
    """Around what connects: Ray raises errors of any type, bare ``Exception`` among them. ``kept`` ones are dropped."""

    def __init__(self, where: str, do: str, *, kept: bool = False) -> None:
        self._where, self._do, self._kept = where, do, kept
        self.failed = False

    def __enter__(self) -> None:
        self.failed = False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.failed = isinstance(error, Exception)
        if self.failed and not self._kept:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
            said = lines[-1] if lines[0].endswith(":") else lines[0]
            raise SettingError(self._where, got=said[:300], do=self._do) from error
        return self.failed


def _start(ray: Any, folder: Path, workers: int | None) -> None:
    for left in reversed(range(_STARTS)):
        attempt = _Explained("--on ray", "see that the machine is not overloaded, or leave out --on", kept=left > 0)
        with attempt:
            ray.init(
                address="local", num_cpus=workers or os.cpu_count() or 1, include_dashboard=False, log_to_driver=False,
                configure_logging=False, object_store_memory=_LEAST_MEMORY, _temp_dir=str(folder),
                _node_ip_address=LOOPBACK, runtime_env={"env_vars": dict.fromkeys(ONE_THREAD, "1")},
            )  # fmt: skip
        if not attempt.failed:
            break
        ray.shutdown()
    listens = _host_and_port(ray.get_runtime_context().gcs_address)[0]
    if listens != LOOPBACK:
        do = "import ray later, or set RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 before it is"
        raise TownsquareError("--on ray", got=f"a cluster that listens on {listens}", allowed=LOOPBACK, do=do)


def _variables(address: str) -> dict[str, str]:
    """What Ray reads when it is imported or started: the loopback address alone, and a token, for what is ours."""
    ours: dict[str, str] = {}
    if not address or _host_and_port(address)[0] == LOOPBACK:
        ours |= _ON_LOOPBACK
    if not address and "RAY_AUTH_MODE" not in os.environ:
        ours |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": _token()}
    return ours


@cache
def _token() -> str:
    """Ray reads the token once a process."""
    return secrets.token_hex(32)


def _check_versions(ray: Any) -> None:
    """Ask every machine of the cluster what it has; those without processors get no work and are not asked."""
    strategies = import_module("ray.util.scheduling_strategies")
    ask = ray.remote(num_cpus=0, max_retries=1)(made_by)
    asked = {
        node["NodeID"]: ask.options(
            scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote()
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU")
    }
    names = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes()}
    for node, reference in asked.items():
        where = f"machine {names[node]} of the cluster"
        try:
            theirs = ray.get(reference, timeout=_PROBE)
        except ray.exceptions.RayError as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            missing = next((line for line in lines if "No module named" in line), "")
            got = missing or (lines[-1] if lines else type(error).__name__)
            raise WrongVersion(where, got=got[:300], do="install the same townsquare there as here") from error
        check_made_by(theirs, where)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray sets handlers of signals of its own when it connects; ours stay."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
