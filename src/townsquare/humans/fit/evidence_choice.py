"""Options for reading evidence from received messages, before a fit."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from townsquare.beliefs.equation import STANCE_MARGIN
from townsquare.settings.config import MemberParams

Polarity = Literal["given", "named", "listed", "embedded"]
Strength = Literal["given", "constant", "embedded"]
UptakeFilter = Literal["none", "first_per_author", "stronger_half"]


class EvidenceChoice(MemberParams):
    """One choice, stored with every fit and used again by ``--apply``."""

    polarity: Polarity | None = Field(None, description="source of a message's side; unset: by the data")
    strength: Strength | None = Field(None, description="source of its strength; unset: the data, else constant")
    constant: float = Field(0.5, ge=0, le=1, description="strength of unrated messages")
    embedder: str = Field("hashing", description="embedder that finds near-duplicates")
    theta: float | None = Field(
        None, gt=0, le=1, description="cosine from which claims are near-duplicates; unset: the embedder's own"
    )
    dedup: bool = Field(True, description="keep only the stronger of near-duplicates (appendix B)")
    uptake_filter: UptakeFilter = Field(
        "none", description="which claims a person takes in: all; the first of each author and side; the stronger half"
    )
    stance_margin: float = Field(
        STANCE_MARGIN, gt=0, lt=1, description="starting stances are clipped to ±(1 − this value) before log odds"
    )
