"""What happens while a page is open, as server-sent events: new steps, new states."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from weakref import WeakValueDictionary

from anyio import Lock, current_time, sleep
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from townsquare.core.errors import TownsquareError
from townsquare.pages.view.library import Library

PAUSE = 0.4
"""Seconds between two looks at a run."""
MOST = 64
"""Streams that are open at a time. A page has one for each run that it shows."""
_BEAT = 25
"""Looks without news after which a comment is sent, so that a reader that has left is noticed."""
_AGAIN = 30
"""Seconds after which one that was refused may ask again."""


class EventStreams:
    """The streams of events of all open pages, as an ASGI application: ``?run=`` names the run.

    Streams of one run share their looks at it. Beyond :data:`MOST` streams a new one is refused with 503: the pages
    that are open go on, and the new page shows the run as it stood when it was opened.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._looks: WeakValueDictionary[str, _Looks] = WeakValueDictionary()
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, for as long as its run goes on."""
        if self._open >= MOST:
            refused = PlainTextResponse(f"{MOST} pages follow runs already.", 503, {"Retry-After": str(_AGAIN)})
            await refused(scope, receive, send)
            return
        request = Request(scope)
        ending = getattr(request.app.state, "ending", lambda: False)  # else nobody ends this server
        lines = self._events(request.query_params.get("run", ""), ending)
        answer = StreamingResponse(lines, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._open += 1
        try:
            await answer(scope, receive, send)
        finally:
            self._open -= 1

    async def _events(self, name: str, ending: Callable[[], bool]) -> AsyncIterator[str]:
        """Yield one event at once and one for each change: ``step``, ``steps``, ``state``; stop when the run stops.

        Also when ``ending`` says that the server is about to end: it would wait for open answers.
        """
        looks = self._looks.setdefault(name, _Looks(self._library, name))
        last: dict[str, Any] | None = None
        quiet = 0
        while not ending():
            now = await looks.now()
            if now != last:
                last, quiet = now, 0
                yield f"data: {json.dumps(now)}\n\n"
            else:
                quiet += 1
                if quiet % _BEAT == 0:
                    yield ": still here\n\n"
            if now["state"] != "running":
                yield f"event: end\ndata: {json.dumps(now)}\n\n"
                return
            await sleep(PAUSE)


class _Looks:
    """Looks at one run, each shared by all streams that ask within :data:`PAUSE`."""

    def __init__(self, library: Library, name: str) -> None:
        self._look = lambda: _look(library, name)
        self._lock = Lock()
        self._last: dict[str, Any] = {}
        self._next = float("-inf")

    async def now(self) -> dict[str, Any]:
        """Return the run as it stood at most :data:`PAUSE` ago."""
        async with self._lock:
            if current_time() >= self._next:
                self._last = await run_sync(self._look)
                self._next = current_time() + PAUSE
            return self._last


def _look(library: Library, name: str) -> dict[str, Any]:
    try:
        run = library.run(name)
        return {"step": run.last_step, "steps": run.settings.get("steps"), "state": run.state}
    except TownsquareError:
        return {"step": -1, "steps": None, "state": "unreadable"}
