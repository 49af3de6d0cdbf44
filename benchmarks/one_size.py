"""One run of one size: ``one_size.py AGENTS STEPS FOLDER`` prints its figures as one line of JSON."""

from __future__ import annotations

import json
import resource
import statistics
import sys
from pathlib import Path

import townsquare as ts


def main() -> None:
    """Run, and print."""
    agents, steps, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    settings = ts.resolve(
        {
            "scenario": "made",
            "agents": agents,
            "steps": steps,
            "moderation": {"strategy": "hybrid"},
            "injection": {"posts_per_step": 13},
            "beliefs": {"rule": "exposure-bounded", "pull": 0.005, "anchor": 0.02},
        }
    )
    run = ts.simulate(settings, folder / "run", scenario=ts.made_scenario(500))
    marks = run.steps.filter(run.steps["step"] > min(2, steps - 1))
    seconds = statistics.median(marks["seconds"].to_list())
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
