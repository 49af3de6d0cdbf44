"""Near-duplicates among claims, found once for all agents: pairs of one proposition and polarity by cosine.

Vectors are kept in single precision. A matrix product screens; what comes near the threshold is computed again in
double precision from left to right, so that the cosine does not depend on the number of threads or the library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from townsquare.beliefs.evidence.contract import Embedder
from townsquare.core.errors import ContractError
from townsquare.settings.config import MemberParams

Float = npt.NDArray[np.float64]
Single = npt.NDArray[np.float32]
_SCREEN = 1e-3  # single precision errs by far less
_ROWS = 1024  # compared at a time, so that the product stays small


class NearPairs(NamedTuple):
    """Pairs of places: ``later`` and ``earlier`` (p,) int64, ``similarity`` (p,) float64, by later and then earlier."""

    later: npt.NDArray[np.int64]
    earlier: npt.NDArray[np.int64]
    similarity: Float


@dataclass(slots=True)
class Vectors:
    """The vectors of claims met so far, by text: a memory of what the embedder said, which it would say again."""

    embedder: Embedder
    params: MemberParams
    known: dict[str, Single] = field(default_factory=dict)

    def of(self, texts: Sequence[str]) -> Single:
        """(n, d) float32 of unit length; a text without any feature is a row of zeros.

        Raises
        ------
        ContractError
            The embedder gives something else than one row of finite numbers a text.
        """
        missing = [text for text in dict.fromkeys(texts) if text not in self.known]
        if missing:
            given = np.asarray(self.embedder.embed(missing, self.params), np.float64)
            if given.ndim != 2 or given.shape[0] != len(missing) or not np.isfinite(given).all():
                got = f"{given.shape} for {len(missing)} texts, or numbers that are not finite"
                raise ContractError(f"embedder {self.embedder.name!r}", got=got, allowed="finite (n, d) for n texts")
            length = np.sqrt(np.einsum("ij,ij->i", given, given))
            unit = (given / np.where(length > 0, length, 1.0)[:, None]).astype(np.float32)
            self.known.update(zip(missing, unit, strict=True))
        return np.stack([self.known[text] for text in texts]) if texts else np.empty((0, 0), np.float32)


@nb.njit(cache=True, error_model="numpy")
def _cosines(one: Single, other: Single, row: npt.NDArray[np.int64], column: npt.NDArray[np.int64], out: Float) -> None:
    for p in range(row.shape[0]):
        product, size_one, size_other = 0.0, 0.0, 0.0
        for d in range(one.shape[1]):
            a, b = float(one[row[p], d]), float(other[column[p], d])
            product += a * b
            size_one += a * a
            size_other += b * b
        size = np.sqrt(size_one * size_other)
        out[p] = product / size if size > 0.0 else 0.0


def cosines(vectors: npt.ArrayLike, one: npt.ArrayLike, other: npt.ArrayLike) -> Float:
    """Cosine of rows ``one`` and ``other`` (p,) of ``vectors`` (n, d), each in [-1, 1]; 0 where a row has no length.

    >>> cosines([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [0, 0], [1, 2]).tolist()
    [1.0, 0.0]
    """
    rows = np.ascontiguousarray(vectors, np.float32)
    at, beside = np.ascontiguousarray(one, np.int64), np.ascontiguousarray(other, np.int64)
    out = np.empty(at.size)
    _cosines(rows, rows, at, beside, out)
    return np.clip(out, -1.0, 1.0)


def near_pairs(vectors: Single, texts: Sequence[str], first: int, threshold: float) -> NearPairs:
    """Pairs at or above a threshold of which at least one stands at ``first`` or later.

    Parameters
    ----------
    vectors : (n, d) float32
        Of claims of one proposition and polarity, in order of their rows; each of length 1 or 0.
    texts : sequence of str
        Their texts: equal ones have a similarity of 1, whatever their vectors.
    first : int
        The first claim that has not been compared with those before it.
    threshold : float
        In (0, 1].
    """
    n = vectors.shape[0]
    found: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = []
    for lo in range(first, n, _ROWS):
        hi = min(lo + _ROWS, n)
        rough = vectors[lo:hi] @ vectors[:hi].T
        row, column = np.nonzero(rough >= threshold - _SCREEN)
        keep = column < row + lo
        found.append((row[keep] + lo, column[keep]))
    same = _equal_texts(texts, first)
    later = np.concatenate([*(part[0] for part in found), same[0]]).astype(np.int64)
    earlier = np.concatenate([*(part[1] for part in found), same[1]]).astype(np.int64)
    pairs = np.unique(np.stack([later, earlier]), axis=1)
    similarity = cosines(vectors, pairs[0], pairs[1]) if pairs.size else np.empty(0)
    similarity[[texts[a] == texts[b] for a, b in pairs.T.tolist()]] = 1.0
    near = similarity >= threshold
    return NearPairs(pairs[0][near], pairs[1][near], similarity[near])


def _equal_texts(texts: Sequence[str], first: int) -> tuple[list[int], list[int]]:
    places: dict[str, list[int]] = {}
    later, earlier = [], []
    for at, text in enumerate(texts):
        before = places.setdefault(text, [])
        if at >= first:
            later += [at] * len(before)
            earlier += before
        before.append(at)
    return later, earlier
