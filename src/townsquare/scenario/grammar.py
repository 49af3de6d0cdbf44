"""A small grammar by which agents word the same argument in many ways, and by which the argument is found again.

A worded argument is an optional hedge, the argument as it stands in the bank, and an optional tail: a source or an
anecdote. Hedges and tails are in ``data/grammar.yaml``; they take no side. The argument is the claim of such a post,
however it was worded.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from townsquare.core.documents import read_yaml
from townsquare.core.files import bundled_folder


@dataclass(frozen=True, slots=True)
class Grammar:
    """Hedges that may stand before an argument, and tails that may stand after it.

    >>> grammar = Grammar(("My view:",), ("Read it.",))
    >>> grammar.worded("Rain helps.", 0, 0, 40), grammar.worded("Rain helps.", 0, 0, 22), grammar.worded("A", -1, 0, 9)
    ('My view: Rain helps. Read it.', 'My view: Rain helps.', 'A')
    >>> grammar.argument("My view: Rain helps. Read it.", {"Rain helps."}), grammar.argument("My view: A", {"B"})
    ('Rain helps.', None)
    """

    hedges: tuple[str, ...]
    tails: tuple[str, ...]

    def worded(self, argument: str, hedge: int, tail: int, most: int) -> str:
        """Return an argument with a hedge and a tail by number, -1 for none, in at most ``most`` characters.

        What does not fit is left out, the tail first.
        """
        before = f"{self.hedges[hedge]} " if hedge >= 0 else ""
        after = f" {self.tails[tail]}" if tail >= 0 else ""
        for text in (before + argument + after, before + argument):
            if len(text) <= most:
                return text
        return argument

    def argument(self, text: str, arguments: Collection[str]) -> str | None:
        """Return which of ``arguments`` a text words; None if none."""
        if text in arguments:
            return text
        for hedge in ("", *(f"{hedge} " for hedge in self.hedges if text.startswith(f"{hedge} "))):
            rest = text[len(hedge) :]
            for tail in ("", *(f" {tail}" for tail in self.tails if rest.endswith(f" {tail}"))):
                core = rest[: len(rest) - len(tail)]
                if core in arguments:
                    return core
        return None


@lru_cache(maxsize=1)
def bundled_grammar() -> Grammar:
    """Return the grammar of ``data/grammar.yaml``."""
    read: Any = read_yaml(bundled_folder() / "grammar.yaml")
    return Grammar(tuple(read["hedges"]), tuple(tail for tails in read["tails"].values() for tail in tails))
