"""A run reads the same from memory, SQLite and Parquet."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

import townsquare as ts
from townsquare.record.memory import MemoryRecorder
from townsquare.settings.resolve import resolve

MIXED = {
    "agents": 300,
    "steps": 5,
    "moderation": {"strategy": "hybrid"},
    "treatments": [{"name": "blind", "share": 0.5, "effects": {"labels": "hidden"}}],
    "activation": {"batches": 2},
}


def test_a_run_reads_the_same_from_every_store(tmp_path: Path) -> None:
    """Agents who see labels and agents who do not, in turns: codes differ between them, rows do not."""
    in_parquet = ts.simulate(resolve(MIXED | {"record": {"parquet_above": 0}}), tmp_path / "parquet")
    in_sqlite = ts.simulate(resolve(MIXED), tmp_path / "sqlite")
    in_memory = ts.simulate(resolve(MIXED), MemoryRecorder())
    assert in_parquet.content_hash == in_sqlite.content_hash == in_memory.content_hash
    for name in ("exposures", "trail"):
        assert_frame_equal(in_parquet.table(name), in_sqlite.table(name))
        assert_frame_equal(in_parquet.table(name), in_memory.table(name))
    labels = in_parquet.table("exposures").group_by("agent").agg(pl.col("verdict").max(), pl.col("weight").min())
    assert labels.filter(pl.col("verdict") == 0).height > 0 < labels.filter(pl.col("verdict") > 0).height
