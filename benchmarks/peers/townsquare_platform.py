"""A run of Townsquare whose agents follow the routine, recorded to disk as any run is."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from contract import FEED_FOLLOWED, FEED_OTHERS, FOLLOWED, Problem, Running
from contract_platform import UNMEASURED

import townsquare as ts
from townsquare.core.actions import ActionKind
from townsquare.core.enums import ActionStatus
from townsquare.settings.resolve import resolve

PACKAGES = ["townsquare", "numpy", "numba", "polars"]
ts.register("policy", "routine", "platform_policy:POLICY")


class Square(Running):
    """Nobody's beliefs move and nobody moderates: feeds, actions and the record alone."""

    def __init__(self, problem: Problem, *, parquet_above: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.agents, self.parquet_above = problem.agents, parquet_above
        self.run: Any = None
        self.measured = 0

    def timed(self, steps: int, seconds: float) -> Iterator[float]:
        self.measured = steps
        settings = resolve(
            {
                "scenario": "synthetic",
                "agents": self.agents,
                "steps": UNMEASURED + steps,
                "policy": "routine",
                "injection": {"posts_per_step": 0},
                "graph": {"kind": "scale_free", "m": FOLLOWED},
                "feed": {"followed": FEED_FOLLOWED, "others": FEED_OTHERS, "comments": 0},
                "beliefs": {"rule": "no_change"},
                "record": {"parquet_above": self.parquet_above},
            }
        )
        instants: list[float] = []
        self.run = ts.simulate(
            settings,
            Path(self.folder.name) / "run",
            scenario=ts.synthetic_scenario(1),
            on_step=lambda mark: instants.append(time.perf_counter()),
        )
        yield from np.diff(instants[-steps - 1 :]).tolist()

    def facts(self) -> dict[str, Any]:
        actions = self.run.table("actions").filter(pl.col("step") > UNMEASURED)
        done = actions.filter(pl.col("status") == ActionStatus.ACCEPTED)
        count = {
            word: done.filter(pl.col("kind") == kind).height / self.measured
            for word, kind in (("posts", ActionKind.POST), ("likes", ActionKind.LIKE), ("follows", ActionKind.FOLLOW))
        }
        shown = self.run.table("exposures").filter(pl.col("step") > UNMEASURED).height / self.measured
        root = Path(self.folder.name)
        disk = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) / 2**20
        return {**count, "rows_shown": shown, "MiB": disk}

    def close(self) -> None:
        self.folder.cleanup()


FORMS = {
    "default": lambda problem: Square(problem, parquet_above=1_000_000),
    "sqlite": lambda problem: Square(problem, parquet_above=10**15),
}
