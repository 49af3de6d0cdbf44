"""Options for reading evidence from received messages, before a fit."""

from __future__ import annotations

from typing import Literal

from townsquare.beliefs.equation import STANCE_MARGIN
from townsquare.settings.base import MemberParams, setting

Polarity = Literal["given", "named", "listed", "embedded"]
Strength = Literal["given", "constant", "embedded"]
UptakeFilter = Literal["none", "first_per_author", "stronger_half"]


class EvidenceChoice(MemberParams):
    """One choice, stored with every fit and used again by ``--apply``."""

    polarity: Polarity | None = setting(None, "Source of a message's side; unset: chosen by the data.")
    strength: Strength | None = setting(None, "Source of a message's strength; unset: the data, else constant.")
    constant: float = setting(0.5, "Strength of unrated messages.", ge=0, le=1)
    embedder: str = setting("hashing", "Embedder that detects near-duplicates.")
    theta: float | None = setting(None, "Minimum cosine of near-duplicates; unset: the embedder's default.", gt=0, le=1)
    dedup: bool = setting(True, "keep only the stronger of near-duplicates (appendix B)")
    uptake_filter: UptakeFilter = setting(
        "none", "Claims that count for a person: all, the first of each author and side, or the stronger half."
    )
    stance_margin: float = setting(
        STANCE_MARGIN, "Initial stances are clipped to ±(1 − this value) before log odds.", gt=0, lt=1
    )
