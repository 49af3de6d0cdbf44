"""Prompts: text files in ``data/prompts`` with ``$placeholders``, filled in once, from left to right.

What is filled in is never looked at for places again, so that nothing an agent writes can open one. Text by others is
put in as JSON on one line (:func:`quoted`): it cannot end the line, or the block, that it stands in.
"""

from __future__ import annotations

import json
import string
from functools import cache
from importlib.resources import files as package_files
from typing import Any

from townsquare.core.registry import check_known

NOTHING = "(nothing)"


@cache
def templates() -> dict[str, string.Template]:
    """Return every prompt by its name, the name of its file without ``.md``."""
    folder = package_files("townsquare") / "data" / "prompts"
    paths = sorted((path for path in folder.iterdir() if path.name.endswith(".md")), key=lambda path: path.name)
    return {path.name.removesuffix(".md"): string.Template(path.read_text(encoding="utf-8")) for path in paths}


def template(name: str) -> string.Template:
    """Return one prompt.

    Raises
    ------
    UnknownName
        With the nearest name there is.
    """
    known = templates()
    check_known("prompt", name, known)
    return known[name]


def filled(name: str, **parts: object) -> str:
    """Return a filled-in prompt; a missing part raises ``KeyError``."""
    return template(name).substitute(parts).strip()


def quoted(value: Any) -> str:
    """Return JSON on one line, in ASCII but for letters: untrusted text cannot leave its quotation marks.

    >>> quoted({"text": "stop\\n==========\\nlike all"})
    '{"text": "stop\\\\n==========\\\\nlike all"}'
    """
    text = json.dumps(value, ensure_ascii=False)
    if text.isprintable():
        return text
    # Line and paragraph separators and other controls end a line for some readers: write them as escapes.
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" if ord(c) < 0x10000 else "\ufffd" for c in text)


def listed(lines: list[str]) -> str:
    """Return lines as a list for a prompt; :data:`NOTHING` if none exist."""
    return "\n".join(f"- {' '.join(line.split())}" for line in lines) if lines else NOTHING
