"""Measure Townsquare beside its peers on this machine and write ``benchmarks/peers.md``: ``make bench-peers``.

Every form at every size runs in a process of its own, one after the other. The largest difference from an independent
loop is taken at the size that was measured, so that no form is fast by saying another model.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cells
import chart
import numpy as np
import numpy.typing as npt
import page
from cells import MODELS, ROOT, Cell, Form, Model
from contract import FOLLOWED, Problem, Running, load
from plain_numpy import FORMS as PLAIN

from townsquare.core import registry
from townsquare.core.draws import Draws, Stage

Float = npt.NDArray[np.float64]
GRAPH = dict.fromkeys(PLAIN, "symmetric")  # models that share a graph
ANOTHER_SCHEDULE = {"ndlib_hk"}
CHECKED = 1_000  # agents of the exposure model whose loop is repeated here
OUT = ROOT / "benchmarks"


def problem_of(model: str, agents: int) -> Problem:
    """The graph and the starts: drawn once for a size, the same for every form."""
    stance = np.random.default_rng(agents).uniform(-1, 1, agents)
    if model == "exposure":
        return Problem(np.zeros(agents + 1, np.int64), np.empty(0, np.int32), stance)
    kind = registry.get("graph", "scale_free")
    edges = kind.build(agents, kind.params(m=FOLLOWED), Draws(1, 0)(Stage.GRAPH))
    follower, followed = edges.follower.astype(np.int64), edges.followed.astype(np.int64)
    if model != "platform":  # NDlib's models are of symmetric graphs
        follower, followed = np.r_[follower, followed], np.r_[followed, follower]
    key = np.unique(follower * agents + followed)
    indptr = np.searchsorted(key, np.arange(agents + 1) * agents).astype(np.int64)
    return Problem(indptr, (key % agents).astype(np.int32), stance)


class Oracle:
    """Stances after each step by a second way of saying the model."""

    def __init__(self, model: str, problem: Problem) -> None:
        self.after: list[Float] = []
        if model == "exposure":
            self.running: Running | None = First(problem)
        else:
            self.running = PLAIN[model](problem) if model in PLAIN else None

    def difference(self, steps: int, stances: Float) -> float | None:
        """Largest difference after so many steps; None where the model has no stances."""
        if self.running is None:
            return None
        while len(self.after) < steps:
            self.running.prepare(len(self.after))
            self.running.step()
            found = self.running.stances()
            assert found is not None
            self.after.append(found.copy())
        expected = self.after[steps - 1]
        return float(np.abs(stances[: expected.size] - expected).max())


class First(Running):
    """The published formula for the first agents of the exposure model."""

    def __init__(self, problem: Problem) -> None:
        from exposure_forms import Loop, made

        few = problem._replace(stance=problem.stance[:CHECKED])
        self.loop, self.made, self.agents = Loop(few, copying=False), made, problem.agents

    def prepare(self, step: int) -> None:
        roots, author, stance, likes = self.made(step, self.agents)
        posts = list(zip(author.tolist(), range(author.size), stance.tolist(), likes.tolist(), strict=True))
        self.loop.feeds = [[posts[root] for root in row] for row in roots[: self.loop.agents].tolist()]

    def step(self) -> None:
        self.loop.step()

    def stances(self) -> Float:
        return self.loop.stances()


def measure(model: Model, form: Form, agents: int, problem: Path, oracle: Oracle, asked: argparse.Namespace) -> Cell:
    """One cell, with its difference from the oracle."""
    cell = Cell(model.key, form.key, agents)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "stances.npy"
        found = cells.run(
            form,
            problem,
            asked.peers,
            steps=min(model.steps, asked.steps),
            seconds=asked.seconds,
            limit=asked.limit,
            out=out,
        )
        cell.why_not = found.get("why_not", "")
        if not cell.why_not:
            cell.figures = found
            if form.key not in ANOTHER_SCHEDULE and out.exists():
                cell.difference = oracle.difference(found["steps"], np.load(out))
    return cell


def sweep(model: Model, asked: argparse.Namespace, problems: Path) -> list[Cell]:
    """Every cell of a model: by size, the forms in turns."""
    done: dict[tuple[str, int], Cell] = {}
    sizes = [size for size in model.sizes if size <= asked.largest]
    for place, agents in enumerate(sizes):
        path = problems / f"{GRAPH.get(model.key, model.key)}-{agents}.npz"
        if not path.exists():
            problem_of(model.key, agents).save(path)
        oracle = Oracle(model.key, load(path))
        for form in model.forms:
            before = done.get((form.key, sizes[place - 1])) if place else None
            why_not = cells.foreseen(before, agents, asked.limit)
            cell = Cell(model.key, form.key, agents, why_not)
            if not why_not:
                cell = measure(model, form, agents, path, oracle, asked)
            done[form.key, agents] = cell
            says = cell.why_not or f"{cell.rate:,.0f} agents × steps a second"
            print(f"{model.key}, {agents:,} agents, {form.label} ({form.threads}): {says}", flush=True)
    return list(done.values())


def taken(model: Model, asked: argparse.Namespace, problems: Path) -> dict[str, Any]:
    """A model's cells, and when and how they were taken."""
    loads, began = [os.getloadavg()[0]], time.monotonic()
    found = sweep(model, asked, problems)
    loads.append(os.getloadavg()[0])
    return {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "loads": loads,
        "minutes": (time.monotonic() - began) / 60,
        "limit": asked.limit,
        "seconds": asked.seconds,
        "cells": [asdict(cell) for cell in found],
    }


def write(known: dict[str, Any], out: Path) -> list[Cell]:
    """Figures, chart and page; the cells."""
    (out / "peers").mkdir(parents=True, exist_ok=True)
    (out / "peers" / "figures.json").write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    found = [Cell(**cell) for model in known.values() for cell in model["cells"]]
    (out / "peers" / "peers.svg").write_text(chart.draw(found), encoding="utf-8")
    (out / "peers.md").write_text(page.text(found, known), encoding="utf-8")
    return found


def main() -> None:
    """Measure, check, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--models", nargs="*", choices=[model.key for model in MODELS], help="only these; others stay as they are"
    )
    parser.add_argument("--largest", type=int, default=10**6, help="no more agents than this")
    parser.add_argument("--steps", type=int, default=10, help="steps of a cell at most")
    parser.add_argument("--seconds", type=float, default=5, help="a cell takes no further step after these")
    parser.add_argument("--limit", type=float, default=60, help="seconds for set-up and steps, then a cell is ended")
    parser.add_argument("--peers", type=Path, default=ROOT / ".venv-peers", help="folder of the peers' environments")
    parser.add_argument("--redraw", action="store_true", help="page and chart again from peers/figures.json")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for peers.md and peers/")
    asked = parser.parse_args()
    asked.peers = asked.peers.absolute()
    record = asked.out / "peers" / "figures.json"
    known = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    found = write(known, asked.out) if asked.redraw else []
    with tempfile.TemporaryDirectory() as problems:
        for model in MODELS:
            if not asked.redraw and (not asked.models or model.key in asked.models):
                known[model.key] = taken(model, asked, Path(problems))
                found = write(known, asked.out)  # what was measured outlives a run that is stopped
    print(f"written to {asked.out / 'peers.md'}")
    wrong = [cell for cell in found if cell.difference is not None and cell.difference > page.AGREE]
    if wrong:
        names = ", ".join(f"{cell.model} {cell.form} at {cell.agents:,}" for cell in wrong)
        raise SystemExit(f"these do not say the same model within {page.AGREE}: {names}")


if __name__ == "__main__":
    main()
