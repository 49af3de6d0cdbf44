"""Fitted weights that ship with Townsquare: ``data/judges/*.npz`` and ``fitted.json``.

``scripts/train_judges.py`` makes them. They hold hashed weights and no text of the data they were fitted on;
``fitted.json`` names the data, their licenses, and the topics, so that a report can say what the judges have seen.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from townsquare.beliefs.evidence.linear import Weights
from townsquare.beliefs.evidence.words import JUDGES
from townsquare.core.array_types import Float
from townsquare.core.documents import read_json


class Fitted(NamedTuple):
    """Fitted weights of the embedded judges.

    Attributes
    ----------
    polarity : Weights
        Of the general model, for :func:`townsquare.beliefs.evidence.polarity_features.general_features`.
    polarity_topics : frozenset of str
        Statements it was fitted on.
    general_scale, bank_scale : float
        Log odds of being right a unit of score, without and with a bank.
    strength : Weights
        For :func:`townsquare.beliefs.evidence.strength.strength_rows`.
    strength_mean, strength_spread : (49,) float64
        Of the counts in the training data.
    strength_topics : frozenset of str
        Topics it was fitted on.
    background : (32768,) float64
        Share of arguments that hold a stem, by its place, as the mean over topics.
    continuation : (k,) float64
        Weights of :mod:`townsquare.beliefs.evidence.passages`.
    about : dict
        Sources, licenses and dates.
    """

    polarity: Weights
    polarity_topics: frozenset[str]
    general_scale: float
    bank_scale: float
    strength: Weights
    strength_mean: Float
    strength_spread: Float
    strength_topics: frozenset[str]
    background: Float
    continuation: Float
    about: dict[str, Any]


@lru_cache(maxsize=1)
def fitted() -> Fitted:
    """Return the shipped numbers, read once."""
    about: dict[str, Any] = read_json(JUDGES / "fitted.json")
    with np.load(JUDGES / "fitted.npz", allow_pickle=False) as arrays:
        bytes_of = {name: arrays[name] for name in arrays.files}
    polarity, strength = about["polarity"], about["strength"]
    return Fitted(
        polarity=Weights(polarity["base"], bytes_of["polarity"] * float(polarity["unit"])),
        polarity_topics=frozenset(polarity["topics"]),
        general_scale=polarity["general_scale"],
        bank_scale=polarity["bank_scale"],
        strength=Weights(strength["base"], bytes_of["strength"] * float(strength["unit"])),
        strength_mean=np.asarray(strength["mean"], np.float64),
        strength_spread=np.asarray(strength["spread"], np.float64),
        strength_topics=frozenset(strength["topics"]),
        background=bytes_of["background"].astype(np.float64),
        continuation=np.asarray(about["continuation"]["weights"], np.float64),
        about=about,
    )
