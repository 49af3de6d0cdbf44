"""How much of what model servers allow a run makes use of; prints one line of JSON.

The run is the product as it is used: ``townsquare run --agents 10000 --set policy=llm`` in a process of its own,
recording to disk, against servers in processes of their own (:mod:`townsquare.testing.chat_server`). An answer takes
200 ms, evenly spread from 100 to 300 by a hash of the request. A server's work is the sum of the latencies that its
answers were meant to take; what it allows is its places times the seconds of the window:

* ``asking``: from its first request to its last answer, so between the steps too;
* ``steps``: the wall time of all steps, in which feeds are built, beliefs moved and everything hashed and recorded.

Time in which all of it was stopped from outside (half a second or more in which a thread that only sleeps did not wake)
is taken out, but for half a second each time, since latencies run on meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from local_server import server, stats
from townsquare.analysis.model_calls import calls_by_server, calls_in_short
from townsquare.record.run import Run

LATENCY, SPREAD = 0.2, 0.1
ONE, THREE = (64,), (8, 16, 40)


class Pauses:
    """Notes when this process, and so those that it started, was stopped."""

    def __init__(self) -> None:
        self.found: list[tuple[float, float]] = []
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        before = time.monotonic()
        while True:
            time.sleep(0.05)
            now = time.monotonic()
            if now - before > 0.5:
                self.found.append((before, now))
            before = now

    def within(self, first: float, last: float) -> tuple[float, int]:
        """Seconds lost between two instants, and in how many pieces."""
        lost = [min(b, last) - max(a, first) for a, b in self.found if a < last and b > first]
        return sum(lost), len(lost)


pauses = Pauses()


def measure(limits: Sequence[int], agents: int, steps: int, sets: Sequence[str] = ()) -> dict[str, Any]:
    """One run over servers of these places."""
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        # Each turns away what goes beyond its places.
        options = [("--spread", str(SPREAD), "--slots", str(slots)) for slots in limits]
        urls = [stack.enter_context(server(LATENCY, *each)) for each in options]
        given = ["policy=llm", "model=server/m", f"model.base_url=[{','.join(urls)}]", *sets]
        given.append(f"serving.limits=[{','.join(map(str, limits))}]")
        command = [sys.executable, "-m", "townsquare", "run", "health-rumor@1", "--quiet", "--agents", str(agents)]
        command += [
            "--steps",
            str(steps),
            "--out",
            f"{folder}/run",
            *(part for one in given for part in ("--set", one)),
        ]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seen = [stats(url) for url in urls]
        window = min(one["began"] for one in seen), max(one["ended"] for one in seen)
        lost, times = pauses.within(*window)
        run = Run.open(Path(folder) / "run")
        return figures(run, urls, limits, seen, window[1] - window[0], lost - 0.5 * times) | {
            "paused": lost,
            "pauses": times,
            "seconds": seconds,
            "processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        }


def figures(
    run: Run, urls: Sequence[str], limits: Sequence[int], seen: Sequence[dict[str, Any]], window: float, lost: float
) -> dict[str, Any]:
    """What is said of a run; ``window`` seconds passed from the first request to the last answer, ``lost`` of them."""
    steps = run.table("steps")
    stepping = float(steps.filter(steps["step"] > 0)["seconds"].sum()) - lost
    short = calls_in_short(run)
    by_server = {row["server"]: row for row in calls_by_server(run).iter_rows(named=True)}
    allowed = sum(limits)
    worked = sum(one["worked"] for one in seen)
    asking = window - lost
    return {
        "agents": int(steps["online"][-1]),
        "calls": short["asked"],
        "failed": short["failed"],
        "limits": list(limits),
        "steps": steps.height - 1,
        "stepping": stepping,
        "asking": asking,
        "used_asking": worked / (allowed * asking),
        "used_steps": worked / (allowed * stepping),
        "rate": short["asked"] / asking,
        "tokens_in": short["tokens_in"] / max(1, short["asked"]),
        "server_processor": sum(one["processor"] for one in seen) / max(1, short["asked"]) * 1e6,
        "servers": [
            {
                "limit": limit,
                "calls": by_server[url]["calls"],
                "peak": one["peak"],
                "turned_away": one["statuses"].get("429", 0),
                "used": one["worked"] / (limit * asking),
            }
            for url, limit, one in zip(urls, limits, seen, strict=True)
        ],
    }


def main() -> None:
    """Measure one server, and three of different limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--limits", type=int, nargs="*", help="places of each server; unset: one, and three")
    parser.add_argument("--set", action="append", default=[], help="further settings of the run")
    asked = parser.parse_args()
    wanted = {"asked": tuple(asked.limits)} if asked.limits else {"one": ONE, "three": THREE}
    found: dict[str, Any] = {}
    for name, limits in wanted.items():
        found[name] = measure(limits, asked.agents, asked.steps, asked.set)
        found[name]["processor_a_call"] = found[name]["processor"] / max(1, found[name]["calls"]) * 1e6
    print(json.dumps({**found, "latency": LATENCY, "spread": SPREAD, "load": os.getloadavg()[0]}))


if __name__ == "__main__":
    main()
