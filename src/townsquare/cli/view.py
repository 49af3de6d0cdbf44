"""``townsquare view``: the viewer in the browser."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from contextlib import ExitStack, suppress
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated
from urllib.parse import quote

from cyclopts import Parameter

from townsquare.cli import options


def view(
    folder: Path = Path("runs"),
    /,
    *,
    port: options.Whole | None = None,
    browser: Annotated[bool, Parameter(negative="--no-browser")] = True,
    token: Annotated[bool, Parameter(negative="--no-token")] = True,
) -> int:
    """Show runs in the browser, live while they run. Only the printed address gives access.

    Parameters
    ----------
    folder
        A run, a comparison, or a folder of runs.
    port
        Local port; 0 for any free port; default: 8150, or any free port if it is taken.
    browser
        Open the browser.
    token
        Require the token of the printed address.
    """
    from townsquare.pages.view.access import new_token
    from townsquare.pages.view.serving import address, listen, server
    from townsquare.record.places import record_file

    secret = new_token() if token else ""
    made = server(folder, secret)
    socket = listen(port)
    where = address(socket, secret)
    if record_file(folder).is_file():
        where += f"#/run/{quote(folder.resolve().name, safe='')}/overview"
    print(f"{where}  (press Ctrl-C to stop)", flush=True)
    with socket, ExitStack() as undo:
        if browser and _has_screen():
            folder_of_page = undo.enter_context(TemporaryDirectory(prefix="townsquare-view-")) if secret else ""
            page = _page_that_leads_to(where, Path(folder_of_page)).as_uri() if secret else where
            threading.Timer(0.3, webbrowser.open, [page]).start()
        with suppress(KeyboardInterrupt):
            made.run(sockets=[socket])
    if made.broke_off:
        sys.stdout.flush()
        os._exit(0)  # threads that still compute an answer cannot be ended, and would abort the interpreter's own end
    return 0


def _page_that_leads_to(address: str, folder: Path) -> Path:
    """Write a private page that opens an address: other users of a machine can see the arguments of programs."""
    page = folder / "open.html"
    title = '<!doctype html><meta charset="utf-8"><title>Townsquare</title>'
    leads = f'<meta http-equiv="refresh" content="0; url={escape(address)}">'
    page.write_text(f"{title}{leads}", encoding="utf-8")
    return page


def _has_screen() -> bool:
    """Without one, a text browser would take over the terminal."""
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return sys.platform in ("darwin", "win32") or bool(display)
