"""What happens while a page is open, as server-sent events: new steps, new states."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from anyio import sleep
from anyio.to_thread import run_sync

from townsquare.errors import TownsquareError
from townsquare.view.library import Library

PAUSE = 0.4
"""Seconds between two looks at a run."""
_BEAT = 25
"""Looks without news after which a comment is sent, so that a reader that has left is noticed."""


def never() -> bool:
    """Of a server that nobody ends."""
    return False


async def events(library: Library, name: str, ending: Callable[[], bool] = never) -> AsyncIterator[str]:
    """One event at once and one for each change: ``step``, ``steps``, ``state``; ends when the run no longer runs.

    Also when ``ending`` says that the server is about to end: it would wait for open answers.
    """
    last: dict[str, Any] | None = None
    quiet = 0
    while not ending():
        now = await run_sync(_now, library, name)
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


def _now(library: Library, name: str) -> dict[str, Any]:
    try:
        run = library.run(name)
        return {"step": run.last_step, "steps": run.settings.get("steps"), "state": run.state}
    except TownsquareError:
        return {"step": -1, "steps": None, "state": "unreadable"}
