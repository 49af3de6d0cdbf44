"""Two measures of polarization, which answer different questions.

*Esteban–Ray* (Esteban and Ray 1994, "On the measurement of polarization", Econometrica 62) asks how strongly people
belong to camps that stand far apart: Σᵢ Σⱼ pᵢ^(1+α) pⱼ |yᵢ − yⱼ| over groups of share p at place y, with α the weight
of belonging. *Bimodality* (the coefficient of SAS; Pfister, Schwarz, Janczyk, Dale and Freeman 2013, Frontiers in
Psychology 4:700) asks whether the distribution has two humps, however near: (skewness² + 1) / kurtosis. The standard
deviation, which measures spread alone, stands beside them in :func:`~townsquare.analysis.beliefs.belief_course`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

ALPHA = 1.3
"""Weight of belonging; for a measure of polarization Esteban and Ray bound it by 1 and 1.6."""


def esteban_ray(counts: npt.ArrayLike, places: npt.ArrayLike, alpha: float = ALPHA) -> float:
    """Polarization of groups on the line, scaled so that two equal camps at -1 and +1 give 1.

    Parameters
    ----------
    counts : array, shape (k,)
        Agents in each group; at least 0.
    places : array, shape (k,)
        Mean stance of each group, -1 to 1.
    alpha : float
        Weight of belonging, 0 to 1.6.

    Returns
    -------
    float
        0 when all stand in one place; NaN without agents. Between them at most 1 for stances in [-1, 1].

    Examples
    --------
    >>> esteban_ray([50, 50], [-1.0, 1.0]), esteban_ray([100], [0.4])
    (1.0, 0.0)
    """
    n, y = np.asarray(counts, dtype=np.float64), np.asarray(places, dtype=np.float64)
    if n.sum() == 0:
        return float("nan")
    p = n / n.sum()
    apart = np.abs(y[:, None] - y[None, :])
    return float(2.0**alpha * (p ** (1.0 + alpha) @ apart @ p))


def bimodality(skewness: float, excess_kurtosis: float, n: int) -> float:
    """Bimodality coefficient with the sample correction; the uniform distribution has 5/9 = 0.555, two points have 1.

    Parameters
    ----------
    skewness, excess_kurtosis : float
        Bias-corrected sample moments (g₁ and g₂ as SAS and SPSS give them).
    n : int
        Agents.

    Returns
    -------
    float
        0 to 1; above 0.555 speaks for two humps. NaN under four agents or without spread.

    Examples
    --------
    >>> round(bimodality(0.0, -1.2, 10**9), 3)
    0.556
    """
    if n < 4:
        return float("nan")
    return (skewness**2 + 1.0) / (excess_kurtosis + 3.0 * (n - 1) ** 2 / ((n - 2) * (n - 3)))
