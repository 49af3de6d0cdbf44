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

    polarity: Polarity | None = Field(None, description="Source of a message's side; unset: chosen by the data.")
    strength: Strength | None = Field(
        None, description="Source of a message's strength; unset: the data, else constant."
    )
    constant: float = Field(0.5, ge=0, le=1, description="Strength of unrated messages.")
    embedder: str = Field("hashing", description="Embedder that detects near-duplicates.")
    theta: float | None = Field(
        None, gt=0, le=1, description="Minimum cosine of near-duplicates; unset: the embedder's default."
    )
    dedup: bool = Field(True, description="keep only the stronger of near-duplicates (appendix B)")
    uptake_filter: UptakeFilter = Field(
        "none",
        description="Claims that count for a person: all, the first of each author and side, or the stronger half.",
    )
    stance_margin: float = Field(
        STANCE_MARGIN, gt=0, lt=1, description="Initial stances are clipped to ±(1 − this value) before log odds."
    )
