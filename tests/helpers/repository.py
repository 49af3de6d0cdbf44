"""Where things stand in the repository, and the files shared beside it."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import Any

HELPERS = Path(__file__).resolve().parent
TESTS = HELPERS.parent
ROOT = TESTS.parent
SHARED = Path(os.environ.get("TOWNSQUARE_SHARED", ROOT.parent / "shared"))
"""Data sets that are not part of the repository; tests that need them are skipped where they are missing."""


def environment_with_helpers(**more: str) -> dict[str, str]:
    """The environment of a child process that imports modules of this folder."""
    path = os.pathsep.join(filter(None, [str(HELPERS), os.environ.get("PYTHONPATH", "")]))
    return os.environ | {"PYTHONPATH": path} | more


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive of the repository; the first releases of Python 3.11 know no filters."""
    how: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as packed:
        packed.extractall(folder, **how)
