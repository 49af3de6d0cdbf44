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
    folds: Literal["group", "topic"] = setting("group", "Unit of the folds: conversations (group) or topics.")
    n_folds: int = setting(FOLDS, "Number of folds; fewer if there are fewer groups.", ge=2)
    seed: int = setting(SEED, "seed of the folds and the bootstrap")
    by: Literal["end", "step"] = setting(
        "end", "Prediction of the last stance from the first (end), or of each stance from the one before (step)."
    )
    continuous: bool = setting(False, "Refine the best grid cell by continuous search.")
    stable: float = setting(STABLE_WITHIN, "Largest absolute change of stance that counts as stable.", ge=0)
    weak: float = setting(WEAK_WITHIN, "Largest absolute net evidence that counts as weak.", ge=0)
    kinds: int = setting(2, "Number of kinds of people (latent classes); 1: no kinds.", ge=1, le=6)
    evidence: EvidenceChoice = setting(EvidenceChoice, "how messages are read")

    @property
    def thresholds(self) -> Thresholds:
        """Return the thresholds of change and of net evidence."""
        return Thresholds(self.stable, self.weak)
