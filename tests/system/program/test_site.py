"""The documentation is built without a network, asks nothing of another host, and is searched in the page."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import townsquare as ts
from browser_pages import Elements
from repository import ROOT
from running_viewer import Visit

BUILD = """
import socket, sys
def refuse(*_, **__): raise OSError("the build asked for the network")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from mkdocs.__main__ import cli
cli(["build", "--strict", "--quiet", "--site-dir", sys.argv[1]])
"""
FETCHED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
}
"""Attributes whose address a browser fetches by itself; also ``href`` of ``link``, but not of ``a``."""
ELSEWHERE = re.compile(r"(?:https?:)?//(?!127\.0\.0\.1)")
ON_DEMAND = {
    "mermaid": 'class="mermaid"',
    "api.github.com": 'data-md-component="source"',
    "/api/v4/projects/": 'data-md-component="source"',
}
"""Parts of addresses in the script of the theme, and what a page has on which the script asks there."""
NOT_ASKED = ("resize-observer-polyfill", "bit.ly/2s3ChXG")
"""Fetched by browsers of before 2020 alone; the text of a warning."""
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages, built by a process that cannot open a connection."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    """The address of the pages on loopback."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def pages(site: Path, ending: str) -> dict[Path, str]:
    found = {path: path.read_text(encoding="utf-8") for path in site.rglob(f"*.{ending}")}
    assert found
    return found


def test_no_page_fetches_anything_from_another_host(site: Path) -> None:
    for path, page in pages(site, "html").items():
        for tag, attributes in Elements(page).tags:
            address = attributes.get("href" if tag == "link" else FETCHED.get(tag, ""))
            assert not ELSEWHERE.match(address or ""), (path, tag, address)
            assert not re.search(r"url\(|@import", attributes.get("style") or ""), (path, tag)
        for style in re.findall(r"<style[^>]*>(.*?)</style>", page, re.DOTALL):
            assert not ELSEWHERE.search(style), path
        for trigger in ON_DEMAND.values():
            assert trigger not in page, path


def test_no_style_and_no_script_fetches_anything_from_another_host(site: Path) -> None:
    for path, style in pages(site, "css").items():
        fetched = re.findall(r"""(?:url\(|@import)\s*["']?([^"')]+)""", style)
        assert not [address for address in fetched if ELSEWHERE.match(address)], path
    for path, script in pages(site, "js").items():
        if path.parent.name in {"lunr", "min"}:  # word stems of languages that the page has not
            continue
        for address in re.findall(r"https?://[^\s\"'`)]+", COMMENT.sub("", script)):
            assert any(part in address for part in (*ON_DEMAND, *NOT_ASKED)), (path, address)


def test_the_reference_has_every_public_name_and_every_contract_that_a_guide_imports(site: Path) -> None:
    reference = (site / "api.html").read_text(encoding="utf-8")
    assert [name for name in dir(ts) if f'id="townsquare.{name}"' not in reference] == []
    contracts = (site / "contracts.html").read_text(encoding="utf-8")
    missing = []
    for guide in (ROOT / "docs").glob("adding-*.md"):
        for module, names in re.findall(
            r"^from (townsquare\.\S+\.contract) import (.+)$", guide.read_text("utf-8"), re.M
        ):
            missing += [name for name in names.split(", ") if f'id="{module}.{name}"' not in contracts]
    assert missing == []


def test_docstrings_are_shown_as_pages_not_as_source(site: Path) -> None:
    for name in ("api.html", "contracts.html"):
        text = Elements((site / name).read_text(encoding="utf-8")).text
        assert not re.search(r":(class|func|meth|attr|mod|data):|-------", text), name


@pytest.mark.browser
@pytest.mark.parametrize(("page", "scheme"), [("index.html", "light"), ("api.html", "dark"), ("public.html", "light")])
def test_a_browser_asks_no_other_host(browser: Any, served: str, page: str, scheme: str) -> None:
    for width in (1280, 400):
        visit = Visit(browser, served, page, width=width, scheme=scheme)
        assert visit.heard == []
        assert visit.run("document.documentElement.scrollWidth") <= width
        assert (visit.run("getComputedStyle(document.body).colorScheme") == "dark") == (scheme == "dark")
        visit.close()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("takedown", "moderation.html"),
        ("credence", "belief-rules.html"),
        ("own survey", "own-survey.html"),
        ("slurm", "slurm.html"),
        ("counterfactual", "analysis-beliefs.html"),
    ],
)
def test_search_answers_with_the_right_page_first(browser: Any, served: str, words: str, first: str) -> None:
    visit = Visit(browser, served, "index.html")
    visit.page.click("[data-md-component=search-query]")
    visit.page.keyboard.type(words)
    visit.wait("document.querySelectorAll('.md-search-result__item > a').length > 0")
    visit.page.wait_for_timeout(300)
    found = visit.run("document.querySelector('.md-search-result__item > a').pathname")
    assert found == f"/{first}"
    assert visit.heard == []
    visit.close()
