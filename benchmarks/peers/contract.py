"""What every measured form takes and gives. Needs NumPy only, since each peer has an environment of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

TOLERANCE = 0.4  # bounded confidence: largest distance of stances that still counts
STUBBORNNESS = 0.1  # averaging: weight of the start; NDlib's default
FOLLOWED = 10  # accounts that each agent follows, before the graph of the two opinion models is made symmetric
FEED_FOLLOWED, FEED_OTHERS = 15, 10  # rows of a feed on the platform


class Problem(NamedTuple):
    """One model at one size.

    ``indptr`` (n + 1,) int64 and ``followed`` (m,) int32 are whom each agent reads, ascending; ``stance`` (n,) float64
    in [-1, 1] is where it starts.
    """

    indptr: npt.NDArray[np.int64]
    followed: npt.NDArray[np.int32]
    stance: npt.NDArray[np.float64]

    @property
    def agents(self) -> int:
        return int(self.stance.shape[0])

    def reader(self) -> npt.NDArray[np.int32]:
        """Who reads, for each entry of ``followed``."""
        return np.repeat(np.arange(self.agents, dtype=np.int32), np.diff(self.indptr))

    def save(self, path: Path) -> None:
        """Write to a file that :func:`load` reads."""
        np.savez(path, indptr=self.indptr, followed=self.followed, stance=self.stance)


def load(path: Path) -> Problem:
    """Read what :meth:`Problem.save` wrote."""
    with np.load(path) as found:
        return Problem(found["indptr"], found["followed"], found["stance"])


def ring(agents: int = 60, each_side: int = 3) -> Problem:
    """A small circle in which everybody reads the nearest: warms up a form, and compares two in tests."""
    reach = np.r_[-each_side:0, 1 : each_side + 1]
    followed = np.sort((np.arange(agents)[:, None] + reach) % agents, axis=1).astype(np.int32)
    indptr = np.arange(0, followed.size + 1, reach.size, dtype=np.int64)
    return Problem(indptr, followed.ravel(), np.random.default_rng(7).uniform(-1, 1, agents))


class Running:
    """One form of one model at one size, set up. A form overrides what it needs."""

    def prepare(self, step: int) -> None:
        """Make the inputs of a step, which are no part of what is measured."""

    def step(self) -> None:
        """Take one step: this is what is measured."""
        raise NotImplementedError

    def timed(self, steps: int, seconds: float) -> Iterator[float]:
        """Seconds of each step, until there are ``steps`` or they took ``seconds`` together; one at least."""
        spent = 0.0
        for number in range(steps):
            self.prepare(number)
            began = time.perf_counter()
            self.step()
            took = time.perf_counter() - began
            yield took
            spent += took
            if spent > seconds:
                return

    def stances(self) -> npt.NDArray[np.float64] | None:
        """(n,) after the last step; None where the model has none."""
        return None

    def facts(self) -> dict[str, Any]:
        """What else to report, such as rows counted in the record."""
        return {}

    def close(self) -> None:
        """Let go of files."""
