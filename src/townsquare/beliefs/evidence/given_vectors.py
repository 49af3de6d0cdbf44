"""``given``: vectors from a file, made by a model of the user's choice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from townsquare.beliefs.evidence.contract import Embedder
from townsquare.core import tabular
from townsquare.core.array_types import Float
from townsquare.core.errors import DataError, SettingError
from townsquare.settings.config import MemberParams, setting

THETA, THETA_SELF = 0.85, 0.50
"""The paper's, for sentence embeddings: set ``evidence.theta`` to what was calibrated for the model in use."""


class Params(MemberParams):
    """The file of vectors."""

    file: str = setting("", "JSONL with one text and its vector per line: {text: ..., vector: [...]}", file="here")


def embed(texts: Sequence[str], params: Params) -> Float:
    """Return the vectors of the texts, (n, d), looked up by the whole text.

    Raises
    ------
    SettingError
        No file is named.
    DataError
        The file is not there, a line is at fault, or a text has no vector.
    """
    if not params.file:
        raise SettingError("embedder.file", got="nothing", allowed="a JSONL file of texts and vectors")
    known = _read(params.file)
    missing = [text for text in texts if text not in known]
    if missing:
        do = f"add it; {len(missing)} of {len(texts)} texts have none" if len(missing) > 1 else "add it"
        raise DataError(params.file, got=f"no vector for {missing[0][:80]!r}", do=do)
    return np.array([known[text] for text in texts], np.float64)


@lru_cache(maxsize=2)
def _read(path: str) -> dict[str, tuple[float, ...]]:
    vectors: dict[str, tuple[float, ...]] = {}
    size = 0
    for record in tabular.jsonl_records(Path(path)):
        text, vector = record.cells.get("text"), _vector(record)
        size = size or len(vector)
        if not isinstance(text, str):
            raise DataError(record.where("text"), got=repr(text)[:80], allowed="a text")
        if len(vector) != size:
            raise DataError(record.where("vector"), got=f"{len(vector)} numbers", allowed=f"{size}, as before")
        vectors[text] = vector
    return vectors


def _vector(record: tabular.Record) -> tuple[float, ...]:
    given: Any = record.cells.get("vector")
    try:
        numbers = tuple(float(number) for number in given)
    except (TypeError, ValueError, OverflowError):
        numbers = ()
    if not numbers or not np.isfinite(numbers).all():
        raise DataError(record.where("vector"), got=repr(given)[:80], allowed="a list of numbers")
    return numbers


EMBEDDER = Embedder("given", Params, embed, THETA, THETA_SELF)
