"""Measures one form at one size in this process: ``cell.py MODULE:FORM PROBLEM STEPS SECONDS OUT READY``.

Prints one line of JSON. Imports and compilation come first, on a circle of 60 agents, and are not measured; then the
file READY appears, from which on the caller counts its limit. Set-up and steps are timed apart. OUT gets the stances.
"""

from __future__ import annotations

import importlib
import json
import resource
import statistics
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from contract import load, ring

WARM_UP = 2


def peak_gib() -> float:
    """Most memory that this process ever held; `getrusage` would count what its parent held when it started it."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def versions(packages: list[str]) -> dict[str, str]:
    """Those that are installed here."""
    found = {"Python": ".".join(str(part) for part in sys.version_info[:3])}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def main() -> None:
    """Warm up, measure, print."""
    name, problem_path, steps, seconds, out, ready = sys.argv[1:]
    module = importlib.import_module(name.partition(":")[0])
    start = module.FORMS[name.partition(":")[2]]
    warm = start(ring())
    for _ in warm.timed(WARM_UP, 1e9):
        pass
    warm.close()
    idle = peak_gib()
    Path(ready).touch()
    began = time.perf_counter()
    running = start(load(Path(problem_path)))
    set_up = time.perf_counter() - began
    used = time.process_time()
    took = list(running.timed(int(steps), float(seconds)))
    used = time.process_time() - used
    stances = running.stances()
    if stances is not None:
        np.save(out, stances)
    found = {
        "steps": len(took),
        "seconds": statistics.median(took),
        "processor": used / len(took),
        "set_up": set_up,
        "peak": peak_gib(),
        "idle": idle,
        "facts": running.facts(),
        "versions": versions(module.PACKAGES),
    }
    running.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
