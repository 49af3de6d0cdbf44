"""Answers that take long, kept in a file beside a run that is over: no part of the record, and free to be deleted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from townsquare.view.answers import finite
from townsquare.view.library import Snapshot

_FORMAT = 1


def answered(of: Snapshot, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What ``make`` gives for a run as it stands, from memory, or from ``view-<name>.json``, or made now and kept.

    The file names the content that it was made from; one of other content, or one that is damaged, is made anew.
    """
    return of.once(name, lambda: _from_file(of, name, make))


def _from_file(of: Snapshot, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    folder = of.run.folder
    if folder is None or of.kept.state == "running":
        return make()
    path, key = folder / f"view-{name}.json", f"{_FORMAT}:{of.run.header.version}:{of.kept.content_hash}"
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(kept, dict) and kept.get("key") == key and isinstance(kept.get("answer"), dict):
            return dict(kept["answer"])
    except (OSError, ValueError):
        pass
    made: dict[str, Any] = finite(make())
    draft = path.with_suffix(f".{os.getpid()}.part")
    try:
        draft.write_text(json.dumps({"key": key, "answer": made}, allow_nan=False), encoding="utf-8")
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
    return made
