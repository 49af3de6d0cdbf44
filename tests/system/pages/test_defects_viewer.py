"""On a shared machine the viewer answers only whoever has the address that it printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import townsquare as ts
from running_viewer import OF_THE_DRIVER, Visit, ask, place, record
from townsquare.pages.view.access import new_token
from townsquare.pages.view.serving import serving

PATHS = ("/", "/viewer.js", "/api/runs", "/api/run?run=first", "/api/events?run=first", "/csv/course?run=first", "/no")
NOT_SIGNED_IN = "not signed in"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("runs") / "first", agents=60, steps=4).parent


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with serving(folder, new_token()) as where:
        yield where


def parts_of(url: str) -> tuple[str, str]:
    """The address without its token, and the token."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}", parts.query.removeprefix("token=")


@contextmanager
def viewing(folder: Path, *words: str, env: dict[str, str] | None = None) -> Iterator[str]:
    """The address that ``townsquare view`` prints, while it answers."""
    command = [sys.executable, "-m", "townsquare", "view", str(folder), "--port", "0", *words]
    log = folder.parent / "view.log"
    with (
        log.open("w") as err,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, env=env, text=True) as made,
    ):
        assert made.stdout is not None
        where = made.stdout.readline().split()[0]
        try:
            for _ in range(200):
                if _answers(where):
                    break
                time.sleep(0.05)
            yield where
        finally:
            made.terminate()
            rest = made.stdout.read()
    token = parts_of(where)[1]
    assert not token or token not in rest + log.read_text()


def _answers(where: str) -> bool:
    try:
        return ask(parts_of(where)[0], "/")[0] > 0
    except OSError:
        return False


def test_row_06_view_answers_only_with_the_token_that_it_prints(folder: Path) -> None:
    seen = set()
    for _ in range(2):
        with viewing(folder, "--no-browser") as where:
            bare, token = parts_of(where)
            assert len(token) >= 43
            seen.add(token)
            for path in PATHS:
                assert ask(bare, path)[0] == 401, path
            assert ask(bare, "/api/runs", token=token)[0] == 200
    assert len(seen) == 2
    with viewing(folder, "--no-browser", "--no-token") as where:
        assert "token" not in where
        assert ask(where, "/api/runs")[0] == 200


def test_row_06_the_token_stands_in_the_query_in_a_header_or_in_the_cookie_of_the_port(url: str) -> None:
    bare, token = parts_of(url)
    port = urlsplit(bare).port
    wrong = new_token()
    for headers, status in (
        ({"Authorization": f"Bearer {token}"}, 200),
        ({"Authorization": f"bearer {wrong}"}, 401),
        ({"Authorization": f"Basic {token}"}, 401),
        ({"Authorization": "Bearer \u00e9"}, 401),
        ({"Cookie": f"townsquare-{port}={token}"}, 200),
        ({"Cookie": f"townsquare-{port}={wrong}"}, 401),
        ({"Cookie": f"townsquare-{port}="}, 401),
        ({"Cookie": "townsquare-1=" + token}, 401),
    ):
        assert ask(bare, "/api/runs", headers)[0] == status, headers
    for given in (wrong, "", token[:-1], token + "x", "\ud800", "%00"):
        status, _, headers = ask(bare, "/?token=" + given.encode(errors="replace").decode())
        assert status == 401, given
        assert "set-cookie" not in headers
    assert ask(bare, "/api/runs", {"Cookie": f"townsquare-{port}={token}"}, token=wrong)[0] == 401
    assert ask(bare, "/api/runs", {"Host": "evil.example"}, token=token)[0] == 421


def test_row_06_the_first_page_exchanges_the_token_for_a_cookie(url: str) -> None:
    bare, token = parts_of(url)
    parts = urlsplit(bare)
    connection = HTTPConnection(parts.netloc)
    connection.request("GET", f"/?a=1&token={token}")
    answer = connection.getresponse()
    assert (answer.status, answer.headers["location"], answer.headers["cache-control"]) == (303, "/?a=1", "no-store")
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith(f"townsquare-{parts.port}=")
    assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/"))
    assert "domain" not in cookie
    connection.close()
    status, _, headers = ask(bare, "//evil.example/", token=token)
    assert status == 404  # only the first page leads on
    assert "set-cookie" not in headers


def test_row_06_a_refusal_says_what_to_do_and_carries_a_policy(url: str) -> None:
    bare, _ = parts_of(url)
    status, body, headers = ask(bare, "/")
    assert status == 401
    assert "townsquare view" in body.decode()
    assert b"<script" not in body
    assert headers["www-authenticate"].startswith("Bearer")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    _, body, _ = ask(bare, "/api/runs")
    assert "townsquare view" in body.decode()


