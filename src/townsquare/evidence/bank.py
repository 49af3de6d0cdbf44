"""A bank of arguments on one proposition, from which judges learn what is said for and against it."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

FEWEST_A_SIDE = 3
"""Arguments a side below which a bank tells what a proposition is about, but not which side is which."""


class Bank(NamedTuple):
    """Arguments for and against one proposition.

    Attributes
    ----------
    texts : tuple of str
        The arguments.
    polarity : tuple of int
        +1 or -1 for each.
    """

    texts: tuple[str, ...] = ()
    polarity: tuple[int, ...] = ()

    @property
    def tells_sides(self) -> bool:
        """Whether it has at least three arguments on each side.

        >>> Bank(("It is cruel.", "It is kind."), (-1, 1)).tells_sides
        False
        """
        counted = Counter(self.polarity)
        return counted[1] >= FEWEST_A_SIDE and counted[-1] >= FEWEST_A_SIDE


NO_BANK = Bank()
