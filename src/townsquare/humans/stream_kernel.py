"""Compiled conflict resolution of one person's claims, in the order in which they came (appendix B).

The rules are those of :func:`townsquare.evidence.conflict.resolve_conflict`; a claim with the text of an active one has
a similarity of 1 to it.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Single = npt.NDArray[np.float32]

ACCEPTED, REFUSED = 1, 0


@nb.njit(cache=True, error_model="numpy")
def _cosine(one: Single, other: Single) -> float:
    total = 0.0
    for d in range(one.shape[0]):
        total += float(one[d]) * float(other[d])
    return total


@nb.njit(cache=True, error_model="numpy")
def _nearest(
    first: int, x: int, polarity: Float, text: Int, vectors: Single, active: npt.NDArray[np.bool_], blank: int
) -> tuple[int, float]:
    """The nearest active claim of the same polarity before ``x``, the first of equals; -1 if there is none."""
    best, similarity = -1, -2.0
    for y in range(first, x):
        if not active[y] or polarity[y] != polarity[x]:
            continue
        same = text[y] == text[x] and text[x] != blank
        cosine = 1.0 if same else _cosine(vectors[text[y]], vectors[text[x]])
        if cosine > similarity:
            best, similarity = y, cosine
    return best, similarity


@nb.njit(cache=True, error_model="numpy")
def resolve(
    indptr: Int,
    polarity: Float,
    strength: Float,
    text: Int,
    vectors: Single,
    theta: float,
    blank: int,
    accepted: npt.NDArray[np.uint8],
    replaced: Int,
) -> None:
    """Write for each claim whether it became active, and which one it replaced (-1 for none).

    ``indptr`` (n + 1,) is a CSR by person over the c claims; ``text`` (c,) are rows of ``vectors`` (t, d), of
    unit length. ``blank`` is the row of the empty text, -1 for none: data without texts have no near-duplicates.
    """
    active = np.zeros(polarity.shape[0], np.bool_)
    for i in range(indptr.shape[0] - 1):
        for x in range(indptr[i], indptr[i + 1]):
            near, similarity = _nearest(indptr[i], x, polarity, text, vectors, active, blank)
            replaced[x] = -1
            if near >= 0 and similarity >= theta:
                if strength[x] <= strength[near]:
                    accepted[x] = REFUSED
                    continue
                active[near] = False
                replaced[x] = near
            active[x] = True
            accepted[x] = ACCEPTED
