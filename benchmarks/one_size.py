"""One run of one size: ``one_size.py AGENTS STEPS FOLDER`` prints its figures as one line of JSON."""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from pathlib import Path

import townsquare as ts
from townsquare.resolve import resolve


def main() -> None:
    """Run, and print."""
    agents, steps, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    settings = resolve(
        {
            "scenario": "made",
            "agents": agents,
            "steps": steps,
            "moderation": {"strategy": "hybrid"},
            "injection": {"posts_per_step": 13},
            "beliefs": {"rule": "exposure-bounded", "pull": 0.005, "anchor": 0.02},
        }
    )
    instants: list[float] = []
    run = ts.simulate(
        settings,
        folder / "run",
        scenario=ts.made_scenario(500),
        on_step=lambda mark: instants.append(time.perf_counter()),
    )
    first = min(3, steps)
    marks = run.steps.filter(run.steps["step"] >= first)
    # From one committed step to the next: the step, its hash and its recording.
    seconds = statistics.median(b - a for a, b in zip(instants[first - 1 :], instants[first:], strict=False))
    disk = sum(path.stat().st_size for path in (folder / "run").rglob("*") if path.is_file())
    figures = {
        "agents": agents,
        "steps": steps,
        "seconds": seconds,
        "rate": statistics.median(marks["exposures"].to_list()) / seconds,
        "actions": statistics.median(marks["actions"].to_list()),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "disk": disk / 2**20,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
