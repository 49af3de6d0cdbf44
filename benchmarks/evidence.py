"""One call of the rules in log odds for 100,000 agents with 50 records each, in one process; a line of JSON a rule.

``plain`` is a step in which nothing happened to the records; in ``busy`` each agent was shown ten claims, of which five
are new.
"""

from __future__ import annotations

import json
import time

import numba as nb
import numpy as np

from townsquare.beliefs.contract import (
    BeliefInputs,
    Changes,
    ClaimExposures,
    Holdings,
    Records,
    no_exposures,
    no_own,
    per_agent,
)
from townsquare.core import registry
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import HoldingChange, Origin

AGENTS, RECORDS, SHOWN, NEW, CLAIMS, AUTHORS, TRIES = 100_000, 50, 10, 5, 5_000, 2_000, 5


def held(busy: bool) -> Holdings:
    """Records, the first five of them new to each agent where it was busy."""
    rng = np.random.default_rng(0)
    shown, new = (SHOWN, NEW) if busy else (0, 0)

    def indptr(each: int) -> np.ndarray:
        return np.arange(AGENTS + 1, dtype=np.int64) * each

    k, m, c = AGENTS * RECORDS, AGENTS * shown, AGENTS * new
    first = rng.integers(0, CLAIMS - RECORDS, (AGENTS, 1))
    seed = np.tile(np.arange(RECORDS) >= RECORDS - 10, AGENTS)
    records = Records(
        indptr(RECORDS), (first + np.arange(RECORDS)).ravel().astype(np.int32), np.zeros(k, np.int16),
        rng.choice(np.array([-1, 1], np.int8), k), rng.uniform(0, 1, k),
        np.where(seed, Origin.SEED, Origin.PEER).astype(np.uint8), np.ones(k, np.bool_), np.zeros(k, np.bool_),
    )  # fmt: skip
    post = rng.integers(0, CLAIMS, m).astype(np.int32)
    rank = np.tile(np.arange(shown), AGENTS).astype(np.int16)
    row = post.reshape(AGENTS, shown)[:, :new].ravel()
    nth = np.tile(np.arange(new), AGENTS)
    changes = Changes(
        indptr(new), nth.astype(np.int32), np.full(c, HoldingChange.ACCEPTED, np.uint8), row, nth.astype(np.int16)
    )
    claim_exposures = ClaimExposures(
        indptr(shown), np.tile(np.arange(shown), AGENTS).astype(np.int32), post, rank,
        rng.integers(0, AUTHORS, m).astype(np.int32), np.full(m, np.nan), rng.poisson(2, m).astype(np.int32),
        rng.random(m) < 0.5, rng.choice([0.25, 1.0], m),
    )  # fmt: skip
    return Holdings(records, changes, claim_exposures)


def seconds(name: str, busy: bool) -> float:
    """The fastest of some calls; the one before them loads the compiled kernels."""
    rule = registry.get("beliefs", name)
    params = per_agent(rule.params(), AGENTS)
    start = rule.init(np.zeros((AGENTS, 1)), np.full((AGENTS, 1), 0.5), params)
    inputs = BeliefInputs(0, no_exposures(AGENTS), no_own(AGENTS, 1), held(busy))
    best = np.inf
    for _ in range(TRIES + 1):
        began = time.perf_counter()
        rule.step(start, inputs, params, Draws(0, 1)(Stage.BELIEF))
        best = min(best, time.perf_counter() - began)
    return best


def main() -> None:
    """Measure both rules and print."""
    for rule in ("log_odds", "social_log_odds"):
        found = {what: round(seconds(rule, what == "busy"), 3) for what in ("plain", "busy")}
        print(
            json.dumps({"rule": rule, "agents": AGENTS, "records": RECORDS, "threads": nb.get_num_threads(), **found})
        )


if __name__ == "__main__":
    main()
