"""Who may read from the viewer: whoever has the token of the address that ``townsquare view`` prints.

Every user of a machine reaches its loopback ports, so that a port alone keeps nobody out. The first page exchanges the
token for a cookie and leads on to the address without it, so that links, live pages and downloads need no token. The
cookie is named for the port that the browser sees: browsers send a host's cookies to all of its ports.
"""

from __future__ import annotations

import secrets
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from string import Template
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from townsquare.pages.view.answers import json_answer

TOKEN = "token"
"""Name of the parameter of the printed address."""
_PAGE = "/"
_FRESH = {"Cache-Control": "no-store"}
_DO = "open the whole address that `townsquare view` printed; each start prints a new one"
# A browser leaves the cookie out where a page of another site, or a file, leads here. This page is the viewer's own.
_SCRIPT = 'location.replace("/?" + location.hash)'
_STYLE, _PAGE_TEXT = (Path(__file__).with_name(f"refused.{kind}").read_text("utf-8") for kind in ("css", "html"))


def new_token() -> str:
    """Return 256 random bits as text that is safe in an address."""
    return secrets.token_urlsafe(32)


def cookie_name(headers: Headers) -> str:
    """Return the name of the cookie of a viewer at the port of the ``Host`` header.

    >>> cookie_name(Headers({"host": "localhost:8150"})), cookie_name(Headers({"host": "localhost:x"}))
    ('townsquare-8150', 'townsquare-80')
    """
    try:
        port = urlsplit(f"//{headers.get('host', '')}").port
    except ValueError:
        port = None
    return f"townsquare-{80 if port is None else port}"


class OnlyWithToken:
    """ASGI middleware that answers 401 to a request without the token.

    The token may be in the query, in ``Authorization: Bearer``, or in the cookie. One in the query must be right,
    regardless of the cookie says.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        answer = self._app if scope["type"] != "http" else self._answer(Request(scope))
        await answer(scope, receive, send)

    def _answer(self, request: Request) -> ASGIApp:
        given = request.query_params.get(TOKEN)
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        if given is not None:
            if not self._is_right(given):
                return _refused(request)
            return self._signed_in(request) if request.scope["path"] == _PAGE else self._app
        cookie = request.cookies.get(cookie_name(request.headers), "")
        is_known = (kind.lower() == "bearer" and self._is_right(bearer.strip())) or self._is_right(cookie)
        return self._app if is_known else _refused(request)

    def _is_right(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(errors="replace"), self._token.encode())

    def _signed_in(self, request: Request) -> Response:
        """Redirect to the same page without the token; the browser keeps the part of the address behind ``#``."""
        rest = urlencode([pair for pair in request.query_params.multi_items() if pair[0] != TOKEN])
        answer = RedirectResponse(f"{_PAGE}?{rest}" if rest else _PAGE, 303, _FRESH)
        answer.set_cookie(cookie_name(request.headers), self._token, httponly=True, samesite="strict")
        return answer


def _refused(request: Request) -> Response:
    headers = {"WWW-Authenticate": 'Bearer realm="townsquare"'}
    if request.scope["path"].startswith("/api/"):
        error = {"where": "the viewer", "got": "a request without its token", "allowed": "", "do": _DO}
        answer = json_answer({"error": error}, 401)
        answer.headers.update(headers)
        return answer
    came_by_link = request.headers.get("sec-fetch-site") in {"cross-site", "same-site"}
    again = came_by_link and request.scope["path"] == _PAGE and TOKEN not in request.query_params
    script = f"<script>{_SCRIPT}</script>" if again else ""
    page = Template(_PAGE_TEXT).substitute(style=_STYLE, script=script)
    allowed = f"script-src {_digest(_SCRIPT)}; style-src {_digest(_STYLE)}"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return HTMLResponse(page, 401, {**headers, **_FRESH, "Content-Security-Policy": policy})


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
