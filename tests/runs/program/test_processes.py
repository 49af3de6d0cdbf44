"""A run is the same whichever process takes it, and however many there are."""

from __future__ import annotations

from pathlib import Path

import townsquare as ts
from townsquare.experiments.comparison import compare


def test_one_process_or_two_give_the_same_hashes(tmp_path: Path) -> None:
    base = {"scenario": "synthetic:60", "agents": 40, "steps": 4}
    hashes = []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        compare([base], {"moderation.strategy": ["none", "hybrid"]}, [1, 2], folder, workers=workers)
        hashes.append(
            {path.parent.relative_to(folder): ts.Run.open(path.parent).content_hash for path in folder.rglob("run.db")}
        )
    assert len(hashes[0]) == 4
    assert hashes[0] == hashes[1]
