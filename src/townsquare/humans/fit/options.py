"""Everything that decides a fit beside the data, in one frozen model; kept with the fit."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from townsquare.humans.fit.alignment import STABLE_WITHIN, WEAK_WITHIN, Thresholds
from townsquare.humans.fit.evidence_choice import EvidenceChoice
from townsquare.humans.fit.folds import FOLDS, SEED
from townsquare.settings.config import MemberParams


class FitOptions(MemberParams):
    """Options of ``townsquare fit``."""

    rule: str = Field("log_odds", description="the belief rule")
    folds: Literal["group", "topic"] = Field("group", description="what is held out whole: conversations or topics")
    n_folds: int = Field(FOLDS, ge=2, description="how many folds; fewer where there are fewer groups")
    seed: int = Field(SEED, description="of the folds and the bootstrap")
    by: Literal["end", "step"] = Field("end", description="from first to last stance, or from reading to reading")
    continuous: bool = Field(False, description="search on from the best cell of the grid")
    stable: float = Field(STABLE_WITHIN, ge=0, description="a change of at most this is none")
    weak: float = Field(WEAK_WITHIN, ge=0, description="net evidence of at most this is weak")
    evidence: EvidenceChoice = Field(default_factory=EvidenceChoice, description="how messages are read")

    @property
    def thresholds(self) -> Thresholds:
        """From where a change is one, and evidence says something."""
        return Thresholds(self.stable, self.weak)
