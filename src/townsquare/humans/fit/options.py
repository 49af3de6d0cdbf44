"""All options of a fit, stored with the fit."""

from __future__ import annotations

from typing import Literal

from townsquare.humans.fit.alignment import STABLE_WITHIN, WEAK_WITHIN, Thresholds
from townsquare.humans.fit.evidence_choice import EvidenceChoice
from townsquare.humans.fit.folds import FOLDS, SEED
from townsquare.settings.config import MemberParams, setting


class FitOptions(MemberParams):
    """Options of ``townsquare fit``."""

    rule: str = setting("log_odds", "the belief rule")
    folds: Literal["group", "topic"] = setting("group", "what is held out whole: conversations or topics")
    n_folds: int = setting(FOLDS, "how many folds; fewer where there are fewer groups", ge=2)
    seed: int = setting(SEED, "of the folds and the bootstrap")
    by: Literal["end", "step"] = setting("end", "from first to last stance, or from reading to reading")
    continuous: bool = setting(False, "search on from the best cell of the grid")
    stable: float = setting(STABLE_WITHIN, "a change of at most this is none", ge=0)
    weak: float = setting(WEAK_WITHIN, "net evidence of at most this is weak", ge=0)
    evidence: EvidenceChoice = setting(EvidenceChoice, "how messages are read")

    @property
    def thresholds(self) -> Thresholds:
        """Return the thresholds of change and of net evidence."""
        return Thresholds(self.stable, self.weak)
