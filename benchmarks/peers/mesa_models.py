"""Mesa: agents that listen, then move all at once. Each holds a list of whom it reads, which is faster than a grid."""

from __future__ import annotations

import mesa
import numpy as np
import numpy.typing as npt
from contract import STUBBORNNESS, TOLERANCE, Problem, Running

PACKAGES = ["mesa", "numpy"]


class Person(mesa.Agent):
    """Averages all whom it reads."""

    def __init__(self, model: mesa.Model, stance: float) -> None:
        super().__init__(model)
        self.stance = self.start = self.next = stance
        self.reads: list[Person] = []

    def listen(self) -> None:
        """Form the next stance from those of others as they are."""
        if self.reads:
            total = sum([other.stance for other in self.reads])
            self.next = STUBBORNNESS * self.start + (1 - STUBBORNNESS) * (total / len(self.reads))

    def move(self) -> None:
        """Hold it."""
        self.stance = self.next


class Wary(Person):
    """Averages those near it."""

    def listen(self) -> None:
        own = self.stance
        near = [said for other in self.reads if abs((said := other.stance) - own) <= TOLERANCE]
        if near:
            self.next = sum(near) / len(near)


class Public(mesa.Model):
    """Everybody at once."""

    def __init__(self, problem: Problem, kind: type[Person]) -> None:
        super().__init__(seed=1)
        people = [kind(self, stance) for stance in problem.stance.tolist()]
        bounds, followed = problem.indptr.tolist(), problem.followed.tolist()
        for i, person in enumerate(people):
            person.reads = [people[other] for other in followed[bounds[i] : bounds[i + 1]]]
        self.people = people

    def step(self) -> None:
        self.agents.do("listen")
        self.agents.do("move")


class Both(Running):
    """Either model."""

    def __init__(self, problem: Problem, kind: type[Person]) -> None:
        self.public = Public(problem, kind)

    def step(self) -> None:
        self.public.step()

    def stances(self) -> npt.NDArray[np.float64]:
        return np.array([person.stance for person in self.public.people])


FORMS = {
    "averaging": lambda problem: Both(problem, Person),
    "bounded_confidence": lambda problem: Both(problem, Wary),
}
