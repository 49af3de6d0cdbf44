"""Who may ask the viewer, for what, and what a page of it may do in the browser.

The viewer shows texts of strangers on the machine of its user. It answers only requests that name this machine as
their host, so that a page of another site cannot reach it under a separate name that leads here (DNS rebinding);
only requests that read; and no page of another site. The policy of its own page forbids everything that does not come
from the viewer itself: no inline script or style, no frame, no request elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
METHODS = frozenset({"GET", "HEAD"})
_LINES = (Path(__file__).parent / "headers.txt").read_text(encoding="utf-8").splitlines()
HEADERS = dict(line.split(": ", 1) for line in _LINES)
"""Headers of every answer, as ``headers.txt`` lists them."""


def host_of(header: str) -> str:
    """Return the name in a ``Host`` header, without its port; empty for one that is malformed.

    >>> host_of("localhost:8150"), host_of("[::1]:8150"), host_of("a@localhost"), host_of("")
    ('localhost', '::1', '', '')
    """
    if not header or "@" in header or "/" in header:
        return ""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


class OnlyFromHere:
    """ASGI middleware that refuses foreign hosts, foreign pages and writing, and adds the headers of the policy."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)  # the page of a refusal has a policy of its own
                # Files of the page have fixed names: a browser asks each time whether they are still the same.
                headers.setdefault("Cache-Control", "no-cache")
            await send(message)

        refused = _refusal(Headers(scope=scope), scope["method"])
        answer = self._app if refused is None else refused
        await answer(scope, receive, send_guarded)


def _refusal(headers: Headers, method: str) -> PlainTextResponse | None:
    if host_of(headers.get("host", "")) not in HOSTS:
        return PlainTextResponse("This viewer answers only under the name of this machine: localhost.", 421)
    if method not in METHODS:
        return PlainTextResponse("This viewer only shows; it changes nothing.", 405, {"Allow": "GET, HEAD"})
    asks = headers.get("sec-fetch-site", "none")
    # A link from elsewhere may open the viewer; a page of another site may not read from it.
    if asks in {"cross-site", "same-site"} and headers.get("sec-fetch-mode", "") != "navigate":
        return PlainTextResponse("Pages of other sites may not read from this viewer.", 403)
    return None
