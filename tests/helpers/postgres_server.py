"""A real PostgreSQL server for tests: started on loopback when a test first needs one, in a temporary folder."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest

from townsquare.record.postgresql.address import Address

MISSING = (
    "needs a PostgreSQL server and its driver: `apt-get install postgresql` and `pip install 'townsquare[postgresql]'`"
)
_USER = "townsquare"
_NUMBERS = count()


def programs() -> Path | None:
    """The folder of ``initdb`` and ``postgres``; None if this machine has none, or no user but root to run them."""
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)]
    if found := shutil.which("initdb"):
        folders.append(Path(found).resolve().parent)
    here = [folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()]
    may_run = os.geteuid() != 0 or (shutil.which("setpriv") and _unprivileged() is not None)
    return here[0] if here and may_run else None


def is_here() -> bool:
    """Whether tests can have a server."""
    return programs() is not None and find_spec("psycopg") is not None


def new_address(schema: str = "") -> Address:
    """A schema that no other test uses; skips the test where there can be no server."""
    if not is_here():
        pytest.skip(MISSING)
    return Address.parse(server(), schema or f"run_{os.getpid()}_{next(_NUMBERS)}")


@cache
def server() -> str:
    """Address of the database; the server runs until this process ends, however it does."""
    binaries = programs()
    assert binaries is not None
    folder = Path(tempfile.mkdtemp(prefix="townsquare-postgres-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if os.geteuid() == 0:
        folder.chmod(0o700)
        shutil.chown(folder, _unprivileged())
    data = folder / "data"
    command = [binaries / "initdb", "-D", data, "-U", _USER, "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"]
    subprocess.run([*_as_user(), *command], check=True, stdout=subprocess.DEVNULL, cwd=folder.parent)
    port = _free_port()
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "fsync": "off",
        "log_min_messages": "log",
    }
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    with (folder.parent / f"{folder.name}.log").open("wb") as log:
        atexit.register(Path(log.name).unlink, missing_ok=True)
        process = subprocess.Popen(
            [*_as_user(), binaries / "postgres", "-D", data, "-p", str(port), *options],
            stdout=log, stderr=subprocess.STDOUT, cwd=folder.parent,
        )  # fmt: skip
    atexit.register(_stop, process)
    _wait_for(port, process, Path(log.name))
    return f"postgresql://{_USER}@127.0.0.1:{port}/postgres"


def ask(query: str) -> list[tuple[object, ...]]:
    """What the server answers to a statement, as its owner."""
    import psycopg

    with psycopg.connect(server(), autocommit=True) as connection:
        cursor = connection.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


def _as_user() -> list[str]:
    """What starts a program as somebody other than root, and ends it when this process is gone."""
    setpriv = shutil.which("setpriv")
    words = [setpriv, "--pdeathsig", "INT"] if setpriv else []
    if os.geteuid() == 0:
        words += [f"--reuid={_unprivileged()}", f"--regid={_unprivileged()}", "--clear-groups"]
    return words


@cache
def _unprivileged() -> str | None:
    """A user that may run the server, which refuses root."""
    for name in ("postgres", "nobody"):
        if _works(lambda name=name: subprocess.run(["id", "-u", name], check=True, capture_output=True)):
            return name
    return None


def _works(work: Callable[[], object]) -> bool:
    try:
        work()
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    for _ in range(600):
        if process.poll() is not None:
            break
        if _answers(port, psycopg):
            return
        time.sleep(0.05)
    raise RuntimeError(f"the server did not start:\n{log.read_text(errors='replace')[-2000:]}")


def _answers(port: int, psycopg: object) -> bool:
    try:
        psycopg.connect(f"postgresql://{_USER}@127.0.0.1:{port}/postgres", connect_timeout=5).close()  # type: ignore[attr-defined]
    except psycopg.OperationalError:  # type: ignore[attr-defined]
        return False
    return True


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(2)  # SIGINT: ends sessions, then itself
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _version(folder: Path) -> int:
    return int(folder.parent.name) if folder.parent.name.isdigit() else 0
