"""Measure the recorders against each other: the steps of one run, handed to each in turn; prints a table.

``python benchmarks/records.py --postgresql postgresql://USER@HOST/DATABASE``; without an address, PostgreSQL is left
out. Rows a second count all rows of all tables, from the first ``save_step`` to the end of the last one, by the clock
and by seconds of processor; of the server, which must be on this machine, those of the process that serves the
recorder count too. Closing makes the indexes and is timed apart, and so is reading the exposures back. Each recorder
has its turn three times; the median counts. Every turn ends with the same content hash.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil

import townsquare as ts
from townsquare.core import schema
from townsquare.record.batches import Batches
from townsquare.record.contract import Recorder, RunHeader, StepSummary
from townsquare.record.postgresql import server, tables
from townsquare.record.postgresql.address import Address
from townsquare.record.postgresql.recorder import PostgresRecorder
from townsquare.simulation.run import header

TURNS = 3
KINDS = ("SQLite", "Parquet", "PostgreSQL")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--agents", type=int, default=5_000)
    options.add_argument("--steps", type=int, default=4)
    options.add_argument("--postgresql", default="", metavar="URL")
    given = options.parse_args()
    settings = ts.resolve_for("health-rumor@1", None, agents=given.agents, steps=given.steps)
    print(f"load average at the start: {os.getloadavg()[0]:.1f}", flush=True)
    run = ts.simulate(settings)
    steps = list(batches(run))
    rows = sum(run.counts.values())
    print(f"{given.agents:,} agents, {given.steps} steps, {rows:,} rows, {run.counts['exposures']:,} of them exposures")
    kinds = KINDS if given.postgresql else KINDS[:2]
    times: dict[str, list[tuple[float, float, float, float]]] = {kind: [] for kind in kinds}
    for _ in range(TURNS):
        for kind in kinds:
            with recorder_of(kind, given.postgresql) as (recorder, folder):
                times[kind].append(turn(recorder, folder, header(settings), kind, steps, run.content_hash))
    print("| recorder | rows a second | rows a second of processor | seconds to close | exposures read a second |")
    print("|---|---:|---:|---:|---:|")
    for kind in kinds:
        save, busy, close, read = (statistics.median(column) for column in zip(*times[kind], strict=True))
        speeds = f"{rows / save:,.0f} | {rows / busy:,.0f}"
        print(f"| {kind} | {speeds} | {close:.2f} | {run.counts['exposures'] / read:,.0f} |")
    print(f"load average at the end: {os.getloadavg()[0]:.1f}")


def batches(run: ts.Run) -> Iterator[tuple[Batches, StepSummary]]:
    """The steps of a run as the simulation handed them over."""
    for values in run.steps.iter_rows(named=True):
        step, content = values.pop("step"), values.pop("hash")
        out = Batches(step)
        added = run.added(step)
        out.add({name: added(name) for name in schema.TABLES if name != "steps"})
        yield out, StepSummary(step, content, values)


@contextmanager
def recorder_of(kind: str, url: str) -> Iterator[tuple[Recorder, Path]]:
    """A recorder in a fresh place, taken away afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if kind != "PostgreSQL":
            yield ts.FolderRecorder(folder), folder
            return
        address = Address.parse(url, f"benchmark_{os.getpid()}")
        yield PostgresRecorder(folder, address), folder
        with closing(server.connect(address, writing=True)) as connection:
            tables.drop(connection, address, whole=True)


def turn(
    recorder: Recorder, folder: Path, of: RunHeader, kind: str, steps: list[tuple[Batches, StepSummary]], wanted: str
) -> tuple[float, float, float, float]:
    """Seconds to save all steps, seconds of processor for that, seconds to close, and to read all exposures."""
    recorder.open(RunHeader(of.version, of.settings, of.settings_hash, bulky=kind == "Parquet"))
    process = backend(recorder)
    began, busy = time.perf_counter(), seconds_of(process)
    for out, summary in steps:
        recorder.save_step(out, summary)
    saved, busy = time.perf_counter(), seconds_of(process) - busy
    recorder.close("finished")
    closed = time.perf_counter()
    run = ts.Run.open(folder)
    run.table("exposures")
    read = time.perf_counter()
    assert run.content_hash == wanted
    return saved - began, busy, closed - saved, read - closed


def backend(recorder: Recorder) -> psutil.Process | None:
    """The process of the server that holds the recorder's lock."""
    if not isinstance(recorder, PostgresRecorder):
        return None
    with closing(server.connect(recorder.address)) as connection:
        found = server.lock_holder(connection, recorder.address)
    return psutil.Process(found[0]) if found else None


def seconds_of(process: psutil.Process | None) -> float:
    """Seconds of processor that this process has used, and the other one."""
    other = process.cpu_times() if process else None
    return time.process_time() + (other.user + other.system if other else 0.0)


if __name__ == "__main__":
    main()
