"""How Townsquare grows, and how little memory it takes: ``python benchmarks/scale.py`` writes ``benchmarks/scale.md``.

Three things: seconds a step for sizes whose feeds are equally long, with the exponent of their growth; the least memory
in which 100,000 agents run, under a limit that the kernel enforces; and to how many machines a post has to go if agents
are spread over many, by the follow graph of a million.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import townsquare as ts
from townsquare.resolve import resolve
from townsquare.simulation import begin

HERE = Path(__file__).parent
FIGURES, PAGE = HERE / "scale.json", HERE / "scale.md"
GROUP = Path("/sys/fs/cgroup/memory/townsquare-benchmark")  # control groups of version 1, for root
SIZES = (10_000, 100_000, 1_000_000)
LIMITS = (2_048, 1_536, 1_280, 1_024, 896, 768, 640, 512)
SHARDS = (2, 4, 8, 16, 64, 256, 1_024)


def one_size(agents: int, steps: int, *, limit: int | None = None, equal: bool = True) -> dict[str, float] | None:
    """Figures of a run in a process of its own; None if it was killed for its memory, ``limit`` MiB."""

    def enter() -> None:
        (GROUP / "cgroup.procs").write_text(str(os.getpid()))

    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            str(HERE / "one_size.py"),
            str(agents),
            str(steps),
            folder,
            *(["0"] if equal else []),
        ]
        if limit is None:
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        else:
            GROUP.mkdir(exist_ok=True)
            (GROUP / "memory.limit_in_bytes").write_text(str(limit << 20))
            with suppress(OSError):  # no swap accounting, and no swap either
                (GROUP / "memory.memsw.limit_in_bytes").write_text(str(limit << 20))
            done = subprocess.run(command, check=False, capture_output=True, text=True, preexec_fn=enter)
            if done.returncode:
                return None
    return dict(json.loads(done.stdout.splitlines()[-1]))


def growth(steps: int) -> list[dict[str, float]]:
    """Figures of each size."""
    found = []
    for agents in SIZES:
        print(f"{agents:,} agents ...", file=sys.stderr)
        one = one_size(agents, steps)
        assert one is not None
        found.append(one)
    return found


def least_memory(steps: int) -> list[dict[str, float]]:
    """Runs of 100,000 agents under smaller and smaller limits, until one is killed."""
    found: list[dict[str, float]] = []
    if not os.access(GROUP.parent, os.W_OK):
        return found
    for limit in LIMITS:
        print(f"100,000 agents in {limit} MiB ...", file=sys.stderr)
        one = one_size(100_000, steps, limit=limit)
        found.append({"limit": limit, "seconds": one["seconds"] if one else math.nan})
        if one is None:
            break
    with suppress(OSError):
        GROUP.rmdir()
    return found


def deliveries() -> dict[str, Any]:
    """To how many other machines a post of a followed account goes, if a million agents are spread over some.

    A post goes once to each machine that has a follower of its author. Authors are weighted by how active they are.
    """
    settings = resolve({"scenario": "made", "agents": 1_000_000, "steps": 1})
    _, world, _ = begin(settings, ts.made_scenario(500))
    followed = np.concatenate([block.key for block in world.follows.blocks]).astype(np.int64)
    degrees = np.concatenate([np.diff(block.indptr) for block in world.follows.blocks])
    follower = np.repeat(np.arange(degrees.size), degrees)
    weight = np.asarray(world.agents["activity"])
    weight = weight / weight.sum()
    found = {}
    for shards in SHARDS:
        home = np.arange(degrees.size) % shards
        elsewhere = home[follower] != home[followed]
        pairs = np.unique(followed[elsewhere] * shards + home[follower[elsewhere]])
        reached = np.bincount(pairs // shards, minlength=degrees.size)
        found[str(shards)] = float(reached @ weight)
    return {"shards": found, "followers": float(np.bincount(followed, minlength=degrees.size) @ weight)}


def exponent(rows: list[dict[str, float]], what: str) -> float:
    """Slope of the logarithm of ``what`` over that of the agents."""
    x, y = (np.log([row[name] for row in rows]) for name in ("agents", what))
    return float(np.polyfit(x, y, 1)[0])


def seconds_or_end(seconds: float) -> str:
    """A cell: the seconds of a step, or that there were none."""
    return "ended by the kernel" if math.isnan(seconds) else f"{seconds:.2f}"


def page(figures: dict[str, Any]) -> str:
    """The text of the page."""
    rows = figures["growth"]
    lines = [
        "# Scale",
        "",
        f"Written by `python benchmarks/scale.py`. Machine: {os.cpu_count()} cores; load average when it ended: "
        f"{figures['load']:.1f}. What follows from it for more agents than fit here stands in `docs/scale.md`.",
        "",
        "## Growth",
        "",
        "Statistical policy, hybrid moderation, `exposure-bounded` beliefs with trust and novelty of any pair, feeds",
        f"of 15 + 10 without comments in every size, everybody online, {rows[0]['steps']:.0f} steps, all recorded.",
        "Median of the steps from the third on.",
        "",
        "| agents | seconds a step | processor seconds a step | exposures a second | peak GiB | MiB on disk |",
        "|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {row['agents']:,.0f} | {row['seconds']:.2f} | {row['processor']:.2f} | {row['rate']:,.0f} "
            f"| {row['peak']:.2f} | {row['disk']:,.0f} |"
            for row in rows
        ),
        "",
        f"Growth from 10,000 to 1,000,000 agents: exponent {exponent(rows, 'seconds'):.2f} of seconds, "
        f"{exponent(rows, 'processor'):.2f} of processor seconds (goal: at most 1.05).",
        "",
        "## The least memory for 100,000 agents",
        "",
    ]
    limits = figures["memory"]
    if limits:
        lines += [
            f"The same with {figures['memory_steps']} steps, in a control group whose memory is limited, files in",
            "memory included. Smaller limits follow until the kernel ends the run.",
            "",
            "| limit MiB | seconds a step |",
            "|---:|---:|",
            *(f"| {one['limit']:,} | {seconds_or_end(one['seconds'])} |" for one in limits),
        ]
    else:
        lines.append("Not measured: it needs root and control groups of version 1.")
    sent = figures["deliveries"]
    lines += [
        "",
        "## To how many machines a post goes",
        "",
        "A million agents of the default graph, spread evenly over some machines. A post of an account goes once to",
        "every other machine that has a follower of it; the mean weighs authors by how active they are.",
        "",
        "| machines | other machines a post goes to, mean |",
        "|---:|---:|",
        *(f"| {int(shards):,} | {mean:.2f} |" for shards, mean in sent["shards"].items()),
        f"| one for each agent | {sent['followers']:.2f} |",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--memory-steps", type=int, default=10)
    parser.add_argument("--only", choices=("growth", "memory", "deliveries"), help="measure one part, keep the others")
    chosen = parser.parse_args()
    figures: dict[str, Any] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    parts = {
        "growth": lambda: growth(chosen.steps),
        "memory": lambda: least_memory(chosen.memory_steps),
        "deliveries": deliveries,
    }
    for name, measure in parts.items():
        if chosen.only in (None, name):
            figures[name] = measure()
    figures["load"] = os.getloadavg()[0]
    figures["memory_steps"] = chosen.memory_steps
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    PAGE.write_text(page(figures))


if __name__ == "__main__":
    main()
