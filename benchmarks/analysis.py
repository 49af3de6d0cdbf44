"""Every analysis of a run of about a million exposures and 100,000 actions: prints figures as one line of JSON.

``analysis.py [AGENTS STEPS]``. The run is recorded to disk first; its time does not count. Seconds are of the wall;
beside them stand those of the processor, which other work on the machine lengthens less.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import townsquare as ts
from townsquare.analysis.catalog import analyze
from townsquare.settings.resolve import resolve


def main() -> None:
    """Run, analyze, and print."""
    agents, steps = (int(word) for word in sys.argv[1:3]) if len(sys.argv) > 2 else (2_000, 23)
    settings = resolve(
        {
            "scenario": "health-rumor@1",
            "agents": agents,
            "steps": steps,
            "feed": {"comments": 0},
            "moderation": {"strategy": "hybrid"},
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        ts.simulate(settings, Path(folder) / "run")
        run = ts.Run.open(Path(folder) / "run")
        counts = run.counts
        each: dict[str, float] = {}
        begun, used = time.perf_counter(), time.process_time()
        last = used
        for name, frame in analyze(run):
            if isinstance(frame, Exception):
                raise frame
            now = time.process_time()
            each[name], last = now - last, now
        figures = {
            "exposures": counts["exposures"],
            "actions": counts["actions"],
            "agents": counts["agents"],
            "follows": counts["follows"],
            "analyses": len(each),
            "seconds": time.perf_counter() - begun,
            "processor": time.process_time() - used,
            "load": os.getloadavg()[0],
            "slowest": dict(sorted(each.items(), key=lambda item: -item[1])[:8]),
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
