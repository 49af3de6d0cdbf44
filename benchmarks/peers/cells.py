"""What is measured: models, sizes, forms; and how one cell is run in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psutil

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
THREADS = os.cpu_count() or 1
MEMORY_GIB = 12.0
START_LIMIT = 180.0  # seconds for imports and warm-up, which are no part of a cell's own limit


class Form(NamedTuple):
    """One way to say a model. ``home`` is the peer whose environment it runs in; empty for this project's own."""

    key: str
    label: str
    adapter: str
    home: str = ""
    threads: int = 1


class Model(NamedTuple):
    """What all its forms say."""

    key: str
    title: str
    sizes: tuple[int, ...]
    steps: int  # at most
    forms: tuple[Form, ...]


def _both_threads(label: str, adapter: str) -> tuple[Form, Form]:
    """Townsquare on one thread and on all."""
    return (Form("townsquare_1", label, adapter), Form("townsquare", label, adapter, threads=THREADS))


def _on_a_graph(rule: str, ndlib: str) -> tuple[Form, ...]:
    """A rule on a graph as everyone says it; ``ndlib`` is the model of NDlib that is nearest."""
    return (
        *_both_threads(f"Townsquare, `{rule}`", f"townsquare_rules:{rule}"),
        Form("numpy", "NumPy, a few lines", f"plain_numpy:{rule}"),
        Form("frames", "mesa-frames", f"mesa_frames_models:{rule}", "mesa-frames", THREADS),
        Form("mesa", "Mesa", f"mesa_models:{rule}", "models"),
        Form("ndlib", f"NDlib, {ndlib}", f"ndlib_models:{rule}", "models"),
    )


SIZES = (1_000, 10_000, 100_000, 1_000_000)
MODELS = (
    Model(
        "exposure",
        "Exposure beliefs: the published formula",
        SIZES,
        10,
        (
            *_both_threads("Townsquare, `exposure`", "exposure_forms:shipped"),
            Form("in_place", "the formula as a loop, in place", "exposure_forms:in_place"),
            Form("page", "the formula as published, state copied", "exposure_forms:page"),
        ),
    ),
    Model(
        "bounded_confidence",
        "Bounded confidence on a graph (Hegselmann and Krause)",
        SIZES,
        10,
        (
            *_on_a_graph("bounded_confidence", "ContinuousModel"),
            Form("ndlib_hk", "NDlib, HKModel (another schedule)", "ndlib_models:hk_as_shipped", "models"),
        ),
    ),
    Model(
        "averaging",
        "Averaging with stubbornness on a graph (Friedkin and Johnsen)",
        SIZES,
        10,
        _on_a_graph("averaging", "FJModel"),
    ),
    Model(
        "platform",
        "Platform steps: feeds, posts, likes, follows, recorded to disk",
        (100, 1_000, 10_000, 100_000),
        4,
        (
            Form("townsquare", "Townsquare, a run", "townsquare_platform:default", threads=THREADS),
            Form("sqlite", "Townsquare, all tables in SQLite", "townsquare_platform:sqlite", threads=THREADS),
            Form("direct", "camel-oasis, Platform called directly", "oasis_platform:direct", "camel-oasis"),
            Form(
                "environment", "camel-oasis, `env.step` with ManualAction", "oasis_platform:environment", "camel-oasis"
            ),
        ),
    ),
)


@dataclass
class Cell:
    """What came of one form at one size. ``why_not`` is empty where there are figures."""

    model: str
    form: str
    agents: int
    why_not: str = ""
    figures: dict[str, Any] = field(default_factory=dict)
    difference: float | None = None

    @property
    def rate(self) -> float:
        """Agents × steps a second, of the median step."""
        return self.agents / self.figures["seconds"]


def python_of(form: Form, peers: Path) -> Path:
    """The interpreter that a form runs in."""
    return peers / form.home / "bin" / "python" if form.home else Path(sys.executable)


def environment(threads: int) -> dict[str, str]:
    """This process's, with as many threads as are asked for, and no key that a peer could use."""
    pools = ("NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    # OASIS imports tokenizers and models; nothing of what is measured here needs to be fetched.
    return kept | dict.fromkeys(pools, str(threads)) | {"MPLBACKEND": "Agg", "HF_HUB_OFFLINE": "1"}


def run(
    form: Form, problem: Path, peers: Path, *, steps: int, seconds: float, limit: float, out: Path
) -> dict[str, Any]:
    """Run one cell; the figures, or ``{"why_not": ...}``. Ends it where it passes the limit of time or memory."""
    python = python_of(form, peers)
    if not python.exists():
        return {"why_not": f"not installed: `make peers` puts it into {peers.name}/{form.home}"}
    with tempfile.TemporaryDirectory() as folder:
        ready, said, error = (Path(folder) / name for name in ("ready", "out", "error"))
        command = [
            str(python),
            str(HERE / "cell.py"),
            form.adapter,
            str(problem),
            str(steps),
            str(seconds),
            str(out),
            str(ready),
        ]
        with said.open("wb") as stdout, error.open("wb") as stderr:
            process = subprocess.Popen(command, stdout=stdout, stderr=stderr, cwd=folder, env=environment(form.threads))
            why_not = watch(process, ready, limit)
        if why_not:
            return {"why_not": why_not}
        if process.returncode:
            last = error.read_text(errors="replace").strip().splitlines()[-1:]
            return {"why_not": "failed: " + (last[0] if last else f"exit status {process.returncode}")}
        return dict(json.loads(said.read_text().splitlines()[-1]))


def watch(process: subprocess.Popen[bytes], ready: Path, limit: float) -> str:
    """Wait for the end; what was passed if it had to be ended."""
    began, at_work = time.monotonic(), None
    watched = psutil.Process(process.pid)
    while process.poll() is None:
        time.sleep(0.05)
        now = time.monotonic()
        if at_work is None and ready.exists():
            at_work = now
        why_not = ""
        if at_work is None and now - began > START_LIMIT:
            why_not = f"imports and warm-up took over {START_LIMIT:.0f} s"
        elif at_work is not None and now - at_work > limit:
            why_not = f"over {limit:.0f} s"
        elif held(watched) > MEMORY_GIB:
            why_not = f"over {MEMORY_GIB:.0f} GiB"
        if why_not:
            process.kill()
            process.wait()
            return why_not
    return ""


def held(process: psutil.Process) -> float:
    """Resident memory in GiB; 0 where the process has just ended."""
    try:
        return float(process.memory_info().rss) / 2**30
    except psutil.NoSuchProcess:
        return 0.0


def foreseen(before: Cell | None, agents: int, limit: float) -> str:
    """Why a cell need not be run: the size below failed, or growth in line with agents alone would pass the limit."""
    if before is None:
        return ""
    if before.why_not.startswith("not installed"):
        return before.why_not
    if before.why_not:
        return f"not run, as {before.agents:,} agents did not end"
    times = agents / before.agents
    one = before.figures["set_up"] + before.figures["seconds"]
    if one * times > limit:
        return f"not run: set-up and one step took {one:.0f} s for {before.agents:,} agents"
    return ""
