"""Pages that are written by hand but for parts between markers, which scripts write anew."""

from __future__ import annotations

import re


def replaced(page: str, name: str, text: str, where: str) -> str:
    """The page with one part between its markers; ``where`` is what the page is called, for the error."""
    pattern = re.compile(rf"(<!-- table {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"{where} has no marker for {name}")
    return pattern.sub(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", page, count=1)
