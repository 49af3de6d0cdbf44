"""Names of methods and formats of their numbers, in tables and sentences."""

from __future__ import annotations

from functools import partial

from townsquare.analysis.statistics import Estimate
from townsquare.core.documents import bundled_labels
from townsquare.core.words import number, with_interval
from townsquare.humans.fit.fit import RULE

METHODS: dict[str, str] = bundled_labels("fit_methods")


def method(name: str, rule: str) -> str:
    """Return the name of a method; the rule by its own name."""
    return f"rule: {rule}" if name == RULE else METHODS[name]


def estimated(estimate: Estimate | None, digits: int = 3, *, signed: bool = False) -> str:
    """Return a number with its interval, and nothing without a number."""
    shown = partial(number, digits=digits, signed=signed)
    return "" if estimate is None else with_interval(estimate.value, estimate.low, estimate.high, shown)


signed_interval = partial(estimated, signed=True)
"""A number with its sign and interval."""
BETTER, WORSE, ALIKE = "better than", "worse than", "not statistically distinguishable from"
_NOTHING = 0.0005
"""Differences of RMSE below this count as none, however narrow the CI: they print as 0.000."""


def kind_of(difference: Estimate) -> str:
    """Say whether a method is better than another, by the CI of its RMSE minus the other's.

    >>> kind_of(Estimate(0.0001, 0.00005, 0.0002)), kind_of(Estimate(-0.1, -0.2, -0.05))
    ('not statistically distinguishable from', 'better than')
    """
    if abs(difference.value) < _NOTHING:
        return ALIKE
    return BETTER if difference.high < 0 else WORSE if difference.low > 0 else ALIKE


def verdict(difference: Estimate, against: str) -> str:
    """Say whether a method is better than another, with the difference in RMSE.

    >>> verdict(Estimate(-0.1, -0.2, -0.05), "prior only")
    'better than prior only (RMSE −0.100 [−0.200, −0.050])'
    """
    return f"{kind_of(difference)} {against} (RMSE {signed_interval(difference)})"
