"""Pages as a reader, a parser and a browser see them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(Path.exists, map(Path, ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium"))), None)
"""Chromium without a window takes a tenth less processor time."""
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> {{ 7 * 7 }} $\\frac{a}$ \x00\x1b\u202e </style></svg>"


class Elements(HTMLParser):
    """Every start tag with its attributes, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def assert_self_contained(page: str) -> None:
    """No script, no handler, no inline style, nothing from elsewhere; one policy that would refuse them."""
    elements = Elements(page)
    policies = [a["content"] for tag, a in elements.tags if tag == "meta" and "http-equiv" in a]
    assert len(policies) == 1
    assert (policies[0] or "").startswith("default-src 'none'; style-src 'sha256-")
    for tag, attributes in elements.tags:
        assert tag not in {"script", "iframe", "object", "embed", "link", "img", "base", "form"}, tag
        for name, value in attributes.items():
            assert name not in {"style", "src", "srcset", "action"}, (tag, name)
            assert not name.startswith("on"), (tag, name)
            if "href" in name:
                assert (value or "").startswith("#") or value == "protocol.html", (tag, value)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Visit:
    """A page opened in a window, with everything it said, asked or fetched."""

    def __init__(self, browser: Any, path: Path, width: int = 1280, scheme: str = "light") -> None:
        self.heard: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.on("console", lambda message: self.heard.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.heard.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.heard.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.heard.append(f"request: {request.url}"))
        self.page.goto(path.as_uri())
        self.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        self.heard.remove(f"request: {path.as_uri()}")

    def run(self, script: str) -> Any:
        return self.page.evaluate(script)
