"""How Townsquare grows, and how little memory it takes: ``python benchmarks/scale.py`` writes ``benchmarks/scale.md``.

Five things: a million agents for 20 steps; a run of a million that is killed and resumed; seconds a step for sizes
whose feeds are equally long, with the exponent of their growth; the least memory in which 100,000 agents run, under a
limit that the kernel enforces; and to how many machines a post has to go if agents are spread over many, by the follow
graph of a million.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import townsquare as ts
from townsquare.settings.resolve import resolve
from townsquare.simulation.step import begin

HERE = Path(__file__).parent
FIGURES, PAGE = HERE / "scale.json", HERE / "scale.md"
GROUP = Path("/sys/fs/cgroup/memory/townsquare-benchmark")  # control groups of version 1, for root
SIZES = (10_000, 100_000, 1_000_000)
LIMITS = (2_048, 1_536, 1_280, 1_024, 896, 768, 640, 512)
SHARDS = (2, 4, 8, 16, 64, 256, 1_024)
LONG: dict[str, tuple[int, int, Mapping[str, Any]]] = {
    "a million, no moderation": (1_000_000, 20, {"moderation": {}, "injection": {}}),
    "a million, hybrid moderation": (1_000_000, 20, {}),
    "100,000, `log_odds`": (100_000, 10, {"beliefs": {"rule": "log_odds"}, "feed": {"comments": 0}}),
}
"""Runs by name: agents, steps, and settings over those of ``one_size.py``."""
EQUAL_FEEDS = {"feed": {"comments": 0}}
STOPPED = (1_000_000, 6, 3)  # agents and steps of the run that is killed, and the step after which it is


def one_size(
    agents: int, steps: int, settings: Mapping[str, Any] = EQUAL_FEEDS, *, limit: int | None = None
) -> dict[str, Any] | None:
    """Figures of a run in a process of its own; None if it was killed for its memory, ``limit`` MiB."""

    def enter() -> None:
        (GROUP / "cgroup.procs").write_text(str(os.getpid()))

    with tempfile.TemporaryDirectory() as folder:
        sizes = [str(agents), str(steps), folder, json.dumps(settings)]
        command = [sys.executable, str(HERE / "one_size.py"), *sizes]
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


def long_runs() -> dict[str, dict[str, Any] | None]:
    """Figures of each of :data:`LONG`."""
    found = {}
    for name, (agents, steps, settings) in LONG.items():
        print(f"{name}, {steps} steps ...", file=sys.stderr)
        found[name] = one_size(agents, steps, settings)
    return found


def killed_and_resumed() -> dict[str, Any]:
    """A run that SIGKILL ends between two steps and ``townsquare resume`` takes up, beside one that nobody touched."""
    agents, steps, at = STOPPED
    print(f"{agents:,} agents, killed after step {at} ...", file=sys.stderr)
    townsquare = [sys.executable, "-m", "townsquare"]
    options = ["--agents", str(agents), "--steps", str(steps), "--quiet"]
    with tempfile.TemporaryDirectory() as where:
        whole, killed = Path(where) / "whole", Path(where) / "killed"
        subprocess.run([*townsquare, "run", "synthetic:500", *options, "--out", str(whole)], check=True)
        process = subprocess.Popen([*townsquare, "run", "synthetic:500", *options, "--out", str(killed)])
        while process.poll() is None and last_step(killed) < at:
            time.sleep(0.2)
        process.kill()
        process.wait()
        found, began = last_step(killed), time.perf_counter()
        subprocess.run([*townsquare, "resume", str(killed), "--quiet"], check=True)
        seconds = time.perf_counter() - began
        hashes = [ts.Run.open(folder).content_hash for folder in (whole, killed)]
    return {"agents": agents, "steps": steps, "killed": found, "seconds": seconds, "hashes": hashes}


def last_step(folder: Path) -> int:
    """The last step that is safe; -1 for none."""
    try:
        return ts.Run.open(folder).last_step
    except ts.TownsquareError:
        return -1


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
    settings = resolve({"scenario": "synthetic", "agents": 1_000_000, "steps": 1})
    _, world, _ = begin(settings, ts.synthetic_scenario(500))
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
        f"{figures['load']:.1f}. `docs/scale.md` estimates the cost of more agents than fit on this machine.",
        "",
        "## Growth",
        "",
        "Statistical policy, hybrid moderation, `exposure-bounded` beliefs with trust for every pair of agent "
        "and author and novelty for every pair of agent and root, feeds",
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
        "## Minimum memory for 100,000 agents",
        "",
    ]
    limits = figures["memory"]
    if limits:
        lines += [
            f"The same with {figures['memory_steps']} steps, in a control group whose memory is limited, files in",
            "memory included. The limit is lowered until the kernel ends the run.",
            "",
            "| limit MiB | seconds a step |",
            "|---:|---:|",
            *(f"| {one['limit']:,} | {seconds_or_end(one['seconds'])} |" for one in limits),
        ]
    else:
        lines.append("Not measured: it needs root and control groups of version 1.")
    lines += long_section(figures["long"]) if "long" in figures else []
    lines += resume_section(figures["resume"]) if "resume" in figures else []
    sent = figures["deliveries"]
    lines += [
        "",
        "## Number of machines that need a post",
        "",
        "A million agents of the default graph, spread evenly over some machines. A post of an account goes once to",
        "every other machine that has a follower of it; the mean is weighted by the activity of authors.",
        "",
        "| machines | other machines a post goes to, mean |",
        "|---:|---:|",
        *(f"| {int(shards):,} | {mean:.2f} |" for shards, mean in sent["shards"].items()),
        f"| one for each agent | {sent['followers']:.2f} |",
        "",
    ]
    return "\n".join(lines)


def long_section(found: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The part about long runs."""
    return [
        "",
        "## A million agents",
        "",
        "Feeds of 15 + 10, everybody online, exposures, actions, beliefs and trail recorded; `exposure-bounded` with",
        "trust for every pair of agent and author and novelty for every pair of agent and root, except in the last row."
        " Median of the steps from the third on.",
        "",
        "| agents, and what differs | steps | seconds a step | processor seconds a step | peak GiB | MiB on disk |",
        "|---|---:|---:|---:|---:|---:|",
        *(
            f"| {name} | {row['steps']:.0f} | {row['seconds']:.2f} | {row['processor']:.2f} | {row['peak']:.2f} "
            f"| {row['disk']:,.0f} |"
            for name, row in found.items()
        ),
    ]


def resume_section(found: Mapping[str, Any]) -> list[str]:
    """The part about the run that was killed."""
    one, other = found["hashes"]
    end = f"with the same content hash as an uninterrupted run ({one[:16]}...)"
    if one != other:
        end = f"with another content hash than an uninterrupted run ({other[:16]}..., {one[:16]}...)"
    return [
        "",
        "## Killed and resumed",
        "",
        f"A run of {found['agents']:,} agents and {found['steps']} steps, killed after step {found['killed']}, was "
        f"resumed in {found['seconds']:.0f} s,",
        f"the earlier steps were executed again, and the run ended {end}.",
    ]


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--memory-steps", type=int, default=10)
    parser.add_argument(
        "--only", choices=("growth", "memory", "long", "resume", "deliveries"), help="measure one part, keep the others"
    )
    chosen = parser.parse_args()
    figures: dict[str, Any] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    parts = {
        "growth": lambda: growth(chosen.steps),
        "memory": lambda: least_memory(chosen.memory_steps),
        "long": long_runs,
        "resume": killed_and_resumed,
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