@pytest.mark.browser
def test_row_06_a_browser_stays_signed_in(browser: Any, url: str) -> None:
    bare, token = parts_of(url)
    mine = browser.new_context()
    page, deep = mine.new_page(), mine.new_page()
    wrong: list[str] = []
    for one in (page, deep):
        one.on("console", lambda message: wrong.append(message.text))
        one.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(f"{bare}/?token={token}{place('first', 'agent/7')}?step=2")
    page.wait_for_selector("[data-testid=waterfall]")
    assert token not in page.url
    assert page.url.endswith("agent/7?step=2")
    assert token not in page.evaluate("document.cookie + document.documentElement.outerHTML")
    page.reload()
    page.wait_for_selector("[data-testid=waterfall]")
    with page.expect_download() as download:
        page.locator("a.csv").first.click()
    assert Path(download.value.path()).stat().st_size > 20
    deep.goto(f"{bare}/{place('first', 'posts')}")
    deep.wait_for_selector("text=Find in text")
    assert [line for line in wrong if OF_THE_DRIVER not in line] == []
    mine.close()


@pytest.mark.browser
def test_row_06_another_browser_is_refused(browser: Any, url: str) -> None:
    bare, _ = parts_of(url)
    for where in ("/", "/" + place("first", "overview"), f"/?token={new_token()}"):
        other = browser.new_context()
        page = other.new_page()
        answer = page.goto(bare + where)
        assert answer.status == 401
        assert NOT_SIGNED_IN in page.inner_text("h1")
        assert other.cookies() == []
        page.get_by_role("link", name="Go to the runs").click()
        assert NOT_SIGNED_IN in page.inner_text("h1")
        other.close()


@pytest.mark.browser
def test_row_06_a_run_is_followed_with_the_cookie(browser: Any, tmp_path: Path) -> None:
    begun, enough = threading.Event(), threading.Event()

    def on_step(mark: Any) -> None:
        begun.set()
        if mark.step >= 2:
            enough.wait(0.3)

    settings = ts.resolve_for("health-rumor@1", agents=40, steps=30, seed=1)
    running = threading.Thread(target=ts.simulate, args=(settings, tmp_path / "run"), kwargs={"on_step": on_step})
    running.start()
    begun.wait()
    with serving(tmp_path, new_token()) as where:
        url, mark, token = where.partition("?")
        visit = Visit(browser, url, mark + token + place("run", "overview"))
        enough.set()
        visit.wait("document.querySelector('[data-testid=facts]').innerText.includes('finished')")
        assert visit.heard == []
        visit.close()
    running.join()


@contextmanager
def other_site(folder: Path) -> Iterator[str]:
    """Another site of this machine: ``localhost`` is not the site of ``127.0.0.1``."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.browser
def test_row_06_a_link_from_another_site_opens_the_viewer_for_its_user_alone(
    browser: Any,
    url: str,
    tmp_path: Path,
) -> None:
    bare, _ = parts_of(url)
    deep = f"{bare}/{place('first', 'posts')}"
    (tmp_path / "page.html").write_text(f'<a id="deep" href="{deep}">x</a><a id="token" href="{url}">x</a>')
    with other_site(tmp_path) as site:
        for signed_in in (True, False):
            context = browser.new_context()
            page = context.new_page()
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))  # noqa: B023
            page.goto(f"{site}/page.html")
            if signed_in:
                page.click("#token")
                page.wait_for_selector("[data-testid=runs]")
                assert "token" not in page.url
                page.goto(f"{site}/page.html")
            asked.clear()
            page.click("#deep")
            page.wait_for_selector("main" if signed_in else "h1")
            if signed_in:
                page.wait_for_selector("text=Find in text")
                assert page.url.endswith(place("first", "posts"))
            else:
                page.wait_for_timeout(1000)
                assert NOT_SIGNED_IN in page.inner_text("h1")
                assert len([one for one in asked if urlsplit(one).path == "/"]) <= 2  # once more, and no loop
            status = page.goto(f"{site}/page.html") and page.evaluate(
                "(to) => fetch(to, { credentials: 'include' }).then((got) => got.status, () => 'refused')",
                f"{bare}/api/runs",
            )
            assert status == "refused"
            context.close()


@pytest.mark.browser
def test_row_06_the_browser_is_opened_without_the_token_in_its_arguments(
    browser: Any,
    folder: Path,
    tmp_path: Path,
) -> None:
    program = tmp_path / "browser.sh"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words.part && mv {tmp_path}/words.part {tmp_path}/words\n')
    program.chmod(0o700)
    env = {**os.environ, "DISPLAY": ":99", "BROWSER": f"{program} %s"}
    with viewing(folder / "first", env=env) as where:
        token = re.search(r"token=([\w-]+)", where)
        assert token is not None
        while not (tmp_path / "words").exists():
            time.sleep(0.05)
        opened = (tmp_path / "words").read_text().strip()
        assert opened.startswith("file://")
        assert token[1] not in opened
        page_file = Path(urlsplit(opened).path)
        assert page_file.parent.stat().st_mode & 0o077 == 0
        context = browser.new_context()
        page = context.new_page()
        page.goto(opened)
        page.wait_for_selector("[data-testid=facts]")
        assert token[1] not in page.url
        assert page.url.endswith(place("first", "overview"))
        context.close()
