"""One run of one size: ``one_size.py AGENTS STEPS FOLDER [SETTINGS]`` prints its figures as one line of JSON.

``SETTINGS`` is a JSON object that lies over the settings here, as a configuration file lies over the defaults.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path

import townsquare as ts
from townsquare.core.runtime import take_over


def main() -> None:
    """Run, and print."""
    take_over()  # as the command line does, before NumPy and Polars start threads
    from townsquare.settings.resolve import resolve

    agents, steps, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    settings = resolve(
        {
            "scenario": "synthetic",
            "agents": agents,
            "steps": steps,
            "moderation": {"strategy": "hybrid"},
            "injection": {"posts_per_step": 13},
            "beliefs": {"rule": "exposure-bounded", "pull": 0.005, "anchor": 0.02},
            **(json.loads(sys.argv[4]) if len(sys.argv) > 4 else {}),
        }
    )
    instants: list[tuple[float, float]] = []
    run = ts.simulate(
        settings,
        folder / "run",
        scenario=ts.synthetic_scenario(500),
        on_step=lambda mark: instants.append((time.perf_counter(), time.process_time())),
    )
    first = min(3, steps)
    marks = run.steps.filter(run.steps["step"] >= first)
    # From one committed step to the next: the step, its hash and its recording. Of large runs the last step has no
    # other beside it while it is written, so that it says nothing of the others.
    between = list(pairwise(instants[first - 1 : -1] if steps > 4 else instants[first - 1 :]))
    seconds = statistics.median(b[0] - a[0] for a, b in between)
    disk = sum(path.stat().st_size for path in (folder / "run").rglob("*") if path.is_file())
    figures: dict[str, float | str] = {
        "agents": agents,
        "steps": steps,
        "seconds": seconds,
        "processor": statistics.median(b[1] - a[1] for a, b in between),
        "rate": statistics.median(marks["exposures"].to_list()) / seconds,
        "actions": statistics.median(marks["actions"].to_list()),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "disk": disk / 2**20,
        "hash": run.content_hash,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
