"""Servers that a stranger's run names get no password, and none before the run is opened; viewers under load."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import townsquare as ts
from postgres_server import ask as ask_server
from postgres_server import new_address
from running_viewer import ask, data, record
from townsquare.cli import main
from townsquare.core.errors import RecordError
from townsquare.pages.view import serving as at_work
from townsquare.pages.view.library import Library
from townsquare.pages.view.live import MOST, PAUSE, EventStreams
from townsquare.pages.view.serving import Viewer, listen, serving
from townsquare.record.postgresql.address import Address, write_address
from townsquare.record.run import Run

SECRET = "correct horse battery staple"
ASKS = {
    "plain text": b"R" + (8).to_bytes(4) + (3).to_bytes(4),
    "MD5": b"R" + (12).to_bytes(4) + (5).to_bytes(4) + b"salt",
    "SCRAM": b"R" + (23).to_bytes(4) + (10).to_bytes(4) + b"SCRAM-SHA-256\0\0",
}
"""How a server asks for a proof of who the user is, as PostgreSQL's protocol has it."""


class StrangeServer:
    """Takes connections, asks each for one kind of proof, and keeps what came."""

    def __init__(self, ask: bytes) -> None:
        self.ask = ask
        self.connections = 0
        self.answers: list[bytes] = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            with connection:
                connection.settimeout(5)
                head = connection.recv(4096)
                while head[4:8] in {(80877103).to_bytes(4), (80877104).to_bytes(4)}:  # asks for TLS, or for GSS
                    connection.sendall(b"N")
                    head = connection.recv(4096)
                connection.sendall(self.ask)
                self.answers.append(connection.recv(4096))


@contextmanager
def strange_server(ask: bytes) -> Iterator[StrangeServer]:
    made = StrangeServer(ask)
    with made.socket:
        yield made


def strange_run(folder: Path, server: StrangeServer) -> Path:
    folder.mkdir(parents=True)
    write_address(folder, Address(f"postgresql://me@127.0.0.1:{server.socket.getsockname()[1]}/db", "strange"))
    return folder


