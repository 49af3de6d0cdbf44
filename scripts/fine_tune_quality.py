"""Fine-tune a transformer to rate arguments, for ``strength: transformer``.

Usage: ``python scripts/fine_tune_quality.py FILE BASE OUT [DEVICE]``. FILE is a table with topic, side, argument and
ratings from 0 to 1 (``check judge`` reads the same); BASE a folder or name of transformers, in the paper
``microsoft/deberta-v3-large``; OUT a folder to make. A fifth of the topics is held out and tells how well it rates.
Needs the extra ``quality``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.evidence.transformer import QualityRegressor, encode, libraries
from townsquare.core.array_types import Float
from townsquare.core.errors import DataError
from townsquare.humans.judges.argument_table import read_arguments
from townsquare.humans.judges.judge_scores import pearson, spearman


class FineTuning(NamedTuple):
    """Settings of fine-tuning.

    Attributes
    ----------
    epochs, batch : int
        Passes over the data, and arguments at a time.
    rate : float
        Learning rate of AdamW at its peak; it rises over a tenth of the steps and falls to 0.
    longest : int
        Tokens of a statement and an argument together.
    seed : int
        Of the order of the arguments and of the new output layer.
    device : str
        As in :class:`townsquare.beliefs.evidence.transformer.Params`.
    """

    epochs: int = 3
    batch: int = 16
    rate: float = 1e-5
    longest: int = 128
    seed: int = 0
    device: str = "cpu"


def fine_tune(
    base: str | Path,
    texts: Sequence[str],
    statements: Sequence[str],
    quality: npt.ArrayLike,
    out: Path,
    settings: FineTuning | None = None,
) -> list[float]:
    """Fine-tune a base model to ratings and save it with its tokenizer.

    Parameters
    ----------
    base : str or Path
        A folder, or a name that transformers can fetch.
    texts, statements : sequence of str
        n arguments and their propositions.
    quality : (n,) float64
        Ratings in [0, 1].
    out : Path
        Folder to make.
    settings : FineTuning, optional
        The defaults are for DeBERTa-v3-large.

    Returns
    -------
    list of float
        Mean squared error over each epoch.

    Raises
    ------
    DataError
        No arguments, not one rating for each, a rating outside [0, 1].
    SettingError
        The extra is not installed.
    """
    chosen, target = settings or FineTuning(), np.asarray(quality, np.float64)
    if not texts or not len(texts) == len(statements) == target.size:
        got = f"{len(texts)} texts, {len(statements)} statements, {target.size} ratings"
        raise DataError("fine-tuning", got=got, allowed="one statement and one rating for each of at least one text")
    if not ((target >= 0.0) & (target <= 1.0)).all():
        raise DataError("fine-tuning", got="a rating outside [0, 1]", allowed="ratings from 0 to 1")
    torch, transformers = libraries()
    torch.manual_seed(chosen.seed)
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(base, num_labels=1).float()
    losses = _train(torch, model.to(chosen.device).train(), tokenizer, texts, statements, target, chosen)
    model.eval().save_pretrained(out)
    tokenizer.save_pretrained(out)
    return losses


def _train(
    torch: ModuleType,
    model: Any,
    tokenizer: Any,
    texts: Sequence[str],
    statements: Sequence[str],
    target: Float,
    chosen: FineTuning,
) -> list[float]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=chosen.rate, weight_decay=0.01)
    n_batches = -(-len(texts) // chosen.batch)
    n_steps = chosen.epochs * n_batches
    rising = max(1, n_steps // 10)
    slope = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda at: min((at + 1) / rising, (n_steps - at) / max(1, n_steps - rising))
    )
    draw = np.random.default_rng(chosen.seed)
    losses = []
    for _ in range(chosen.epochs):
        total = 0.0
        for rows in np.array_split(draw.permutation(len(texts)), n_batches):
            given = encode(tokenizer, [statements[at] for at in rows], [texts[at] for at in rows], chosen.longest)
            wanted = torch.tensor(target[rows], dtype=torch.float32, device=chosen.device)
            rated = torch.sigmoid(model(**given.to(chosen.device)).logits[:, 0])
            loss = torch.nn.functional.mse_loss(rated, wanted)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            slope.step()
            total += float(loss.detach()) * len(rows)
        losses.append(total / len(texts))
    return losses


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
