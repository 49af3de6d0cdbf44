"""The share of injected posts in feeds of towns of three sizes."""

from __future__ import annotations

import numpy as np
import pytest

from small_worlds import (
    settings_of,
    steps_of,
)
from townsquare.core.enums import PostKind
from townsquare.scenario.load import synthetic_scenario


def _injected_share(agents: int, seed: int) -> float:
    """Share of rows with an injected root in the last steps of a run with the default feed, but for comments."""
    given_settings = {"graph": {"m": 10}, "beliefs": "no_change", "feed": {"comments": 0}}
    rows: list[float] = []
    for world, out in steps_of(settings_of(given_settings, agents=agents, steps=7, seed=seed), synthetic_scenario(200)):
        if world.step > 4:
            kind = world.posts["kind"][np.asarray(out.get("exposures")["root"])]
            rows.append(float((kind == PostKind.INJECTED).mean()))
    return float(np.mean(rows))


@pytest.mark.slow
def test_more_agents_do_not_crowd_out_the_injected_posts() -> None:
    """Agents write more the more they are; the share of injected rows stays (a small town only has less to show)."""
    small = np.mean([_injected_share(300, seed) for seed in range(4)])
    middle = np.mean([_injected_share(3_000, seed) for seed in range(2)])
    large = _injected_share(30_000, 0)
    assert 0.3 < small < 0.6
    assert middle > 0.8 * small
    assert large > 0.96 * middle
