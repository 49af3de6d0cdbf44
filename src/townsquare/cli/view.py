"""``townsquare view``: the viewer in the browser."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from cyclopts import Parameter

Place = Annotated[Path, Parameter(help="A run, a comparison, or a folder of them.")]
Port = Annotated[int | None, Parameter(help="Port on this machine; 0 for any that is free.")]
Browser = Annotated[bool, Parameter(name="--browser", negative="--no-browser", help="Open the page in the browser.")]


def view(folder: Place = Path("runs"), /, *, port: Port = None, browser: Browser = True) -> int:
    """Show runs in the browser, live while they go on. Only this machine can see the page; nothing is changed."""
    from townsquare.record.places import record_file
    from townsquare.view.serving import address, listen, server

    made = server(folder)
    place = listen(port)
    where = address(place)
    if record_file(folder).is_file():
        where += f"#/run/{quote(folder.resolve().name, safe='')}/overview"
    print(f"{where}  (Ctrl-C ends it)", flush=True)
    if browser and _has_screen():
        threading.Timer(0.3, webbrowser.open, [where]).start()
    try:
        made.run(sockets=[place])
    except KeyboardInterrupt:
        pass
    finally:
        place.close()
    return 0


def _has_screen() -> bool:
    """Without one, a text browser would take over the terminal."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
