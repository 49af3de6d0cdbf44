"""Townsquare's rules `averaging` and `bounded_confidence`, called as a run calls them: by block, with the trail.

Every agent is shown what each of those it reads holds, once a step; the trail has a row for each and is then let go.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
import numpy.typing as npt
from contract import STUBBORNNESS, TOLERANCE, Problem, Running

from townsquare.beliefs import arrays
from townsquare.beliefs.contract import BeliefInputs, Exposed, no_own, per_agent
from townsquare.beliefs.trail import assemble
from townsquare.core import registry
from townsquare.core.draws import Draws, Stage
from townsquare.core.pairs import spans
from townsquare.core.threads import threads_for

PACKAGES = ["townsquare", "numpy", "numba"]


class Rule(Running):
    """A rule over a graph that stays."""

    def __init__(self, problem: Problem, name: str, settings: dict[str, float]) -> None:
        self.rule = registry.get("beliefs", name)
        params = self.rule.params(**settings)
        self.blocks, self.params, self.states, self.number = [], [], [], 0
        for _, first, stop in spans(problem.agents):
            self.blocks.append((first, stop, shown(problem, first, stop)))
            self.params.append(per_agent(params, stop - first))
            stance = problem.stance[first:stop, None]
            self.states.append(self.rule.init(stance, np.full(stance.shape, 0.5), self.params[-1]))

    def step(self) -> None:
        held = self.stances()
        self.number += 1
        draw = Draws(0, self.number)(Stage.BELIEF)
        after = []
        with threads_for(held.size):
            for (first, stop, exposed), params, state in zip(self.blocks, self.params, self.states, strict=True):
                said = exposed._replace(stance=held[exposed.author])
                inputs = BeliefInputs(first, said, no_own(stop - first, 1))
                after.append(self.rule.step(state, inputs, params, draw)[0])
        self.states = after

    def facts(self) -> dict[str, Any]:
        """Seconds of a step that go into the rows of the trail, taken once more by themselves."""
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            with threads_for(self.stances().size):
                for (first, stop, exposed), state in zip(self.blocks, self.states, strict=True):
                    nothing = arrays.unmoved(state, exposed.stance.size, 0)
                    assemble(BeliefInputs(first, exposed, no_own(stop - first, 1)), nothing)
            seconds.append(time.perf_counter() - began)
        return {"trail": statistics.median(seconds)}

    def stances(self) -> npt.NDArray[np.float64]:
        return np.concatenate([state.stance[:, 0] for state in self.states])


def shown(problem: Problem, first: int, stop: int) -> Exposed:
    """What a block reads; stances come with each step."""
    lo, hi = problem.indptr[[first, stop]]
    m = int(hi - lo)
    return Exposed(
        indptr=problem.indptr[first : stop + 1] - lo,
        proposition=np.zeros(m, np.int16),
        post=problem.followed[lo:hi],
        rank=np.zeros(m, np.int16),
        author=problem.followed[lo:hi],
        credibility=np.full(m, np.nan),
        stance=np.zeros(m),
        likes=np.zeros(m, np.int32),
        first_seen=np.zeros(m, np.bool_),
        weight=np.ones(m),
    )


def averaging(problem: Problem) -> Any:
    """All weight on others but for the share that the start keeps."""
    return Rule(problem, "averaging", {"weight_on_others": 1.0, "stubbornness": STUBBORNNESS})


def bounded_confidence(problem: Problem) -> Any:
    """The whole gap to the mean is closed, as Hegselmann and Krause have it."""
    return Rule(problem, "bounded_confidence", {"tolerance": TOLERANCE, "convergence": 1.0})


FORMS = {"averaging": averaging, "bounded_confidence": bounded_confidence}
