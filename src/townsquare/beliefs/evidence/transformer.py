"""``transformer``: rate argument strength by a fine-tuned DeBERTa-v3 regressor (seeds, section 3.1).

An extra: ``pip install 'townsquare[quality]'`` brings torch and transformers, which are imported only here, and only
when they are used. No weights come with Townsquare: ``scripts/fine_tune_quality.py`` makes a model from a base model
(the paper's is ``microsoft/deberta-v3-large``) and rated arguments. The model reads the pair of statement and argument,
and its one output goes through a logistic function to [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from townsquare.beliefs.evidence.contract import StrengthJudge
from townsquare.core.array_types import Float
from townsquare.core.errors import SettingError
from townsquare.core.extras import library
from townsquare.settings.base import MemberParams, setting


class Params(MemberParams):
    """The model and how it runs."""

    model: str = setting("", "folder of a fine-tuned model")
    device: str = setting("cpu", "device: cpu, cuda, cuda:1, mps")
    batch: int = setting(32, "arguments per batch", ge=1, le=4096)
    longest: int = setting(
        128, "maximum tokens of a statement plus an argument; longer arguments are truncated", ge=8, le=512
    )


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
        path, (_, transformers) = Path(folder), libraries()
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
        torch, _ = libraries()
        out = np.zeros(len(texts))
        order = sorted(range(len(texts)), key=lambda at: (len(texts[at]), at))
        with torch.inference_mode():
            for start in range(0, len(order), batch):
                rows = order[start : start + batch]
                given = encode(self._tokenizer, [statements[at] for at in rows], [texts[at] for at in rows], longest)
                logits = self._model(**given.to(self._device)).logits[:, 0]
                out[rows] = torch.sigmoid(logits.double()).cpu().numpy()
        return out


def encode(tokenizer: Any, statements: Sequence[str], texts: Sequence[str], longest: int) -> Any:
    """Return the tokens of pairs of statement and text, as tensors."""
    return tokenizer(
        list(statements), list(texts), truncation="only_second", max_length=longest, padding=True, return_tensors="pt"
    )


def libraries() -> tuple[ModuleType, ModuleType]:
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
