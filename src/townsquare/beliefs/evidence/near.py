"""Near-duplicate claims: pairs of one proposition and polarity by cosine, computed once for all agents.

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
from townsquare.core.array_types import Float, Float32, Int64
from townsquare.core.errors import ContractError
from townsquare.settings.config import MemberParams

_SCREEN = 1e-3  # single precision errs by far less
_ROWS = 1024  # compared at a time, so that the product stays small


class NearPairs(NamedTuple):
    """Pairs of places: ``later`` and ``earlier`` (p,) int64, ``similarity`` (p,) float64, by later and then earlier."""

    later: Int64
    earlier: Int64
    similarity: Float


@dataclass(slots=True)
class Vectors:
    """The vectors of claims met so far, by text: a memory of what the embedder said, which it would say again."""

    embedder: Embedder
    params: MemberParams
    known: dict[str, Float32] = field(default_factory=dict)

    def of(self, texts: Sequence[str]) -> Float32:
        """Return (n, d) float32 of unit length; a text without any feature is a row of zeros.

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
def _cosines(left: Float32, right: Float32, row: Int64, column: Int64, out: Float) -> None:
    for p in range(row.shape[0]):
        product, size_left, size_right = 0.0, 0.0, 0.0
        for d in range(left.shape[1]):
            a, b = float(left[row[p], d]), float(right[column[p], d])
            product += a * b
            size_left += a * a
            size_right += b * b
        size = np.sqrt(size_left * size_right)
        out[p] = product / size if size > 0.0 else 0.0


def cosines(vectors: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike) -> Float:
    """Return cosines of rows ``first`` and ``second`` (p,) of ``vectors`` (n, d), in [-1, 1]; 0 for a zero row.

    >>> cosines([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [0, 0], [1, 2]).tolist()
    [1.0, 0.0]
    """
    rows = np.ascontiguousarray(vectors, np.float32)
    left, right = np.ascontiguousarray(first, np.int64), np.ascontiguousarray(second, np.int64)
    out = np.empty(left.size)
    _cosines(rows, rows, left, right, out)
    return np.clip(out, -1.0, 1.0)


def near_pairs(vectors: Float32, texts: Sequence[str], first: int, threshold: float) -> NearPairs:
    """Return pairs at or above a threshold of which at least one is at ``first`` or later.

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
    n, numbers = vectors.shape[0], {text: at for at, text in enumerate(dict.fromkeys(texts))}
    code = np.array([numbers[text] for text in texts], np.int64)
    later, earlier = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for lo in range(first, n, _ROWS):
        hi = min(lo + _ROWS, n)
        rough = vectors[lo:hi] @ vectors[:hi].T
        row, column = np.nonzero((rough >= threshold - _SCREEN) | (code[lo:hi, None] == code[:hi]))
        before = column < row + lo
        later.append(row[before] + lo)
        earlier.append(column[before])
    left, right = np.concatenate(later), np.concatenate(earlier)
    similarity = cosines(vectors, left, right) if left.size else np.empty(0)
    similarity[code[left] == code[right]] = 1.0
    near = similarity >= threshold
    return NearPairs(left[near], right[near], similarity[near])
