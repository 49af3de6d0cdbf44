"""Numbers in words, for prompts: stance in five bands or ten bins, confidence in four bands.

Sources: the edges of the five and the four bands are SimSwarm's (seeds, ``simswarm-belief-formulation``, last
paragraph); the ten bins are the stance-intensity instruction of the Belief Engine (seeds, ``belief-engine``,
"Compose response"), which gives no edges: equal widths are our choice. The words are
our own and are in ``data/bands.yaml``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Int64
from townsquare.core.documents import read_yaml
from townsquare.core.files import bundled_folder

DEFAULT_CONFIDENCE = 0.5

STANCE_EDGES = (-0.6, -0.2, 0.2, 0.6)
CONFIDENCE_EDGES = (0.2, 0.45, 0.75)
TEN_EDGES = (-0.8, -0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8)
_WORDS: Any = read_yaml(bundled_folder() / "bands.yaml")
STANCE_BANDS, CONFIDENCE_BANDS, TEN_BINS = (tuple(_WORDS[name]) for name in ("stance", "confidence", "ten_bins"))
"""Words of the bands, from low to high."""


def stance_band(stance: npt.ArrayLike) -> Int64:
    """Return number of the stance band, 0 (against) to 4 (for), in the shape of ``stance``.

    An edge belongs to the band above it, but −0.6 and −0.2 to the band below, so that the middle band is open on its
    lower side. NaN, no belief at all, is the middle.

    >>> stance_band([-1.0, -0.6, -0.2, 0.0, 0.2, 0.6]).tolist()
    [0, 0, 1, 2, 3, 4]
    """
    value = np.nan_to_num(np.asarray(stance, dtype=np.float64), nan=0.0)
    below = np.searchsorted(STANCE_EDGES[:2], value, side="left")
    above = np.searchsorted(STANCE_EDGES[2:], value, side="right")
    return np.asarray(below + above, dtype=np.int64)


def confidence_band(confidence: npt.ArrayLike) -> Int64:
    """Return number of the confidence band, 0 (unsure) to 3 (settled), in the shape of ``confidence``.

    An edge belongs to the band above it. NaN and None are the default of 0.5.

    >>> confidence_band([0.0, 0.2, 0.45, None, 0.75]).tolist()
    [0, 1, 2, 2, 3]
    """
    value = np.nan_to_num(np.asarray(confidence, dtype=np.float64), nan=DEFAULT_CONFIDENCE)
    return np.asarray(np.searchsorted(CONFIDENCE_EDGES, value, side="right"), dtype=np.int64)


def ten_bins(stance: npt.ArrayLike) -> Int64:
    """Return number of the bin of width 0.2, 0 (against) to 9 (for), in the shape of ``stance``.

    An edge belongs to the bin above it, so that a stance of exactly 0, and NaN, fall in bin 5: ten bins have no middle.

    >>> ten_bins([-1.0, -0.8, -0.01, 0.0, 0.79, 1.0]).tolist()
    [0, 1, 4, 5, 8, 9]
    """
    value = np.nan_to_num(np.asarray(stance, dtype=np.float64), nan=0.0)
    return np.asarray(np.searchsorted(TEN_EDGES, value, side="right"), dtype=np.int64)
