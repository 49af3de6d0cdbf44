"""``hashing``: hash word pairs and character n-grams to vectors; no model, no vocabulary.

Weinberger and others 2009, "Feature hashing for large scale multitask learning". It finds texts that share words, such
as light paraphrases and copies; a paraphrase in other words it does not find.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from townsquare.beliefs.evidence.contract import Embedder
from townsquare.core.array_types import Float
from townsquare.core.draws import text_key
from townsquare.settings.config import MemberParams, setting

THETA, THETA_SELF = 0.65, 0.25
"""As ``townsquare check theta`` chooses them on the bundled paraphrases; ``docs/judges.md`` has the figures."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


class Params(MemberParams):
    """The size of the vectors."""

    dimensions: int = setting(1024, "dimensions of a vector; more dimensions give fewer collisions", ge=16, le=65536)


def embed(texts: Sequence[str], params: Params) -> Float:
    """Return rows of unit length, (n, dimensions); a text without words is a row of zeros."""
    out = np.zeros((len(texts), params.dimensions))
    for row, text in enumerate(texts):
        for feature in _features(text):
            key = text_key(feature)
            out[row, key % params.dimensions] += 1.0 if key >> 63 else -1.0
    length = np.sqrt(np.einsum("ij,ij->i", out, out))
    return out / np.where(length > 0, length, 1.0)[:, None]


def _features(text: str) -> Iterator[str]:
    words = [word.lower() for word in _WORD.findall(text)]
    for word in words:
        yield f"w {word}"
        padded = f" {word} "
        yield from (f"c {padded[k : k + 4]}" for k in range(max(1, len(padded) - 3)))
    yield from (f"p {first} {second}" for first, second in pairwise(words))


EMBEDDER = Embedder("hashing", Params, embed, THETA, THETA_SELF)