def test_row_15_listing_runs_connects_to_no_server(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    record(tmp_path / "runs" / "own", agents=40, steps=2)
    with strange_server(ASKS["MD5"]) as server, serving(tmp_path / "runs") as url:
        strange_run(tmp_path / "runs" / "strange", server)
        for _ in range(2):
            own, strange = data(url, "/api/runs")["runs"]
            assert (own["state"], strange["state"], strange["error"]) == ("finished", "unopened", None)
            assert strange["server"].endswith("/db?schema=strange")
            assert ask(url, "/api/runs", **{"as": "csv"})[0] == 200
        assert server.connections == 0
        status, body, _ = ask(url, "/api/run", run="strange")
        assert status == 404
        assert b"PGREQUIREAUTH" in body
        assert server.connections > 0
        before = server.connections
        data(url, "/api/runs")
        assert server.connections == before, "what could not be opened is not tried again"


@pytest.mark.parametrize("kind", list(ASKS))
def test_row_15_a_server_of_a_stranger_learns_no_password(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv("PGPASSWORD", SECRET)
    with strange_server(ASKS[kind]) as server:
        folder = strange_run(tmp_path / "strange", server)
        with pytest.raises(RecordError) as caught:
            Run.open(folder)
        assert SECRET not in str(caught.value)
        assert server.connections > 0
        for answer in server.answers:
            assert SECRET.encode() not in answer
            assert bool(answer) == (kind == "SCRAM"), "only the first message of SCRAM, which holds no proof yet"


def test_row_15_own_servers_work_by_scram_and_by_trust_and_by_md5_if_one_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = new_address("by_trust")
    folder = str(tmp_path / "trust")
    words = ["run", "synthetic:40", "--agents", "30", "--steps", "2", "--quiet"]
    assert main([*words, "--out", folder, "--record", trusted.url, "--record-schema", trusted.schema]) == 0
    ((file,),) = ask_server("SHOW hba_file")
    rules = Path(str(file)).read_text()
    users = {"by_scram": "scram-sha-256", "by_md5": "md5"}
    try:
        Path(str(file)).write_text("".join(f"host all {u} 127.0.0.1/32 {how}\n" for u, how in users.items()) + rules)
        ask_server("SELECT pg_reload_conf()")
        for user, how in users.items():
            ask_server(f"SET password_encryption TO '{how}'; CREATE ROLE {user} LOGIN PASSWORD '{SECRET}'")
            ask_server(f"GRANT CREATE ON DATABASE postgres TO {user}")
        monkeypatch.setenv("PGPASSWORD", SECRET)
        for user, forced, status in (("by_scram", "", 0), ("by_md5", "", 2), ("by_md5", "md5", 0)):
            url = trusted.url.replace("://townsquare@", f"://{user}@")
            folder = str(tmp_path / f"{user}{forced}")
            with monkeypatch.context() as environment:
                if forced:
                    environment.setenv("PGREQUIREAUTH", forced)
                assert main([*words, "--out", folder, "--record", url, "--record-schema", user]) == status
    finally:
        Path(str(file)).write_text(rules)
        ask_server("SELECT pg_reload_conf()")


# --- load --------------------------------------------------------------------------------------------------


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Path]:
    """A folder with a run that goes on."""
    begun, enough = threading.Event(), threading.Event()

    def on_step(mark: object) -> None:
        begun.set()
        if enough.wait(0.2):
            raise InterruptedError

    def work() -> None:
        with suppress(InterruptedError):
            ts.simulate(settings, tmp_path / "run", on_step=on_step)

    settings = ts.resolve_for("health-rumor@1", agents=40, steps=400, seed=1)
    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    yield tmp_path
    enough.set()
    thread.join()


def asking(url: str, head: str) -> socket.socket:
    parts = urlsplit(url)
    made = socket.create_connection((parts.hostname, parts.port))
    made.settimeout(10)
    made.sendall(head.encode())
    return made


def stream(url: str) -> socket.socket:
    return asking(url, "GET /api/events?run=run HTTP/1.1\r\nHost: localhost\r\n\r\n")


def test_row_20_streams_beyond_a_number_are_refused(running: Path) -> None:
    with serving(running) as url, ExitStack() as undo:
        streams = [undo.enter_context(stream(url)) for _ in range(MOST)]
        assert {one.recv(12) for one in streams} == {b"HTTP/1.1 200"}
        with stream(url) as refused:
            head = refused.recv(4096)
            assert head.startswith(b"HTTP/1.1 503")
            assert b"retry-after: " in head.lower()
        assert data(url, "/api/runs")["runs"]
        streams[0].close()
        for _ in range(100):
            with stream(url) as again:
                if again.recv(12) == b"HTTP/1.1 200":
                    break
            time.sleep(0.05)
        else:
            pytest.fail("a stream that was closed leaves no room")


class CountingLibrary(Library):
    """Counts how often a run is looked at."""

    looks = 0

    def run(self, name: str) -> Run:
        self.looks += 1
        return super().run(name)


def test_row_20_streams_of_a_run_share_their_looks(running: Path) -> None:
    library = CountingLibrary(running)
    received: list[bytes] = []

    async def send(message: dict[str, object]) -> None:
        if message["type"] == "http.response.body":
            received.append(bytes(message["body"]))  # type: ignore[call-overload]

    class App:
        state = object()

    async def follow() -> None:
        streams = EventStreams(library)
        scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"run=run", "headers": [], "app": App()}
        async with anyio.create_task_group() as group:
            for _ in range(40):
                group.start_soon(streams, scope, anyio.sleep_forever, send)
            await anyio.sleep(5 * PAUSE)
            group.cancel_scope.cancel()

    anyio.run(follow)
    assert len(received) >= 80
    assert 2 <= library.looks <= 7


def test_row_20_half_open_requests_are_ended(running: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_work, "HEAD_SECONDS", 0.6)
    with serving(running) as url, ExitStack() as undo:
        follows = undo.enter_context(stream(url))
        silent = undo.enter_context(asking(url, ""))
        half = undo.enter_context(asking(url, "GET / HTTP/1.1\r\nHost: local"))
        again = undo.enter_context(asking(url, "GET /api/runs HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        assert again.recv(12) == b"HTTP/1.1 200"
        slow = undo.enter_context(asking(url, "GET / HTTP/1.1\r\n"))
        began = time.monotonic()
        again.sendall(b"GET / HTTP/1.1\r\nX: ")
        with suppress(OSError):
            for _ in range(100):  # a byte now and then extends nothing
                slow.sendall(b"X")
                time.sleep(0.1)
        assert time.monotonic() - began < 5
        for one in (silent, half, again):
            while one.recv(4096):
                pass
        follows.setblocking(False)
        assert follows.recv(65536).startswith(b"HTTP/1.1 200")
        time.sleep(0.7)
        assert follows.recv(65536), "an answer that goes on is not ended"


def test_the_end_breaks_a_request_off_without_a_trace(caplog: pytest.LogCaptureFixture) -> None:
    asked, end = threading.Event(), threading.Event()

    def slow(_: Request) -> PlainTextResponse:
        asked.set()
        end.wait(60)
        return PlainTextResponse("late")

    pages = Starlette(routes=[Route("/", slow)])
    made = Viewer(uvicorn.Config(pages, log_level="warning", timeout_graceful_shutdown=1))
    logging.getLogger("uvicorn").addHandler(caplog.handler)
    listening = listen(0)
    thread = threading.Thread(target=made.run, kwargs={"sockets": [listening]})
    thread.start()
    with socket.create_connection(listening.getsockname()) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert asked.wait(10)
        made.should_exit = True
        thread.join(20)
    end.set()
    assert (thread.is_alive(), made.broke_off, caplog.text) == (False, True, "")
