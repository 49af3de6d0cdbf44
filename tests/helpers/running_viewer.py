"""A viewer at work: recorded runs to show, questions to its server, and pages of it in a browser."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen

import townsquare as ts

# What Chromium's software renderer says of itself; no page can cause or prevent it.
OF_THE_DRIVER = "GL Driver Message"
# Argument records that near-duplicates and labels put aside, and agents that remember.
RECORDS: dict[str, Any] = {
    "beliefs": {"rule": "social_log_odds", "label_weight": {"false": 0.0, "noted": 0.0}},
    "evidence": {"own_claims": True, "theta": 0.5, "theta_self": 0.4},
    "moderation": {"strategy": "hybrid", "takedown": False},
    "memory": {"enabled": True},
}
VIEWS = ("overview", "network", "agents", "agent/7?step=2", "posts", "post/1", "cascade", "notes")
# A small town with many notes, scored by the bridging scorer.
NOTES: dict[str, Any] = {
    "time": {"warm_up_hours": 0},
    "moderation": {"strategy": "community", "contributors": 0.9, "ratings_per_day": 24},
    "policy": {"notes": 1.0},
}


def record(folder: Path, agents: int = 200, steps: int = 4, scenario: str = "health-rumor@1", **more: Any) -> Path:
    """A recorded run of the bundled rumor."""
    ts.simulate(ts.resolve_for(scenario, agents=agents, steps=steps, seed=3, sets=more), folder)
    return folder


def record_notes(folder: Path) -> Path:
    """A recorded run with notes of every status; its last step is one with a fit from a new start."""
    return record(folder, agents=300, steps=72, scenario="health-rumor", **NOTES)


def ask(url: str, path: str, headers: dict[str, str] | None = None, **query: Any) -> tuple[int, bytes, Any]:
    """Status, body and headers of an answer."""
    words = f"?{urlencode(query)}" if query else ""
    try:
        with urlopen(Request(url.rstrip("/") + path + words, headers=headers or {})) as answer:
            return answer.status, answer.read(), answer.headers
    except HTTPError as error:
        return error.code, error.read(), error.headers


def data(url: str, path: str, **query: Any) -> Any:
    """The JSON of an answer that must be one."""
    status, body, _ = ask(url, path, **query)
    assert status == 200, body
    return json.loads(body)


def place(run: str, view: str) -> str:
    """The part of an address that restores a view."""
    return f"#/run/{quote(run, safe='')}/{view}"


class Visit:
    """A page opened in a window, with everything that it said, asked or fetched from elsewhere."""

    def __init__(self, browser: Any, url: str, where: str = "", width: int = 1280, scheme: str = "light") -> None:
        self.heard: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.heard.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.heard.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self._asked(url, request.url))
        self.page.goto(url + where)
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is being read any more."""
        self.wait("document.querySelector('main')?.innerText.length > 20")
        self.wait("!document.querySelector('.loading')")
        self.wait("[...document.querySelectorAll('.chart, .spread')].every((one) => one.dataset.ready)")

    def wait(self, script: str, seconds: float = 20.0) -> None:
        """Wait until something is so. The page's policy forbids what playwright's own waiting does, so ask it often."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(script):
            assert time.monotonic() < end, f"never so: {script}"
            self.page.wait_for_timeout(50)

    def open(self, where: str) -> None:
        """Go to another view of the same page."""
        self.page.evaluate("(to) => { location.hash = to }", where)
        self.page.wait_for_timeout(50)
        self.settle()

    def run(self, script: str) -> Any:
        return self.page.evaluate(script)

    def close(self) -> None:
        self.page.close()

    def _said(self, message: Any) -> None:
        if OF_THE_DRIVER not in message.text:
            self.heard.append(f"console: {message.text}")

    def _asked(self, url: str, wanted: str) -> None:
        if urlsplit(wanted).netloc != urlsplit(url).netloc and not wanted.startswith("data:"):
            self.heard.append(f"request: {wanted}")
