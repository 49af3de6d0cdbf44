"""Random rows for every table of the schema, as awkward as a recorder can be given; shared by tests of the record."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from postgres_server import is_here, new_address
from townsquare.core import schema
from townsquare.core.identity import settings_digest
from townsquare.record.batches import Batches
from townsquare.record.content_hash import HashChain, hashed_tables
from townsquare.record.contract import Recorder, RunHeader, StepSummary
from townsquare.record.memory import MemoryRecorder
from townsquare.record.postgresql.address import address_in
from townsquare.record.postgresql.recorder import PostgresRecorder
from townsquare.record.run import Run
from townsquare.record.sqlite import FolderRecorder

SETTINGS = {"seed": 7, "feed": {"followed": 15, "others": 10}, "name": "rumor “one”"}
TEXTS = [
    "",
    "plain",
    'it\'s "quoted"; DROP TABLE ts_posts; --',
    "a\x00b",
    "\x00",
    "😀 émoji Ünïcode 漢字 \u202e rtl",
    "half \ud83d",
    "\udc00",
    "\ud83d\ude00",
    "line\r\nline\ttab",
    "123",
    "NULL",
    "<script>alert(1)</script>",
    "x" * 5000,
]
FLOATS = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 5e-324, 1.7976931348623157e308, 0.1, -1.0, 3.0])
ODD_NAN = np.array([0xFFF8000000001234], dtype=np.uint64).view(np.float64)  # a NaN with another payload


def header(*, bulky: bool = False, version: str = "0.1.0", **changed: object) -> RunHeader:
    settings = {**SETTINGS, **changed}
    return RunHeader(version, settings, settings_digest(settings), bulky, {"machine": "test"})


def random_column(rng: np.random.Generator, dtype: str, n: int) -> object:
    if dtype == "str":
        return [TEXTS[i] for i in rng.integers(0, len(TEXTS), n)]
    if dtype == "?":
        return rng.random(n) < 0.5
    if dtype.startswith("f"):
        values = np.where(rng.random(n) < 0.5, rng.choice(np.append(FLOATS, ODD_NAN), n), rng.normal(size=n))
        return values.astype(dtype)
    bounds = np.iinfo(dtype)
    ends = np.array([bounds.min, bounds.max, bounds.max // 2 + 1], dtype=dtype)
    anywhere = np.frombuffer(rng.bytes(n * ends.itemsize), dtype=dtype)
    return np.where(rng.random(n) < 0.3, rng.choice(ends, n), anywhere).astype(dtype)


def random_rows(rng: np.random.Generator, table: str, n: int, step: int) -> schema.Columns:
    """``n`` rows of any values but for ``step`` and ``born``."""
    columns = {c.name: random_column(rng, c.dtype, n) for c in schema.TABLES[table].recorded}
    columns |= {name: step for name in ("step", "born") if name in columns}
    return schema.rows(table, n, **columns)


def random_batches(step: int, seed: int = 0, most: int = 5, least: int = 0) -> Batches:
    """A step with ``least`` to ``most`` rows of each table, or twice that, added in two parts."""
    rng = np.random.default_rng([seed, step])
    out = Batches(step)
    for table in hashed_tables():
        for _ in range(rng.integers(1, 3)):
            out.add({table: random_rows(rng, table, int(rng.integers(least, most + 1)), step)})
    return out


def summary_of(out: Batches, chain: HashChain) -> StepSummary:
    values = {"seconds": 0.25, "agents": 3, "online": 2, "refused": 0}
    counts = {name: out.count(name) for name in ("exposures", "actions")}
    return StepSummary(out.step, chain.add(out.step, out.get), {**values, **counts})


def record(recorder: Recorder, steps: Iterable[Batches], *, close: str | None = "finished", **changed: object) -> int:
    """Open, hand over all steps and, unless ``close`` is None, close; returns what ``open`` returned."""
    last = recorder.open(header(**changed))  # type: ignore[arg-type]
    chain = HashChain()
    for out in steps:
        recorder.save_step(out, summary_of(out, chain))
    if close is not None:
        recorder.close(close)
    return last


def recorder_of(kind: str, folder: Path) -> MemoryRecorder | FolderRecorder | PostgresRecorder:
    """A recorder of one of :data:`KINDS`; called again for a folder, the same place. Skips where it cannot be."""
    if kind == "memory":
        return MemoryRecorder()
    if kind == "postgresql":
        return PostgresRecorder(folder, address_in(folder) or new_address())
    return FolderRecorder(folder)


def recorded(kind: str, folder: Path, steps: list[Batches]) -> Run:
    """A finished run of one of :data:`KINDS`."""
    recorder = recorder_of(kind, folder)
    record(recorder, steps, bulky=kind == "parquet")
    return Run.of(recorder) if isinstance(recorder, MemoryRecorder) else Run.open(folder)


def wait_while_running(run: Run) -> None:
    """After a writer was killed: a server frees its lock when it next looks at the connection, which takes a moment."""
    end = time.monotonic() + 60
    while run.state == "running":
        assert time.monotonic() < end, "a killed writer holds its lock for a minute"
        time.sleep(0.05)


KINDS = ("memory", "sqlite", "parquet", "postgresql")
KINDS_HERE = KINDS if is_here() else KINDS[:-1]
"""For tests that compare them: those that this machine can have."""
ON_DISK = KINDS[1:]
MakeRun = Callable[[str, Path, list[Batches]], Run]
