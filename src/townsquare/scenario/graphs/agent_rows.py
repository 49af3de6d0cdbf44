"""Find rows of agents by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from townsquare.core.errors import DataError
from townsquare.core.registry import did_you_mean
from townsquare.scenario.graphs.contract import Edges

SOURCE = "source"
"""The kind of an account whose follows are not read: ``injection.audience`` decides who follows sources."""


class AgentRows:
    """Rows of ``n`` agents by name or by row number.

    Where agents have no ``names`` and the first word asked for is no number, all are words, and each is given a row at
    its first appearance.
    """

    def __init__(self, n: int, names: Sequence[str]) -> None:
        self.n = n
        self.row_of = {name: row for row, name in enumerate(names)}
        self.learns: bool | None = False if names else None

    def of(self, word: str) -> int:
        """Return the row, or -1 if none exists."""
        if self.learns is None:
            self.learns = not is_row_number(word)
        row = self.row_of.get(word, -1)
        if row >= 0:
            return row
        if self.learns:
            row = len(self.row_of)
            if not word or row == self.n:
                return -1
            self.row_of[word] = row
            return row
        number = int(word) if word.isdecimal() and len(word) < 11 else -1
        return number if number < self.n else -1

    @property
    def allowed(self) -> str:
        """What a word may be, for errors."""
        if self.learns:
            return f"at most {self.n} different names, as there are {self.n} agents"
        numbers = f"a row number from 0 to {self.n - 1}"
        return f"the name of an agent or {numbers}" if self.row_of else numbers

    def hint(self, word: str) -> str:
        """Return the nearest name, looked for among the first 10,000."""
        return "" if self.learns else did_you_mean(word, list(self.row_of)[:10_000])


def is_row_number(word: str) -> bool:
    """Return whether a word can only be a row number."""
    return word.strip().isdecimal()


def check_distinct(edges: Edges, n: int, where: Callable[[int], str], called: Callable[[int], str]) -> None:
    """Refuse a follow of oneself and a follow twice.

    ``place(i)`` is where the i-th follow stands; ``called(i)`` is how a message calls an earlier one.
    """
    own = np.flatnonzero(edges.follower == edges.followed)
    if own.size:
        raise DataError(where(int(own[0])), got="an agent that follows itself", allowed="follows of other agents")
    pair = edges.follower.astype(np.int64) * n + edges.followed
    order = np.argsort(pair, kind="stable")
    again = order[1:][pair[order][1:] == pair[order][:-1]]
    if again.size:
        at = int(again.min())
        before = int(np.flatnonzero(pair[:at] == pair[at])[0])
        got, do = f"the follow of {called(before)} again", "remove one of the two"
        raise DataError(where(at), got=got, allowed="each follow once", do=do)
