"""How often people gave each answer, beside how often the question bank says they should."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from townsquare.personas import Int16
from townsquare.question_bank import NO_ANSWER, QuestionBank

Float = npt.NDArray[np.float64]
FEW = 5.0  # chi-square is a poor guide where a cell is expected less often than this (Cochran 1954)


@dataclass(frozen=True, slots=True)
class TraitShares:
    """Answers of n people to one question.

    Attributes
    ----------
    label : str
        The trait.
    groups : tuple of str
        Its answers; of a number, bands.
    counts : (k,) int64
        People by group.
    stated : (k,) float64
        Shares that the bank states; for a trait that depends on another, given how these people answered that one.
    missing : int
        People without an answer, who count nowhere else.
    statistic, p : float
        Pearson's chi-square against ``stated`` and its probability; for a trait that depends on another, over the
        cells of both. NaN where nobody answered. Of a sample of the bank p is even over [0, 1]; people who answered
        otherwise have a p near 0.
    freedom : int
        Degrees of freedom.
    few : bool
        Some cell is expected less than five times: then p is a poor guide.
    """

    label: str
    groups: tuple[str, ...]
    counts: npt.NDArray[np.int64]
    stated: Float
    missing: int
    statistic: float
    p: float
    freedom: int
    few: bool


def persona_shares(traits: Int16, bank: QuestionBank) -> list[TraitShares]:
    """Shares of each trait, in the order of the bank, for people with codes ``traits`` (n, T)."""
    return [_shares(number, traits, bank) for number in range(len(bank.traits))]


def stated_shares(bank: QuestionBank, number: int) -> Float:
    """What the bank states for the groups of a trait: one row, or one for each answer of the trait it depends on."""
    trait = bank.traits[number]
    if trait.number is None:
        return trait.chances
    codes = np.arange(trait.number.low, trait.number.high + 1)
    chances = trait.chances[0] if trait.chances.size else trait.number.chances()
    return np.bincount(bank.group_of(number, codes), chances, len(bank.groups(number)))[None].astype(np.float64)


def _shares(number: int, traits: Int16, bank: QuestionBank) -> TraitShares:
    trait, groups = bank.traits[number], bank.groups(number)
    answered = traits[:, number] != NO_ANSWER
    group = bank.group_of(number, traits[:, number])
    counts = np.bincount(group[answered], minlength=len(groups))
    stated = stated_shares(bank, number)
    if trait.given >= 0:
        given = traits[:, trait.given]
        answered &= given != NO_ANSWER
        table = np.zeros(stated.shape, np.int64)
        np.add.at(table, (given[answered], group[answered]), 1)
    else:
        table = counts[None]
    expected = stated * table.sum(axis=1, keepdims=True)
    statistic, p, freedom = _chi_square(table, expected)
    n = max(1.0, float(expected.sum()))
    few = bool(((expected > 0) & (expected < FEW)).any())
    missing = int(traits.shape[0] - counts.sum())
    return TraitShares(trait.label, groups, counts, expected.sum(axis=0) / n, missing, statistic, p, freedom, few)


def _chi_square(counts: npt.NDArray[np.int64], expected: Float) -> tuple[float, float, int]:
    """Pearson's statistic over the rows of a table, each with its total given."""
    possible = expected > 0
    rows = possible.any(axis=1)
    freedom = int(possible.sum() - rows.sum())
    if not rows.any():
        return float("nan"), float("nan"), 0
    if (counts[~possible] > 0).any():
        return float("inf"), 0.0, freedom  # an answer that the bank never gives
    apart = np.where(possible, (counts - expected) ** 2 / np.where(possible, expected, 1.0), 0.0)
    statistic = float(apart.sum())
    return statistic, float(chdtrc(freedom, statistic)) if freedom else float("nan"), freedom
