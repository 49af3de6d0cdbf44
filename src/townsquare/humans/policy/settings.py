"""Write a fitted policy as settings of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from townsquare.core.actions import ActionKind
from townsquare.humans.policy.content import READ_APPEAL, Fit
from townsquare.humans.policy.data import KINDS
from townsquare.humans.policy.labels import Labels
from townsquare.settings.config import Population
from townsquare.simulation.policies.statistical_params import Appeal, Params
from townsquare.simulation.policies.text_features import FEATURES

DIGITS = 3
_LABELED = ("like", "share")
_VERDICTS = ("verdict_false", "verdict_true", "verdict_unverified")


def params_of(fit: Fit, labels: Labels | None = None) -> Params:
    """Return the shipped settings with fitted values; labels act on shares, and on likes as on shares."""
    shipped = Params()
    kinds: dict[str, Any] = {}
    for k, kind in enumerate(KINDS):
        name = kind.name.lower()
        fitted = {"base": fit.content.base[k], "plausibility": fit.content.plausibility[k]}
        fitted |= {"appeal": READ_APPEAL[k], "taste": fit.crowd.taste[k]}
        if labels is not None and name in _LABELED:
            fitted |= {verdict: getattr(labels, verdict) for verdict in _VERDICTS}
        if labels is not None and kind == ActionKind.SHARE:
            fitted["unlabeled"] = labels.unsure
        rounded = {key: round(float(value), DIGITS) for key, value in fitted.items()}
        kinds[name] = getattr(shipped, name).model_copy(update=rounded)
    appeal = {name: round(float(weight), DIGITS) for name, weight in zip(FEATURES, fit.content.appeal, strict=True)}
    attention = round(float(np.clip(fit.content.attention, -1.0, 0.0)), DIGITS)
    return shipped.model_copy(update={**kinds, "attention": attention, "appeal": Appeal(**appeal)})


def population_of(fit: Fit) -> Population:
    """Return how active people are."""
    return Population(activity_shape=round(fit.crowd.shape, DIGITS), silent_share=round(fit.crowd.lurkers, DIGITS))


def as_settings(fit: Fit, labels: Labels | None = None) -> dict[str, Any]:
    """Return sections `population` and `policy` as a configuration file takes them."""
    fitted = {*(kind.name.lower() for kind in KINDS), "attention", "appeal"}
    return {
        "population": population_of(fit).model_dump(include={"activity_shape", "silent_share"}),
        "policy": {"name": "statistical", **params_of(fit, labels).model_dump(include=fitted)},
    }
