"""Wording of pages, one file of plain text for a page; `make snapshots` writes the files anew."""

from __future__ import annotations

import os
from pathlib import Path

from browser_pages import Elements

RENEW = "RENEW_SNAPSHOTS"


def assert_worded(page: Path, snapshot: Path) -> None:
    """Check that a page has the words of its snapshot, line by line; what holds no letter is left to other tests."""
    body = page.read_text(encoding="utf-8").partition("</style>")[2]
    lines = [" ".join(words.split()) for words in Elements(body).words if any(map(str.isalpha, words))]
    if RENEW in os.environ:
        snapshot.parent.mkdir(exist_ok=True)
        snapshot.write_text("\n".join([*lines, ""]), encoding="utf-8")
    assert lines == snapshot.read_text(encoding="utf-8").splitlines(), "if these words are wanted: make snapshots"
