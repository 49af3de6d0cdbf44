"""Make Markdown of docstrings for the API pages, an extension of Griffe: roles become links, examples become code."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|func|meth|attr|data|mod|exc):`~?([\w.]+)`")
EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


def link(role: re.Match[str]) -> str:
    """A link where a page has the name, else the name alone."""
    name = role[1]
    shown = name.removeprefix("townsquare.") if name.count(".") == 1 else name.rpartition(".")[2]
    return f'<autoref optional identifier="{name}"><code>{shown}</code></autoref>'


class Markdown(griffe.Extension):
    """Rewrites each docstring as it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            text = ROLE.sub(link, obj.docstring.value)
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
