"""Files named by settings, such as ``population.file``; their contents are part of a run's identity.

A setting that is the path of a file says so in its field: ``setting(..., file="scenario")`` if a relative path
is looked for in the folder of the scenario before the working directory, ``"here"`` if in the latter alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

from pydantic import BaseModel

from townsquare.core import files
from townsquare.core.errors import WrongVersion
from townsquare.settings.base import marked

KINDS = ("scenario", "here")


def file_contents(sections: Iterable[BaseModel], folder: Path | None) -> dict[str, str]:
    """Return path of each file that settings name, as it is written there -> SHA-256 of the file, in hexadecimal.

    Parameters
    ----------
    sections : iterable of models
        Checked settings.
    folder : Path, optional
        Of the scenario.

    Raises
    ------
    DataError
        A file is not there or cannot be read.
    """
    return {path: _digest(file) for path, file in named_files(sections, folder).items()}


def named_files(sections: Iterable[BaseModel], folder: Path | None, kinds: Sequence[str] = KINDS) -> dict[str, Path]:
    """Return path of each file that settings name, as it is written there -> the file; see :func:`file_contents`."""
    return {
        path: files.find(path, folder if marks["file"] == "scenario" else None)
        for model in sections
        for _, path, marks in marked(model)
        if marks.get("file") in kinds and path
    }


@cache
def prompts_digest() -> str:
    """Return the SHA-256 of all prompts, in hexadecimal: part of the identity of runs that ask a language model."""
    folder = files.bundled_folder() / "prompts"
    texts = {path.name.removesuffix(".md"): path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    return hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()


def check_contents(resolved: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse files that are no longer what settings were resolved with; other files are no matter.

    Raises
    ------
    WrongVersion
        Naming the file.
    """
    for path, digest in now.items():
        if resolved.get(path, digest) != digest:
            do = "restore the old file, or record into a new folder"
            raise WrongVersion(f"file {path!r}", got="a file that changed after the settings were resolved", do=do)


def _digest(path: Path) -> str:
    stat = path.stat()
    return _digest_once(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=16)
def _digest_once(path: Path, changed: int, size: int) -> str:
    """Arms and seeds of a comparison share their files: read each once, and again if it was changed."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise files.unreadable(path, error) from None
