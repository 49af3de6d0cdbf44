"""mesa-frames: agents as a frame of Polars, who reads whom as another.

Agents stand in the order of their numbers, so stances are gathered by row, which is several times faster than a join.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
from contract import STUBBORNNESS, TOLERANCE, Problem, Running
from mesa_frames import AgentSetPolars, ModelDF

PACKAGES = ["mesa-frames", "polars", "numpy"]


class People(AgentSetPolars):
    """Averages all whom it reads."""

    def __init__(self, model: ModelDF, problem: Problem) -> None:
        super().__init__(model)
        numbers = np.arange(problem.agents)
        self += pl.DataFrame({"unique_id": numbers, "stance": problem.stance, "start": problem.stance})
        self.reads = pl.DataFrame({"reader": problem.reader(), "followed": problem.followed})

    def step(self) -> None:
        said = self.reads.select("reader", said=self.agents["stance"].gather(self.reads["followed"]))
        self.adopt(said.lazy(), STUBBORNNESS * pl.col("start") + (1 - STUBBORNNESS) * pl.col("said"))

    def adopt(self, said: pl.LazyFrame, following: pl.Expr) -> None:
        """Hold what ``following`` makes of the mean of what was said; who heard nothing keeps its stance."""
        means = said.group_by("reader").agg(pl.col("said").mean()).with_columns(pl.col("reader").cast(pl.Int64))
        self.agents = (
            self.agents.lazy()
            .join(means, left_on="unique_id", right_on="reader", how="left", maintain_order="left")
            .with_columns(stance=pl.coalesce(following, "stance"))
            .drop("said")
            .collect()
        )


class Wary(People):
    """Averages those near it."""

    def step(self) -> None:
        stance = self.agents["stance"]
        said = self.reads.select(
            "reader", said=stance.gather(self.reads["followed"]), own=stance.gather(self.reads["reader"])
        )
        self.adopt(said.lazy().filter((pl.col("said") - pl.col("own")).abs() <= TOLERANCE), pl.col("said"))


class Both(Running):
    """Either model."""

    def __init__(self, problem: Problem, kind: type[People]) -> None:
        self.model = ModelDF(seed=1)
        self.people = kind(self.model, problem)
        self.model.agents += self.people
        self.people = self.model.get_agents_of_type(kind)

    def step(self) -> None:
        self.model.step()

    def stances(self) -> npt.NDArray[np.float64]:
        return self.people.agents["stance"].to_numpy()


FORMS = {
    "averaging": lambda problem: Both(problem, People),
    "bounded_confidence": lambda problem: Both(problem, Wary),
}
