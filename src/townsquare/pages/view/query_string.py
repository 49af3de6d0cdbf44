"""What a request asks for: words and whole numbers of its query string, checked."""

from __future__ import annotations

import re
from collections.abc import Collection

from starlette.datastructures import QueryParams

from townsquare.core.errors import SettingError
from townsquare.pages.view.library import Snapshot

_WHOLE = re.compile(r"-?\d{1,9}")


class Asked:
    """The query string of a request; every value is text from outside."""

    def __init__(self, values: QueryParams) -> None:
        self._values = values

    def word(self, name: str, default: str = "") -> str:
        """Return a word as given."""
        return self._values.get(name, default)

    def every(self, name: str) -> list[str]:
        """Return all words that are given under a name."""
        return self._values.getlist(name)

    def one_of(self, name: str, allowed: Collection[str]) -> str:
        """Return one of some words; the first where none is given. Raises ``SettingError`` for another."""
        word = self._values.get(name, next(iter(allowed)))
        if word not in allowed:
            raise SettingError(name, got=repr(word), allowed=", ".join(allowed))
        return word

    def whole(self, name: str, default: int | None = None) -> int:
        """Return a whole number of at most nine digits. Raises ``SettingError`` for anything else."""
        text = self._values.get(name, "")
        if not text and default is not None:
            return default
        if not _WHOLE.fullmatch(text):
            raise SettingError(name, got=repr(text[:40]), allowed="a whole number")
        return int(text)

    def step(self, of: Snapshot) -> int:
        """Return a recorded step; the last one where none is given."""
        step = self.whole("step", of.last_step)
        if not 0 <= step <= of.last_step:
            raise SettingError("step", got=str(step), allowed=f"0 to {of.last_step}")
        return step
