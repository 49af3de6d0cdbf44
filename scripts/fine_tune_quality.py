"""Fine-tune a transformer to rate arguments, for ``strength: transformer``.

Usage: ``python scripts/fine_tune_quality.py FILE BASE OUT [DEVICE]``. FILE is a table with topic, side, argument and
ratings from 0 to 1 (``check judge`` reads the same); BASE a folder or name of transformers, in the paper
``microsoft/deberta-v3-large``; OUT a folder to make. A fifth of the topics is held out and tells how well it rates.
Needs the extra ``quality``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from townsquare.beliefs.evidence.transformer import FineTuning, QualityRegressor, fine_tune
from townsquare.humans.judges.argument_table import read_arguments
from townsquare.humans.judges.judge_scores import pearson, spearman


def main(file: Path, base: str, out: Path, device: str) -> None:
    """Fine-tune, save, and rate what was held out."""
    table = read_arguments(file)
    held = np.isin(np.asarray(table.topic, np.str_), np.asarray(table.topics[::5], np.str_))
    rated = np.isfinite(table.quality)
    train, test = np.flatnonzero(rated & ~held), np.flatnonzero(rated & held)
    texts, topics = list(table.text), list(table.topic)
    losses = fine_tune(
        base,
        [texts[at] for at in train],
        [topics[at] for at in train],
        table.quality[train],
        out,
        FineTuning(device=device),
    )
    said = QualityRegressor.load(out, device).rate([texts[at] for at in test], [topics[at] for at in test])
    truth = table.quality[test]
    sys.stdout.write(f"mean squared error by epoch: {', '.join(f'{loss:.4f}' for loss in losses)}\n")
    sys.stdout.write(f"{test.size} held out: r {pearson(said, truth):.3f}, rho {spearman(said, truth):.3f}\n")


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit("usage: python scripts/fine_tune_quality.py FILE BASE OUT [DEVICE]")
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4] if len(sys.argv) == 5 else "cpu")
