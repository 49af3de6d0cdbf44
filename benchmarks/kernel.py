"""The rule `exposure` against the published formula as a plain loop, in one process; prints one line of JSON.

The loop is our own transcription of SimSwarm's page (seed ``simswarm-belief-formulation``): one agent at a time, state
in dicts and sets, deep-copied at every update as the page says. The second form is the same loop without the copy.
"""

from __future__ import annotations

import copy
import json
import time
from typing import Any

import numba as nb
import numpy as np

from townsquare.beliefs.contract import BeliefInputs, Exposed, no_own, per_agent
from townsquare.core import registry
from townsquare.core.draws import Draws, Stage
from townsquare.core.pairs import Pairs, upsert

AGENTS, ROWS, STEPS, POSTS, AUTHORS = 20_000, 25, 12, 4_000, 2_000


def update(state: dict[str, Any], posts: list[tuple[int, int, float, int]], *, copying: bool) -> dict[str, Any]:
    """One agent's update as the page has it; ``posts`` are (author, root, stance, likes)."""
    if copying:
        state = copy.deepcopy(state)
    stance, seen, trust = state["stance"], state["seen"], state["trust"]
    resistance = 0.3 + state["confidence"] * 0.7
    delta = 0.0
    for author, root, said, likes in posts:
        novelty = 0.5 if root in seen else 1.5
        seen.add(root)
        influence = trust.get(author, 0.5) * (0.3 + likes * 0.07) * novelty / resistance
        delta += (said - stance) * influence * 0.1
    moved = max(-1.0, min(1.0, stance + delta))
    for author, _, said, _ in posts:
        step = ((1.0 - abs(said - moved) / 2.0) - 0.5) * 0.05
        trust[author] = max(0.0, min(1.0, trust.get(author, 0.5) + step))
    state["stance"] = moved
    return state


def made(step: int, agents: int = AGENTS) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """Roots shown to each agent (no root twice in a feed), and author, stance and likes of every root."""
    posts = np.random.default_rng(0)
    author, stance = posts.integers(0, AUTHORS, POSTS), posts.uniform(-1, 1, POSTS)
    draw = np.random.default_rng(step)
    likes = draw.poisson(2, POSTS)
    # Distinct roots a row without a Python loop: a stride through a random rotation.
    start = draw.integers(0, POSTS, (agents, 1))
    stride = draw.choice([3, 7, 11, 13, 17, 19], (agents, 1))
    return (start + stride * np.arange(ROWS)) % POSTS, author, stance, likes


def loop(agents: int, *, copying: bool) -> tuple[float, np.ndarray]:  # type: ignore[type-arg]
    """Exposures a second and stances at the end, of the first ``agents`` agents."""
    states: list[dict[str, Any]] = [
        {"stance": 0.0, "confidence": 0.5, "seen": set(), "trust": {}} for _ in range(agents)
    ]
    seconds = 0.0
    for step in range(STEPS):
        roots, author, stance, likes = made(step)
        feeds = [
            [(int(author[r]), int(r), float(stance[r]), int(likes[r])) for r in roots[agent]] for agent in range(agents)
        ]
        began = time.perf_counter()
        states = [update(state, feed, copying=copying) for state, feed in zip(states, feeds, strict=True)]
        seconds += time.perf_counter() - began
    return agents * ROWS * STEPS / seconds, np.array([state["stance"] for state in states])


def kernel() -> tuple[float, np.ndarray]:  # type: ignore[type-arg]
    """The shipped rule on the same exposures: seen roots looked up and merged, trust merged, trail written."""
    rule = registry.get("beliefs", "exposure")
    params = per_agent(rule.params(), AGENTS)
    best, stances = 0.0, np.empty(0)
    for _ in range(2):  # the first pass loads the compiled kernels
        state = rule.init(np.zeros((AGENTS, 1)), np.full((AGENTS, 1), 0.5), params)
        seen = Pairs(np.int16, AGENTS)
        indptr = np.arange(0, AGENTS * ROWS + 1, ROWS, dtype=np.int64)
        seconds = 0.0
        for step in range(STEPS):
            roots, author, stance, likes = made(step)
            flat = roots.ravel().astype(np.int32)
            began = time.perf_counter()
            block, _, known = upsert(seen.blocks[0], indptr, flat, np.zeros(flat.size, np.int16))
            seen.blocks[0] = block
            exposed = Exposed(
                indptr=indptr,
                proposition=np.zeros(flat.size, np.int16),
                post=flat,
                rank=np.zeros(flat.size, np.int16),
                author=author[flat].astype(np.int32),
                credibility=np.full(flat.size, 0.5),
                stance=stance[flat],
                likes=likes[flat].astype(np.int32),
                first_seen=~known,
                weight=np.ones(flat.size),
            )
            state, _ = rule.step(
                state, BeliefInputs(0, exposed, no_own(AGENTS, 1)), params, Draws(0, step)(Stage.BELIEF)
            )
            seconds += time.perf_counter() - began
        best, stances = AGENTS * ROWS * STEPS / seconds, state.stance[:, 0]
    return best, stances


def main() -> None:
    """Measure all three and print."""
    threads = nb.get_num_threads()
    nb.set_num_threads(1)
    alone, ours = kernel()
    nb.set_num_threads(threads)
    fast, _ = kernel()
    few = 800
    copying, theirs = loop(few, copying=True)
    in_place, same = loop(few, copying=False)
    difference = max(np.abs(ours[:few] - theirs).max(), np.abs(ours[:few] - same).max())
    print(
        json.dumps(
            {
                "agents": AGENTS,
                "rows": ROWS,
                "steps": STEPS,
                "kernel": fast,
                "one_thread": alone,
                "threads": threads,
                "copying": copying,
                "in_place": in_place,
                "difference": float(difference),
            }
        )
    )


if __name__ == "__main__":
    main()
