"""Rows a second of the rule `credence` on one thread, in one process; prints one line of JSON.

Every row shows a claim, which is the costly case; feeds are those of ``kernel.py``. ``step`` is a whole step: claims
looked up and merged, belief in them and attitudes moved, trail written. ``no_trail`` is the same less the time that the
trail takes, measured on the same rows. ``judge`` is what a policy reads of belief before the step. Seconds are those of
the processor, since other programs may use it too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numba as nb
import numpy as np

from kernel import AGENTS, POSTS, ROWS, STEPS, made
from townsquare.beliefs import arrays
from townsquare.beliefs.contract import BeliefInputs, BeliefState, Contents, Exposed, no_own, per_agent
from townsquare.beliefs.trail import assemble
from townsquare.core import registry
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import Verdict


def shown(step: int) -> BeliefInputs:
    """Return what everybody is shown in a step: claims, some with a verdict or a note."""
    roots, author, stance, likes = made(step)
    flat, draw = roots.ravel().astype(np.int32), np.random.default_rng(1)
    plausibility, verdict = draw.random(POSTS), draw.choice([Verdict.NONE, Verdict.FALSE, Verdict.TRUE], POSTS)
    noted = draw.random(POSTS) < 0.1
    exposed = Exposed(
        np.arange(0, AGENTS * ROWS + 1, ROWS, dtype=np.int64), np.zeros(flat.size, np.int16), flat,
        np.tile(np.arange(ROWS, dtype=np.int16), AGENTS), author[flat].astype(np.int32), np.full(flat.size, 0.5),
        stance[flat], likes[flat].astype(np.int32), np.ones(flat.size, np.bool_), np.ones(flat.size),
    )  # fmt: skip
    contents = Contents(flat, plausibility[flat], verdict[flat].astype(np.uint8), noted[flat])
    return BeliefInputs(0, exposed, no_own(AGENTS, 1), contents=contents, hours=24.0)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return processor seconds of a call, and what it returned."""
    began = time.process_time()
    out = call()
    return time.process_time() - began, out


def main() -> None:
    """Measure all and print."""
    nb.set_num_threads(1)
    rule = registry.get("beliefs", "credence")
    params = per_agent(rule.params(), AGENTS)
    best: dict[str, float] = {}
    for _ in range(3):  # the first pass loads the compiled kernels
        start = np.random.default_rng(2).uniform(-0.9, 0.9, (AGENTS, 1))
        state: BeliefState = rule.init(start, np.full((AGENTS, 1), 0.5), params)
        seconds = dict.fromkeys(("step", "judge", "trail"), 0.0)
        for step in range(STEPS):
            given, draw = shown(step), Draws(0, step)(Stage.BELIEF)
            before = state
            spent, _ = timed(lambda before=before, given=given, draw=draw: rule.judge(before, given, params, draw))
            seconds["judge"] += spent
            spent, (state, trail) = timed(
                lambda before=before, given=given, draw=draw: rule.step(before, given, params, draw)
            )
            seconds["step"] += spent
            moved = arrays.unmoved(state, given.contents.claim.size, 0)
            moved = moved._replace(anchor=np.ones_like(moved.anchor), retracted=np.zeros(given.contents.claim.size))
            spent, _ = timed(lambda given=given, moved=moved: assemble(given, moved))
            seconds["trail"] += spent
        seconds["no_trail"] = seconds["step"] - seconds.pop("trail")
        rates = {what: AGENTS * ROWS * STEPS / spent for what, spent in seconds.items()}
        best = {what: max(rate, best.get(what, 0.0)) for what, rate in rates.items()}
    print(json.dumps({"agents": AGENTS, "rows": ROWS, "steps": STEPS, "trail_rows": trail.kind.shape[0], **best}))


if __name__ == "__main__":
    main()
