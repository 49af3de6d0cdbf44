"""Follow graphs as igraph has them, and random graphs to compare them with.

A number of a network says little alone: where a few accounts have most followers, many follows join equals by chance.
So each stands against a *null model*: graphs in which every account keeps its numbers of followers and of followed, and
nothing else. They are drawn by swapping the ends of pairs of follows (Maslov and Sneppen 2002, *Science* 296).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from townsquare.analysis.contract import Reads
from townsquare.analysis.extra import library
from townsquare.lazy_rows import collected
from townsquare.schema import AgentKind

Whole = npt.NDArray[np.int64]
MOST_NULL_FOLLOWS = 500_000
"""Above this many follows no null model is drawn: ``draws`` is 0 and what needs it is NaN."""
SWAPS_IN_ALL = 2_000_000
"""Draws are as many as come to about this many follows, between 10 and 100."""
MOST_STEPS = 6
"""Measures over time are taken at this many steps at most, evenly spread, first and last included."""


@dataclass(frozen=True, slots=True)
class FollowGraph:
    """Who followed whom after a step.

    Attributes
    ----------
    step : int
    agents : (n,) int64 array
        Accounts that had joined, in order; nodes are their places.
    person : (n,) bool array
        Whether each is a person.
    follower, followed : (m,) int64 arrays
        Ends of each follow, as places in ``agents``.
    """

    step: int
    agents: Whole
    person: npt.NDArray[np.bool_]
    follower: Whole
    followed: Whole

    def directed(self) -> Any:
        """As a directed graph of igraph."""
        edges = np.stack([self.follower, self.followed], axis=1)
        return library("igraph").Graph(n=self.agents.size, edges=edges, directed=True)

    def of_persons(self) -> FollowGraph:
        """Persons and the follows between them."""
        place = np.cumsum(self.person) - 1
        kept = self.person[self.follower] & self.person[self.followed]
        ends = (place[self.follower[kept]], place[self.followed[kept]])
        return FollowGraph(self.step, self.agents[self.person], self.person[self.person], *ends)


def follow_graph(run: Reads, step: int | None = None) -> FollowGraph:
    """The follow graph after ``step``, by default the last."""
    step = run.last_step if step is None else step
    accounts = run.table("agents").filter(pl.col("born") <= step).sort("agent")
    agents = accounts["agent"].to_numpy().astype(np.int64)
    pairs = (
        run.lazy("follows")
        .filter(pl.col("step") <= step)
        .group_by("follower", "followed")
        .agg(pl.col("change").cast(pl.Int64).sum())
        .filter(pl.col("change") > 0)
        .sort("follower", "followed")
        .pipe(collected)
    )
    ends = [np.searchsorted(agents, pairs[name].to_numpy()) for name in ("follower", "followed")]
    return FollowGraph(step, agents, (accounts["kind"] == AgentKind.PERSON).to_numpy(), *ends)


def measured_steps(run: Reads, most: int = MOST_STEPS) -> list[int]:
    """Steps at which networks are measured: all from 0 to the last, or ``most`` evenly spread ones.

    >>> class Long:
    ...     last_step = 10
    >>> measured_steps(Long(), 3)
    [0, 5, 10]
    """
    if run.last_step < 0:
        return []
    return sorted({int(step) for step in np.linspace(0, run.last_step, min(most, run.last_step + 1)).round()})


@contextmanager
def seeded(seed: int = 0) -> Iterator[None]:
    """Around calls of igraph that draw: they draw from a generator with this seed."""
    igraph = library("igraph")
    igraph.set_random_number_generator(random.Random(seed))
    try:
        yield
    finally:
        igraph.set_random_number_generator(random)


def null_draws(follows: int) -> int:
    """How many null graphs are drawn for a graph of so many follows.

    >>> null_draws(3_000), null_draws(40_000), null_draws(10**6), null_draws(0)
    (100, 50, 0, 0)
    """
    if not 1 < follows <= MOST_NULL_FOLLOWS:
        return 0
    return int(np.clip(SWAPS_IN_ALL // follows, 10, 100))


def rewired(graph: Any, draws: int, seed: int = 0) -> Iterator[Any]:
    """Random graphs with the degrees of ``graph``, one after the other; each is valid until the next is asked for.

    Ten swaps a follow are tried before the first, and one between one and the next.
    """
    changed = graph.copy()
    for at in range(draws):
        with seeded(seed * 1_000_003 + at):
            changed.rewire(n=(10 if at == 0 else 1) * max(1, changed.ecount()))
        yield changed


def against(value: float, null: list[float]) -> tuple[float, float, float, float, float]:
    """A value beside those of null graphs: mean, 2.5 % and 97.5 % of them, distance in their sd, two-sided p.

    p is the part of null graphs, the value itself counted among them, whose distance from their mean is as large.
    """
    drawn = np.array(null, np.float64)
    drawn = drawn[~np.isnan(drawn)]
    if drawn.size < 2 or np.isnan(value):
        return (float("nan"),) * 5
    center, spread = float(drawn.mean()), float(drawn.std(ddof=1))
    low, high = np.quantile(drawn, [0.025, 0.975])
    further = int((np.abs(drawn - center) >= abs(value - center) - 1e-12).sum())
    z = (value - center) / spread if spread > 0 else float("nan")
    return center, float(low), float(high), z, (1 + further) / (1 + drawn.size)
