"""Measure Townsquare on this machine and write ``benchmarks/README.md``: ``make bench``.

Each size runs in a process of its own, so that its peak of memory is its own. Times are wall seconds of the median step
after the first two, recording everything to disk. Ratios compare two things in one process, one after the other.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
CHROMIUM = Path("/usr/bin/chromium")
SIZES = (1_000, 10_000, 100_000, 1_000_000)


def measure(agents: int, steps: int) -> dict[str, float]:
    """Run one size in a process of its own and read back what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(HERE / "one_size.py"), str(agents), str(steps), folder]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def exponent(rows: list[dict[str, float]], low: int) -> float:
    """Slope of log seconds over log agents from ``low`` agents on."""
    used = [row for row in rows if row["agents"] >= low]
    if len(used) < 2:
        return math.nan
    x = np.log([row["agents"] for row in used])
    y = np.log([row["seconds"] for row in used])
    return float(np.polyfit(x, y, 1)[0])


def page(rows: list[dict[str, float]], kernel: dict[str, float], load: float) -> str:
    """The text of the page."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Times vary between runs: rely on ratios and exponents, not on single times.",
        "",
        f"Machine: {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}. Load average when it ended: {load:.1f}; above the number of cores,",
        "other programs used the processor too, and seconds are upper limits.",
        "",
        "## A run of each size",
        "",
        "Statistical policy, hybrid moderation, `exposure-bounded` beliefs on one proposition with trust and novelty,",
        "feeds of 15 + 10, everybody online, exposures, actions, beliefs and trail recorded to disk and hashed.",
        "",
        "| agents | steps | seconds a step (median) | exposures a second | actions a step | peak GiB | MiB on disk |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['agents']:,.0f} | {row['steps']:.0f} | {row['seconds']:.3f} | {row['rate']:,.0f} "
        f"| {row['actions']:,.0f} | {row['peak']:.2f} | {row['disk']:,.0f} |"
        for row in rows
    ]
    lines += [
        "",
        f"Growth of seconds a step with the number of agents, from 10,000 on: exponent {exponent(rows, 10_000):.2f} "
        "(goal: at most 1.1).",
        "Up to 100,000 agents, feeds show comments under posts (about 70 rows); above, no comments (25 rows):",
        "the exponent from 100,000 to 1,000,000 is lower than for equal feeds. Set `feed.comments` for equal feeds.",
        "",
        "## The exposure rule against the published formula",
        "",
        f"{kernel['agents']:.0f} agents, {kernel['rows']:.0f} exposures each, {kernel['steps']:.0f} steps, with "
        "trust for every pair of agent and author and novelty for every pair of agent and root; the forms run one after"
        " the other in one process.",
        "",
        "| form | exposures a second | our kernel on one thread is faster by | on all threads |",
        "|---|---:|---:|---:|",
        row_of("the page: per agent, state deep-copied every step", kernel, "copying"),
        row_of("the same loop in place, nothing copied", kernel, "in_place"),
        row_of("`exposure` as shipped, one thread: trust and seen roots merged, trail written", kernel, "one_thread"),
        row_of(f"`exposure` as shipped, {kernel['threads']:.0f} threads", kernel, "kernel"),
        "",
        f"Largest difference between the forms in stance after the last step: {kernel['difference']:.1e}.",
        "",
    ]
    return "\n".join(lines)


def peers_section() -> str:
    """Where the page of ``make bench-peers`` is."""
    lines = [
        "",
        "## Compared with other tools",
        "",
        "Belief rules compared with NDlib, Mesa, mesa-frames and NumPy, and steps of a platform with camel-oasis, "
        "at up to a million agents:",
        "[peers.md](peers.md), written by `make bench-peers`.",
        "",
    ]
    return "\n".join(lines)


def row_of(form: str, kernel: dict[str, float], key: str) -> str:
    """A row of the table of forms."""
    rate = kernel[key]
    return f"| {form} | {rate:,.0f} | {kernel['one_thread'] / rate:,.1f} | {kernel['kernel'] / rate:,.1f} |"


def fit_section(found: dict[str, Any]) -> str:
    """The part about ``townsquare fit``."""
    cells = found["cells"][0] * found["cells"][1]
    lines = [
        "",
        "## Fitting people",
        "",
        f"{found['people']:,} people of {found['messages']} messages, every one of {cells} cells of a rule's grid; "
        "sides and strengths of messages are computed before and not timed.",
        "",
        "| rule | seconds for all cells |",
        "|---|---:|",
        *(f"| `{name}` | {seconds:.2f} |" for name, seconds in found["seconds"].items()),
        "",
        f"`log_odds` with five folds held out and every baseline fitted too: {found['folds']:.2f} s "
        "(goal for the grid: about a second).",
        "",
    ]
    return "\n".join(lines)


def notes_section(found: dict[str, float]) -> str:
    """The part about the note scorer ``bridging``."""
    lines = [
        "## The note scorer `bridging`",
        "",
        f"{found['raters']:,.0f} raters of two camps, {found['notes']:,.0f} notes, {found['ratings']:,.0f} ratings; "
        "seconds of the processor. A step has 1% more ratings than raters were last fitted on.",
        "",
        "| | |",
        "|---|---:|",
        f"| a fit from a new start (goal: under 10 s) | {found['cold']:.1f} s |",
        f"| a step of a run (goal: under 1 s) | {found['step']:.2f} s |",
        f"| every 24th step, which fits raters in both rounds | {found['with_raters']:.1f} s |",
        f"| share of the time of a run of `health-rumor` with {found['people']:,.0f} people and contributors "
        f"(goal: under 20%) | {found['town']:.1%} |",
        "",
        "",
    ]
    return "\n".join(lines)


def credence_section(found: dict[str, float]) -> str:
    """The part about the rule ``credence``."""
    named = {
        "step": "a whole step: claims looked up and merged, beliefs moved, trail written (goal: 500,000)",
        "no_trail": "the same, less the time for the trail (goal: 1,000,000)",
        "judge": "what a policy reads of belief before it acts",
    }
    lines = [
        "",
        "## The rule `credence`",
        "",
        f"{found['agents']:,} agents, {found['rows']} exposures each, {found['steps']} steps, every exposure a claim "
        "of a news post, which is the costly case; one thread, seconds of the processor. Recording is not in it.",
        "",
        "| | rows a second |",
        "|---|---:|",
        *(f"| {words} | {found[name]:,.0f} |" for name, words in named.items()),
        "",
    ]
    return "\n".join(lines)


def analysis_section(found: dict[str, Any]) -> str:
    """The part about ``townsquare analyze``."""
    lines = [
        "",
        "## Analysis",
        "",
        f"All {found['analyses']} analyses of a run of {found['agents']:,} accounts, {found['follows']:,} follows, "
        f"{found['exposures']:,} exposures and {found['actions']:,} actions, read from disk: "
        f"**{found['seconds']:.1f} s**, {found['processor']:.1f} s of processor time, at a load average of "
        f"{found['load']:.1f} (goal: under 30 s).",
        "",
        "| the slowest analyses, with the time to read their tables | seconds of processor |",
        "|---|---:|",
        *(f"| `{name}` | {seconds:.1f} |" for name, seconds in found["slowest"].items()),
        "",
    ]
    return "\n".join(lines)


def viewer_section(found: dict[str, float]) -> str:
    """The part about ``townsquare view``."""
    rows = [
        ("first paint", "first_paint", "1 s"),
        ("stances drawn, run opened for the first time", "first_chart", ""),
        ("stances drawn, run opened again", "chart_again", ""),
        ("slider step, overview", "slider_overview", "0.2 s"),
        ("slider step, network of all agents", "slider_network", "0.2 s"),
        ("comparison of 4 arms × 10 seeds, first page after the start", "overlay_first", ""),
        ("comparison of 4 arms × 10 seeds", "overlay", "0.5 s"),
        ("table of 200 runs: sort", "sort", "0.2 s"),
        ("table of 200 runs: filter", "filter", "0.2 s"),
    ]
    lines = [
        "",
        "## The viewer",
        "",
        f"{found['agents']:,.0f} agents, Chromium drawing by software, load average {found['load']:.1f} when it ended.",
        "",
        "| | seconds | goal |",
        "|---|---:|---:|",
        *(f"| {name} | {found[key]:.2f} | {goal} |" for name, key, goal in rows),
        "",
    ]
    return "\n".join(lines)


def models_section(found: dict[str, float]) -> str:
    """The part about the client of language models."""
    rows = [
        ("bare aiohttp client: send, receive, read the JSON", "bare"),
        ("through the client: identity, limits, parser, check; calls in memory", "memory"),
        ("through the client, calls recorded to disk", "file"),
    ]
    lines = [
        "",
        "## The client of language models",
        "",
        "A server in another process, prompts of 4 kB, one process, in turns. Load average when it ended: "
        f"{found['load']:.1f}.",
        "",
        "| | processor microseconds a call |",
        "|---|---:|",
        *(f"| {name} | {found[key]:,.0f} |" for name, key in rows),
        "",
        f"A server that takes {found['latency']:.0f} s for each of {found['at_once']:.0f} calls in flight is kept "
        f"{found['busy']:.0%} busy (goal: 95 %), calls recorded to disk.",
        "",
    ]
    return "\n".join(lines)


def servers_section(found: dict[str, Any]) -> str:
    """The part about a run over model servers."""
    first = next(one for one in found.values() if isinstance(one, dict))
    lines = [
        "",
        "## A run with several model servers",
        "",
        f"`townsquare run --agents {first['agents']:,}` with `policy: llm`, {first['steps']} steps, everybody online, "
        "against servers in processes",
        f"of their own that take {found['latency'] * 1000:.0f} ms per answer, uniformly distributed within ± "
        f"{found['spread'] * 1000:.0f} ms. Times include recording, feeds, beliefs and hashes;",
        "the servers share this machine's processor. *Used* is the latency of all answers divided by places "
        "(concurrent requests that the servers accept) times seconds, "
        "from the first request to the last answer;",
        "*in steps* counts the wall time of all steps instead. Goal: 95 %.",
        "",
        "| places | used | in steps | calls | calls a second | tokens in a call | processor µs a call: run | servers "
        "| failed | turned away |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [server_row(one) for one in found.values() if isinstance(one, dict)]
    lines += ["", "| server | places | calls | used |", "|---:|---:|---:|---:|"]
    for one in found.values():
        if isinstance(one, dict) and len(one["servers"]) > 1:
            lines += [
                f"| {number} | {each['limit']} | {each['calls']:,} | {each['used']:.1%} |"
                for number, each in enumerate(one["servers"], 1)
            ]
    lines += [
        "",
        f"Load average when it ended: {found['load']:.1f}. The µs of the run include its start and its report.",
    ]
    for name, one in found.items():
        if isinstance(one, dict) and one["pauses"]:
            lines.append(
                f"The run over {name} was stopped from outside {one['pauses']} times, {one['paused']:.0f} s in all: "
                "taken out."
            )
    lines.append("")
    return "\n".join(lines)


def server_row(one: dict[str, Any]) -> str:
    """A row of the table of runs over servers."""
    places = " + ".join(map(str, one["limits"]))
    turned_away = sum(each["turned_away"] for each in one["servers"])
    return (
        f"| {places} | {one['used_asking']:.1%} | {one['used_steps']:.1%} | {one['calls']:,} | {one['rate']:,.0f} "
        f"| {one['tokens_in']:,.0f} | {one['processor_a_call']:,.0f} | {one['server_processor']:,.0f} "
        f"| {one['failed']} | {turned_away} |"
    )


def with_section(page: str, section: str) -> str:
    """The page with a section in the place of the one of the same heading, or at its end."""
    heading = section.strip().split("\n")[0]
    before, mark, rest = page.partition(f"\n{heading}\n")
    if not mark:
        return page.rstrip("\n") + "\n" + section
    _, following, after = rest.partition("\n## ")
    return before + section + (f"\n## {after}" if following else "")


def only_servers(out: Path) -> None:
    """Measure the run over servers and put it into the page, all else as it is."""
    done = subprocess.run([sys.executable, str(HERE / "servers.py")], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    out.write_text(with_section(out.read_text(encoding="utf-8"), servers_section(found)), encoding="utf-8")
    print(f"servers: {found['one']['used_asking']:.1%} and {found['three']['used_asking']:.1%} used; written to {out}")


def main() -> None:
    """Measure every size asked for and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--out", type=Path, default=HERE / "README.md")
    parser.add_argument("--only", choices=("servers",), help="measure one section anew and leave the others")
    asked = parser.parse_args()
    if asked.only:
        only_servers(asked.out)
        return
    rows = []
    for agents in asked.sizes:
        rows.append(measure(agents, asked.steps))
        print(f"{agents:>9,} agents: {rows[-1]['seconds']:.3f} s a step, {rows[-1]['peak']:.2f} GiB", flush=True)
    done = subprocess.run([sys.executable, str(HERE / "kernel.py")], check=True, capture_output=True, text=True)
    kernel = json.loads(done.stdout.splitlines()[-1])
    print(f"exposure rule: {kernel['one_thread'] / kernel['copying']:.0f} times the published loop", flush=True)
    text = page(rows, kernel, os.getloadavg()[1])
    done = subprocess.run([sys.executable, str(HERE / "credence.py")], check=True, capture_output=True, text=True)
    credence = json.loads(done.stdout.splitlines()[-1])
    print(f"credence: {credence['step']:,.0f} rows a second with the trail", flush=True)
    text += credence_section(credence)
    done = subprocess.run([sys.executable, str(HERE / "notes.py")], check=True, capture_output=True, text=True)
    notes = json.loads(done.stdout.splitlines()[-1])
    print(f"notes: {notes['cold']:.1f} s cold, {notes['step']:.2f} s a step", flush=True)
    text += notes_section(notes)
    done = subprocess.run([sys.executable, str(HERE / "models.py")], check=True, capture_output=True, text=True)
    models = json.loads(done.stdout.splitlines()[-1])
    print(f"language models: a server is kept {models['busy']:.0%} busy", flush=True)
    text += models_section(models)
    done = subprocess.run([sys.executable, str(HERE / "servers.py")], check=True, capture_output=True, text=True)
    servers = json.loads(done.stdout.splitlines()[-1])
    print(f"model servers: {servers['one']['used_asking']:.1%} of one used", flush=True)
    text += servers_section(servers)
    done = subprocess.run([sys.executable, str(HERE / "fit.py")], check=True, capture_output=True, text=True)
    fit = json.loads(done.stdout.splitlines()[-1])
    print(f"fit: {fit['seconds']['log_odds']:.2f} s for all cells of log_odds", flush=True)
    text += fit_section(fit)
    done = subprocess.run([sys.executable, str(HERE / "analysis.py")], check=True, capture_output=True, text=True)
    analysis = json.loads(done.stdout.splitlines()[-1])
    print(f"analysis: {analysis['seconds']:.1f} s for {analysis['exposures']:,} exposures", flush=True)
    text += analysis_section(analysis)
    if CHROMIUM.exists():
        done = subprocess.run(
            [sys.executable, str(HERE / "viewer.py"), "10000"], check=True, capture_output=True, text=True
        )
        text += viewer_section(json.loads(done.stdout.splitlines()[-1]))
    text += peers_section()
    asked.out.write_text(text, encoding="utf-8")
    print(f"written to {asked.out}")


if __name__ == "__main__":
    main()
