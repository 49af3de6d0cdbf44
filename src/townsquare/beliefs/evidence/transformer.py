"""``transformer``: rate argument strength by a fine-tuned DeBERTa-v3 regressor (seeds, section 3.1).

An extra: ``pip install 'townsquare[quality]'`` brings torch and transformers, which are imported only here, and only
when they are used. No weights come with Townsquare. :func:`fine_tune` makes a model from a base model (the paper's is
``microsoft/deberta-v3-large``) and rated arguments; the model reads the pair of statement and argument, and its one
output goes through a logistic function to [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from townsquare.beliefs.evidence.contract import StrengthJudge
from townsquare.core.array_types import Float
from townsquare.core.errors import DataError, SettingError
from townsquare.core.extras import library
from townsquare.settings.base import MemberParams


class Params(MemberParams):
    """The model and how it runs."""

    model: str = Field("", description="folder of a fine-tuned model")
    device: str = Field("cpu", description="device: cpu, cuda, cuda:1, mps")
    batch: int = Field(32, ge=1, le=4096, description="arguments per batch")
    longest: int = Field(
        128, ge=8, le=512, description="maximum tokens of a statement and an argument; longer arguments are truncated"
    )


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
        As in :class:`Params`.
    """

    epochs: int = 3
    batch: int = 16
    rate: float = 1e-5
    longest: int = 128
    seed: int = 0
    device: str = "cpu"


class QualityRegressor:
    """A loaded model. Make it with :meth:`load`."""

    def __init__(self, model: Any, tokenizer: Any, device: str) -> None:
        self._model, self._tokenizer, self._device = model.to(device).eval(), tokenizer, device

    @classmethod
    def load(cls, folder: Path | str, device: str = "cpu") -> QualityRegressor:
        """Return the model and tokenizer in a folder; nothing is downloaded.

        Raises
        ------
        SettingError
            There is no such folder, it holds no model with one output, or the extra is not installed.
        """
        path, (_, transformers) = Path(folder), _libraries()
        if not str(folder) or not path.is_dir():
            raise SettingError("strength.model", got=repr(str(folder)), allowed="the folder of a fine-tuned model")
        try:
            model = transformers.AutoModelForSequenceClassification.from_pretrained(path, local_files_only=True)
            tokenizer = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
        except (OSError, ValueError) as error:
            got = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            raise SettingError(f"model {path}", got=got, allowed="a model and tokenizer of transformers") from None
        if model.config.num_labels != 1:
            raise SettingError(f"model {path}", got=f"{model.config.num_labels} outputs", allowed="one: a regressor")
        return cls(model, tokenizer, device)

    def rate(self, texts: Sequence[str], statements: Sequence[str], batch: int = 32, longest: int = 128) -> Float:
        """Return strength of n arguments, each on the proposition next to it: (n,) float64 in [0, 1].

        Arguments of similar length are rated together; the result is in the order of ``texts``.
        """
        torch, _ = _libraries()
        out = np.zeros(len(texts))
        order = sorted(range(len(texts)), key=lambda at: (len(texts[at]), at))
        with torch.inference_mode():
            for start in range(0, len(order), batch):
                rows = order[start : start + batch]
                given = _encode(self._tokenizer, [statements[at] for at in rows], [texts[at] for at in rows], longest)
                logits = self._model(**given.to(self._device)).logits[:, 0]
                out[rows] = torch.sigmoid(logits.double()).cpu().numpy()
        return out


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
    torch, transformers = _libraries()
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
            given = _encode(tokenizer, [statements[at] for at in rows], [texts[at] for at in rows], chosen.longest)
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


def _encode(tokenizer: Any, statements: Sequence[str], texts: Sequence[str], longest: int) -> Any:
    return tokenizer(
        list(statements), list(texts), truncation="only_second", max_length=longest, padding=True, return_tensors="pt"
    )


def _libraries() -> tuple[ModuleType, ModuleType]:
    """Import torch and transformers when they are first used."""
    try:
        return library("torch", "strength: transformer"), library("transformers", "strength: transformer")
    except ImportError as error:
        do = "pip install 'townsquare[quality]'"
        raise SettingError("strength: transformer", got=str(error), allowed="torch and transformers", do=do) from None


@lru_cache(maxsize=2)
def _loaded(folder: str, device: str) -> QualityRegressor:
    return QualityRegressor.load(folder, device)


def estimate(claims: Sequence[str], statements: Sequence[str], params: Params) -> Float:
    """Return strength by the model that the settings name, (n,) float64 in [0, 1]."""
    return _loaded(params.model, params.device).rate(claims, statements, params.batch, params.longest)


JUDGE = StrengthJudge("transformer", Params, estimate)
