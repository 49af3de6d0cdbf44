"""A run on a graph of blocks."""

from __future__ import annotations

import numpy as np

from townsquare.scenario.settings import resolve_for
from townsquare.simulation.run import simulate


def test_a_run_with_blocks_by_stance() -> None:
    sets = ["graph.kind=block", "graph.by=stance:p0", "graph.homophily=1", "growth.max_per_step=2"]
    run = simulate(resolve_for("synthetic:20", None, sets, agents=60, steps=2))
    stance = run.table("beliefs", (0, 0))["stance"].to_numpy()
    first = run.table("follows", (0, 0))
    assert np.array_equal(stance[first["follower"].to_numpy()] >= 0, stance[first["followed"].to_numpy()] >= 0)
