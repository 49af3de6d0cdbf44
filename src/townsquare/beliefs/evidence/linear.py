"""Ridge regression by conjugate gradients, and its weights as bytes.

Every judge is linear. Sums run in a fixed order on one thread (no BLAS), so that a fit is the same whatever the number
of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from townsquare.beliefs.evidence.ngrams import Rows
from townsquare.core.array_types import Float

TOLERANCE = 1e-5
MOST_ITERATIONS = 300


class Weights(NamedTuple):
    """A linear model: ``base + features @ slope``; ``slope`` is (d,) float64."""

    base: float
    slope: Float


def fit_ridge(features: Rows, target: Float, penalty: float, weight: Float | None = None) -> Weights:
    """Minimize ``sum(w (y - mean - x b)^2) + penalty |b|^2``.

    Parameters
    ----------
    features : (n, d) sparse float64
        One row per case.
    target : (n,) float64
        What to predict.
    penalty : float
        Above 0.
    weight : (n,) float64, optional
        Of each case, at least 0; 1 where not given.

    >>> from scipy.sparse import csr_array
    >>> fit_ridge(csr_array(np.eye(2)), np.array([1.0, 3.0]), 1.0)
    Weights(base=2.0, slope=array([-0.5,  0.5]))
    """
    share = np.ones(target.shape[0]) if weight is None else np.asarray(weight, np.float64)
    base = float((share * target).sum() / share.sum())
    turned = features.T.tocsr()
    residual = turned @ (share * (target - base))
    slope = np.zeros(features.shape[1])
    direction = residual.copy()
    length = float((residual * residual).sum())
    goal = TOLERANCE * TOLERANCE * length
    for _ in range(MOST_ITERATIONS):
        if length <= goal or length == 0.0:
            break
        image = turned @ (share * (features @ direction)) + penalty * direction
        along = length / float((direction * image).sum())
        slope += along * direction
        residual -= along * image
        new = float((residual * residual).sum())
        direction = residual + (new / length) * direction
        length = new
    return Weights(base, slope)


def predict(model: Weights, features: Rows) -> Float:
    """Return predictions of a linear model, (n,) float64."""
    return np.asarray(model.base + features @ model.slope)
