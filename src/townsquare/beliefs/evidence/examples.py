"""Arguments with a known side, from which judges learn about one proposition."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

FEWEST_A_SIDE = 3
"""Arguments a side below which examples tell what a proposition is about, but not which side is which."""


class Examples(NamedTuple):
    """Arguments for and against one proposition, most often those of its bank.

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
        """Return whether there are at least three on each side.

        >>> Examples(("It is cruel.", "It is kind."), (-1, 1)).tells_sides
        False
        """
        counted = Counter(self.polarity)
        return counted[1] >= FEWEST_A_SIDE and counted[-1] >= FEWEST_A_SIDE


NO_EXAMPLES = Examples()
