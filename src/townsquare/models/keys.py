"""Keys of servers, from the environment or from ``.env`` in the working folder. They go into one header, nowhere else.

No message here repeats what a variable holds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from townsquare.errors import SettingError

FILE = ".env"
LARGEST = 64 * 1024
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*")
_PLAIN = re.compile(r"[\x21-\x7e]+")


def find_key(names: Sequence[str], folder: Path | str = ".") -> str | None:
    """The first of these variables that is set, in the environment or else in ``.env``; None if none is.

    Raises
    ------
    SettingError
        It holds more than the characters of a key.
    """
    written = _written(Path(folder) / FILE)
    for name in names:
        key = (os.environ.get(name) or written.get(name, "")).strip()
        if key:
            if not _PLAIN.fullmatch(key):
                raise SettingError(name, got="something with spaces or signs that no key has", do="set it anew")
            return key
    return None


def _written(path: Path) -> dict[str, str]:
    try:
        with path.open(encoding="utf-8") as file:
            lines = file.read(LARGEST).splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    found = {}
    for line in lines:
        match = _LINE.fullmatch(line)
        if match:
            found[match[1]] = _unquoted(match[2])
    return found


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value.partition(" #")[0].rstrip()
