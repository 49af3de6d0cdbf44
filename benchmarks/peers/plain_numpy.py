"""The two opinion models in a few lines of NumPy: for who needs nothing else, and the oracle of the rest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from contract import STUBBORNNESS, TOLERANCE, Problem, Running

PACKAGES = ["numpy"]


class Averaging(Running):
    """Friedkin and Johnsen: S becomes g S₀ + (1 - g) times the mean of those read."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.stance = problem, problem.stance.copy()
        self.reader, self.read = problem.reader(), np.diff(problem.indptr)

    def means(
        self, said: npt.NDArray[np.float64], near: npt.NDArray[np.bool_] | None = None
    ) -> npt.NDArray[np.float64]:
        """Sum over what each reads, in order, over how many are near; its own where none does."""
        reader = self.reader if near is None else self.reader[near]
        said = said if near is None else said[near]
        n = np.bincount(reader, minlength=self.problem.agents)
        total = np.bincount(reader, weights=said, minlength=self.problem.agents)
        return np.where(n > 0, total / np.maximum(n, 1), self.stance)

    def step(self) -> None:
        others = self.means(self.stance[self.problem.followed])
        self.stance = STUBBORNNESS * self.problem.stance + (1 - STUBBORNNESS) * others

    def stances(self) -> npt.NDArray[np.float64]:
        return self.stance


class BoundedConfidence(Averaging):
    """Hegselmann and Krause on a graph: S becomes the mean of those read who stand within the tolerance."""

    def step(self) -> None:
        said = self.stance[self.problem.followed]
        near = np.abs(said - self.stance[self.reader]) <= TOLERANCE
        self.stance = self.means(said, near)


FORMS = {"averaging": Averaging, "bounded_confidence": BoundedConfidence}
