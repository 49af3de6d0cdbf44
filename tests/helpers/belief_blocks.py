"""Blocks of belief inputs from plain rows, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from townsquare.beliefs.contract import BeliefInputs, BeliefRule, BeliefState, Exposed, Own, Trail, per_agent
from townsquare.core.draws import Stage, StageDraws

Row = dict[str, Any]


def shown(*agents: Sequence[Row]) -> Exposed:
    """One sequence of rows an agent; what a row leaves out has a default."""
    default = {
        "proposition": 0, "post": 0, "rank": 0, "author": 0, "credibility": np.nan,
        "stance": 0.0, "likes": 0, "first_seen": True, "weight": 1.0,
    }  # fmt: skip
    dtypes = {
        "proposition": "i2", "post": "i4", "rank": "i2", "author": "i4", "credibility": "f8",
        "stance": "f8", "likes": "i4", "first_seen": "?", "weight": "f8",
    }  # fmt: skip
    rows = [{**default, "post": at, "rank": at, **row} for agent in agents for at, row in enumerate(agent)]
    columns = {name: np.array([row[name] for row in rows], dtype=dtype) for name, dtype in dtypes.items()}
    return Exposed(indptr=offsets(agents), **columns)


def wrote(n_propositions: int, *agents: Sequence[Row], likes: Any = 0, dislikes: Any = 0) -> Own:
    """One sequence of own posts (proposition, post, stance) an agent; likes and dislikes broadcast to (n, P)."""
    shape = (len(agents), n_propositions)
    rows = [{"proposition": 0, "post": 7, **row} for agent in agents for row in agent]
    return Own(
        likes=np.broadcast_to(np.int32(likes), shape).copy(),
        dislikes=np.broadcast_to(np.int32(dislikes), shape).copy(),
        indptr=offsets(agents),
        proposition=np.array([row["proposition"] for row in rows], dtype=np.int16),
        post=np.array([row["post"] for row in rows], dtype=np.int32),
        stance=np.array([row["stance"] for row in rows], dtype=np.float64),
    )


def offsets(agents: Sequence[Sequence[Row]]) -> np.ndarray:
    return np.cumsum([0, *(len(agent) for agent in agents)], dtype=np.int64)


def new(rule: BeliefRule, stance: Any, confidence: Any = 0.5, **settings: float) -> BeliefState:
    """New agents with (n, P) stances."""
    table = np.array(stance, dtype=np.float64, ndmin=2)
    sure = np.broadcast_to(np.float64(confidence), table.shape).copy()
    return rule.init(table, sure, per_agent(rule.params(**settings), table.shape[0]))


def step(
    rule: BeliefRule, state: BeliefState, exposures: Exposed, own: Own | None = None, **settings: float
) -> tuple[BeliefState, Trail]:
    """One step with the rule's defaults but for ``settings``."""
    n, n_propositions = state.stance.shape
    inputs = BeliefInputs(0, exposures, own or wrote(n_propositions, *([()] * n)))
    return rule.step(state, inputs, per_agent(rule.params(**settings), n), StageDraws(1, Stage.BELIEF, 1))


def total(trail: Trail, shape: tuple[int, int]) -> np.ndarray:
    """The trail's amounts by agent and proposition."""
    out = np.zeros(shape)
    np.add.at(out, (trail.agent, trail.proposition), trail.amount)
    return out


def trust(state: BeliefState, agent: int) -> dict[int, float]:
    """Trust of one agent by author."""
    block = state.pairs["trust"]
    span = slice(block.indptr[agent], block.indptr[agent + 1])
    return dict(zip(block.key[span].tolist(), block.value[span].tolist(), strict=True))
