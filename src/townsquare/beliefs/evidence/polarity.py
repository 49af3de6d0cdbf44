"""Polarity: whether an argument speaks for a proposition or against it. Stance, never tone.

Two linear models. The **general** one was fitted over many propositions and knows this one by its words alone. With
a **bank** of arguments on the proposition, a second model is fitted when it is first asked: to what the general one
leaves unexplained of the bank's sides, so that a small bank changes little and a large one decides.
``docs/judges.md`` says how often each is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.evidence.examples import NO_EXAMPLES, Examples
from townsquare.beliefs.evidence.fitted import fitted
from townsquare.beliefs.evidence.linear import Weights, fit_ridge, predict
from townsquare.beliefs.evidence.ngrams import Rows
from townsquare.beliefs.evidence.polarity_features import Blocks, bank_features, general_features, read_blocks
from townsquare.beliefs.evidence.proposition import read_proposition
from townsquare.core.array_types import Float
from townsquare.core.errors import DataError

BANK_PENALTY, GENERAL_PENALTY = 1.0, 3.0
_GENERAL_SLOPE = 0.8  # how far the general score goes before it is pressed together; chosen with banks of 60
_DIGITS = 9  # scores are rounded, so that the last bit of a machine decides nothing


class Judgment(NamedTuple):
    """Of n arguments on one proposition.

    Attributes
    ----------
    polarity : (n,) int8
        +1 for the proposition, -1 against it.
    score : (n,) float64
        What the sign was read from; 0 and above is for. No unit.
    confidence : (n,) float64
        Estimated probability that the polarity is right, [0.5, 1].
    """

    polarity: npt.NDArray[np.int8]
    score: Float
    confidence: Float

    @property
    def stance(self) -> Float:
        """Return how far each text speaks for the proposition, (n,) float64 in [-1, 1]: expected polarity."""
        return np.asarray(self.polarity * (2.0 * self.confidence - 1.0))


def judge_polarity(texts: Sequence[str], statement: str, bank: Examples = NO_EXAMPLES) -> Judgment:
    """Return the polarity of n arguments toward a statement; each depends on its own text, the statement and the bank.

    Parameters
    ----------
    texts : sequence of str
        One argument each. At most 10,000 characters of each are read.
    statement : str
        The proposition.
    bank : Examples, optional
        Arguments on it. With fewer than three on a side the general model judges alone.

    Examples
    --------
    The same words speak for one proposition and against another.

    >>> says = ["It is cruel and harms children."]
    >>> int(judge_polarity(says, "We should ban spanking").polarity[0])
    1
    >>> int(judge_polarity(says, "We should allow spanking").polarity[0])
    -1
    """
    blocks = read_blocks(texts, [read_proposition(statement)] * len(texts))
    general = general_scores(blocks)
    if not bank.tells_sides:
        return _judgment(general, fitted().general_scale)
    model = bank_model(statement, bank)
    return _judgment(prior(general) + predict(model, bank_features(blocks)), fitted().bank_scale)


def general_scores(blocks: Blocks) -> Float:
    """Return scores of the shipped general model, (n,) float64."""
    return predict(fitted().polarity, general_features(blocks))


def prior(general: Float) -> Float:
    """Return what a bank's model starts from: the general score pressed into (-1, 1)."""
    slope = _GENERAL_SLOPE * general
    return np.asarray(slope / (1.0 + np.abs(slope)))


def fit_bank(own: Rows, general: Float, side: Float) -> Weights:
    """Return a bank's own model, from n arguments: features (n, d), general scores (n,), sides (n,) of -1 or +1."""
    return fit_ridge(own, side - prior(general), BANK_PENALTY)


@lru_cache(maxsize=128)
def bank_model(statement: str, bank: Examples) -> Weights:
    """Return the model of a bank, fitted once a process.

    Raises
    ------
    DataError
        A polarity that is neither -1 nor +1, or not one for every text.
    """
    check_bank(bank, "bank")
    blocks = read_blocks(bank.texts, [read_proposition(statement)] * len(bank.texts))
    return fit_bank(bank_features(blocks), general_scores(blocks), np.asarray(bank.polarity, np.float64))


def check_bank(bank: Examples, where: str) -> None:
    """Refuse a bank whose arguments have no polarity.

    >>> check_bank(Examples(("Yes.",), (0,)), "bank")
    Traceback (most recent call last):
    ...
    townsquare.core.errors.DataError: bank, argument 0: got polarity 0; allowed: -1 or +1
    """
    if len(bank.texts) != len(bank.polarity):
        got = f"{len(bank.texts)} texts and {len(bank.polarity)} polarities"
        raise DataError(where, got=got, allowed="one polarity for each text")
    for at, sign in enumerate(bank.polarity):
        if sign not in (-1, 1):
            raise DataError(f"{where}, argument {at}", got=f"polarity {sign}", allowed="-1 or +1")


def _judgment(score: Float, scale: float) -> Judgment:
    rounded = np.round(score, _DIGITS)
    odds = np.exp(-scale * np.abs(rounded))
    return Judgment(np.where(rounded < 0, -1, 1).astype(np.int8), rounded, np.round(1.0 / (1.0 + odds), _DIGITS))
