"""Numbers in words, for prompts: stance in five bands or ten bins, confidence in four bands.

Sources: the edges of the five and the four bands are SimSwarm's (seeds, ``simswarm-belief-formulation``, last
paragraph); the ten bins are the stance-intensity instruction of the Belief Engine (seeds, ``belief-engine``,
"Compose response"), which gives no edges: equal widths are our choice. The words are our own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Int64

DEFAULT_CONFIDENCE = 0.5

STANCE_EDGES = (-0.6, -0.2, 0.2, 0.6)
STANCE_BANDS = ("firmly against", "inclined against", "of two minds about", "inclined toward", "firmly for")

CONFIDENCE_EDGES = (0.2, 0.45, 0.75)
CONFIDENCE_BANDS = (
    "you have hardly made up your mind and are easily moved",
    "you hold this loosely and are looking at other views",
    "you are fairly settled but a good argument can move you",
    "you are deeply settled and only overwhelming evidence could move you",
)

TEN_EDGES = (-0.8, -0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8)
TEN_BINS = (
    "Reject the proposition outright and give no ground.",
    "Argue hard against the proposition; grant minor points at most.",
    "Argue against the proposition and admit what speaks for it.",
    "Lean against the proposition and weigh both sides openly.",
    "Stay close to the middle, a shade against the proposition.",
    "Stay close to the middle, a shade for the proposition.",
    "Lean toward the proposition and weigh both sides openly.",
    "Argue for the proposition and admit what speaks against it.",
    "Argue hard for the proposition; grant minor points at most.",
    "Back the proposition outright and give no ground.",
)


def stance_band(stance: npt.ArrayLike) -> Int64:
    """Number of the stance band, 0 (against) to 4 (for), in the shape of ``stance``.

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
    """Number of the confidence band, 0 (unsure) to 3 (settled), in the shape of ``confidence``.

    An edge belongs to the band above it. NaN and None are the default of 0.5.

    >>> confidence_band([0.0, 0.2, 0.45, None, 0.75]).tolist()
    [0, 1, 2, 2, 3]
    """
    value = np.nan_to_num(np.asarray(confidence, dtype=np.float64), nan=DEFAULT_CONFIDENCE)
    return np.asarray(np.searchsorted(CONFIDENCE_EDGES, value, side="right"), dtype=np.int64)


def ten_bins(stance: npt.ArrayLike) -> Int64:
    """Number of the bin of width 0.2, 0 (against) to 9 (for), in the shape of ``stance``.

    An edge belongs to the bin above it, so that a stance of exactly 0, and NaN, fall in bin 5: ten bins have no middle.

    >>> ten_bins([-1.0, -0.8, -0.01, 0.0, 0.79, 1.0]).tolist()
    [0, 1, 4, 5, 8, 9]
    """
    value = np.nan_to_num(np.asarray(stance, dtype=np.float64), nan=0.0)
    return np.asarray(np.searchsorted(TEN_EDGES, value, side="right"), dtype=np.int64)
