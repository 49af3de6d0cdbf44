"""Texts as sparse rows of hashed words, word pairs and character n-grams (Weinberger and others 2009).

A hash needs no vocabulary, so that fitted numbers can be shipped without any text they came from. The hash is CRC-32:
the same in every process.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy import sparse

PLACES = 1 << 15
"""Int64 of a block of hashed features."""

Rows = sparse.csr_array


def slot_of(feature: str) -> int:
    """Return where a feature is in its block, 0 to 32,767.

    >>> slot_of("harm") == slot_of("harm")
    True
    """
    return zlib.crc32(feature.encode("utf-8", "replace")) % PLACES


def words_and_pairs(tokens: Sequence[str]) -> list[int]:
    """Return places of the words of a text, and of each two that stand side by side."""
    return [slot_of(token) for token in tokens] + [slot_of(f"{first} {second}") for first, second in pairwise(tokens)]


@lru_cache(maxsize=65536)
def pieces(word: str, shortest: int, longest: int) -> tuple[int, ...]:
    """Return int64 of the character n-grams of a word between its borders.

    >>> len(pieces("tax", 3, 5))
    6
    """
    marked = f"<{word}>"
    lengths = range(shortest, longest + 1)
    return tuple(slot_of(marked[at : at + n]) for n in lengths for at in range(len(marked) - n + 1))


def rows(texts: Iterable[tuple[Sequence[int], Sequence[float]]]) -> Rows:
    """Return sparse rows of unit length from the places and values of each text; values at one place add up.

    Returns
    -------
    (n, 32768) sparse float64
        Rows of texts without features are empty.
    """
    pointer, places, values = [0], [], []
    for at, value in texts:
        unique, inverse = np.unique(np.asarray(at, np.int64), return_inverse=True)
        summed = np.bincount(inverse, np.asarray(value, np.float64), unique.size)
        length = float(np.sqrt((summed * summed).sum()))
        places.append(unique)
        values.append(summed / length if length > 0.0 else summed)
        pointer.append(pointer[-1] + unique.size)
    data = np.concatenate([np.empty(0), *values])
    index = np.concatenate([np.empty(0, np.int64), *places])
    return Rows((data, index, np.asarray(pointer, np.int64)), shape=(len(pointer) - 1, PLACES))


def presence(texts: Iterable[Sequence[int]]) -> Rows:
    """Return rows of unit length of which features a text has, however often.

    >>> presence([[3, 3, 9]]).toarray()[0, [3, 9]].round(3).tolist()
    [0.707, 0.707]
    """
    return rows((sorted(set(at)), [1.0] * len(set(at))) for at in texts)
