"""Takedown by the crowd in whole runs."""

from __future__ import annotations

import polars as pl

from small_worlds import run_of, settings_of
from townsquare.core.enums import LogKind


def test_in_a_run_it_is_logged_once_a_post_and_seen_from_the_next_step() -> None:
    crowd = {"strategy": "community", "takedown_flags": 2}
    run = run_of(settings_of(moderation=crowd, policy={"flag": {"base": -1.0}}))
    log = run.table("moderation_log").filter(pl.col("kind") == LogKind.TAKEDOWN)
    assert log.height > 3
    assert log["post"].is_unique().all()
    seen = run.table("exposures").join(log.select("step", root="post"), on="root", suffix="_down")
    assert (seen["step"] <= seen["step_down"]).all()
