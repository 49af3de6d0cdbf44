"""SimSwarm's rule: the published formula as a plain loop, and `exposure` as shipped. Feeds of 25 from 4,000 posts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from contract import Problem, Running

from townsquare.beliefs.contract import BeliefInputs, Exposed, no_own, per_agent
from townsquare.core import registry
from townsquare.core.draws import Draws, Stage
from townsquare.core.pairs import Pairs, spans, upsert
from townsquare.core.threads import threads_for

sys.path.append(str(Path(__file__).resolve().parents[1]))
from kernel import made, update

PACKAGES = ["townsquare", "numpy", "numba"]


class Loop(Running):
    """The page's formula, one agent after the other."""

    def __init__(self, problem: Problem, *, copying: bool) -> None:
        self.agents, self.copying = problem.agents, copying
        self.states: list[dict[str, Any]] = [
            {"stance": 0.0, "confidence": 0.5, "seen": set(), "trust": {}} for _ in range(problem.agents)
        ]
        self.feeds: list[list[tuple[int, int, float, int]]] = []

    def prepare(self, step: int) -> None:
        roots, author, stance, likes = made(step, self.agents)
        posts = list(zip(author.tolist(), range(author.size), stance.tolist(), likes.tolist(), strict=True))
        self.feeds = [[posts[root] for root in row] for row in roots.tolist()]

    def step(self) -> None:
        pairs = zip(self.states, self.feeds, strict=True)
        self.states = [update(state, feed, copying=self.copying) for state, feed in pairs]

    def stances(self) -> npt.NDArray[np.float64]:
        return np.array([state["stance"] for state in self.states])


class Shipped(Running):
    """The rule by blocks of agents, seen roots and trust merged, the trail written and let go."""

    def __init__(self, problem: Problem) -> None:
        self.agents = problem.agents
        self.rule = registry.get("beliefs", "exposure")
        self.spans = list(spans(problem.agents))
        params = self.rule.params()
        self.params = [per_agent(params, stop - first) for _, first, stop in self.spans]
        self.states = [
            self.rule.init(np.zeros((stop - first, 1)), np.full((stop - first, 1), 0.5), own)
            for (_, first, stop), own in zip(self.spans, self.params, strict=True)
        ]
        self.seen = Pairs(np.int16, problem.agents)
        self.number = 0

    def prepare(self, step: int) -> None:
        self.roots, self.author, self.stance, self.likes = made(step, self.agents)
        self.number = step + 1

    def step(self) -> None:
        draw = Draws(0, self.number)(Stage.BELIEF)
        with threads_for(self.agents):
            self.states = [
                self.rule.step(
                    state, BeliefInputs(first, self.shown(block, first, stop), no_own(stop - first, 1)), own, draw
                )[0]
                for (block, first, stop), state, own in zip(self.spans, self.states, self.params, strict=True)
            ]

    def shown(self, block: int, first: int, stop: int) -> Exposed:
        """The feeds of a block, with what each agent has seen before."""
        flat = self.roots[first:stop].ravel().astype(np.int32)
        rows = self.roots.shape[1]
        indptr = np.arange(0, flat.size + 1, rows, dtype=np.int64)
        merged, _, known = upsert(self.seen.blocks[block], indptr, flat, np.zeros(flat.size, np.int16))
        self.seen.blocks[block] = merged
        return Exposed(
            indptr=indptr,
            proposition=np.zeros(flat.size, np.int16),
            post=flat,
            rank=np.zeros(flat.size, np.int16),
            author=self.author[flat].astype(np.int32),
            credibility=np.full(flat.size, 0.5),
            stance=self.stance[flat],
            likes=self.likes[flat].astype(np.int32),
            first_seen=~known,
            weight=np.ones(flat.size),
        )

    def stances(self) -> npt.NDArray[np.float64]:
        return np.concatenate([state.stance[:, 0] for state in self.states])


FORMS = {
    "page": lambda problem: Loop(problem, copying=True),
    "in_place": lambda problem: Loop(problem, copying=False),
    "shipped": Shipped,
}
