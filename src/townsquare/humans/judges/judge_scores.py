"""Agreement of judges with people: the measures of Table A3 (seeds, appendix D), and baselines."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from townsquare.analysis.statistics import correlation
from townsquare.beliefs.stance.vader import score_text
from townsquare.core.array_types import Float
from townsquare.humans.judges.argument_table import ArgumentTable

FEWEST = 3  # ratings below which a correlation says nothing


class Verdicts(NamedTuple):
    """Verdicts of a judge on n arguments.

    Attributes
    ----------
    claims : (n,) float64
        Claims found in each; NaN where extraction was not tried.
    strongest : (n,) float64
        Polarity of the strongest claim; NaN if none exists.
    polarity : (n,) float64
        Polarity of the whole text taken as one argument; NaN where it was not judged.
    strength : (n,) float64
        Of the whole text; NaN where it was not judged.
    off_topic : (n,) float64
        Share of texts on other topics in which claims on this row's topic were found; NaN where not tried.
    """

    claims: Float
    strongest: Float
    polarity: Float
    strength: Float
    off_topic: Float


class Scores(NamedTuple):
    """Scores on one topic, or on all (``topic`` is ""). Rates, accuracies and F1 are in [0, 1]; NaN is undefined.

    ``extraction``, ``exact_one`` and ``over_split`` are shares of the texts that hold an argument; ``false_claims`` is
    the share of those labeled as holding none, and of texts on other topics, in which a claim is found.
    ``strongest_*`` are over texts with a claim, ``accuracy`` and ``macro_f1`` over all with a side.
    """

    method: str
    topic: str
    n: int
    extraction: float
    exact_one: float
    over_split: float
    false_claims: float
    strongest_accuracy: float
    strongest_f1: float
    accuracy: float
    macro_f1: float
    pearson: float
    spearman: float


def score(method: str, topic: str, table: ArgumentTable, verdicts: Verdicts, rows: npt.NDArray[np.int64]) -> Scores:
    """Return the measures of some rows of a table."""
    side, quality = table.side[rows], table.quality[rows]
    claims, strongest, polarity = verdicts.claims[rows], verdicts.strongest[rows], verdicts.polarity[rows]
    holds = ~(side == 0.0)
    stray = np.r_[np.where(np.isnan(claims), np.nan, claims > 0)[~holds], verdicts.off_topic[rows]]
    numbers = [_mean(hits[holds], claims[holds]) for hits in (claims >= 1.0, claims == 1.0, claims > 1.0)]
    numbers.append(_mean(stray, stray))
    numbers += [measure(side, judged) for judged in (strongest, polarity) for measure in (accuracy, macro_f1)]
    numbers += [measure(verdicts.strength[rows], quality) for measure in (pearson, spearman)]
    return Scores(method, topic, int(rows.size), *numbers)


def _mean(values: npt.NDArray[np.generic], known: Float) -> float:
    selected = np.asarray(values, np.float64)[np.isfinite(known)]
    return float(selected.mean()) if selected.size else math.nan


def _sided(side: Float, judged: Float) -> tuple[Float, Float]:
    both = (np.abs(side) == 1.0) & np.isfinite(judged)
    return side[both], judged[both]


def accuracy(side: Float, judged: Float) -> float:
    """Return share of judged rows with a side whose polarity is right.

    >>> accuracy(np.array([1.0, -1.0, np.nan]), np.array([1.0, 1.0, 1.0]))
    0.5
    """
    truth, judged_side = _sided(side, judged)
    return float((truth == judged_side).mean()) if truth.size else math.nan


def macro_f1(side: Float, judged: Float) -> float:
    """Return mean of the F1 of both sides; 0 for a side that is never right.

    >>> round(macro_f1(np.array([1.0, 1.0, -1.0]), np.array([1.0, 1.0, 1.0])), 3)
    0.4
    """
    truth, judged_side = _sided(side, judged)
    if not truth.size:
        return math.nan
    scores = []
    for sign in (1.0, -1.0):
        right = float(((truth == sign) & (judged_side == sign)).sum())
        scores.append(2.0 * right / max(1.0, float((truth == sign).sum() + (judged_side == sign).sum())))
    return sum(scores) / 2.0


def pearson(first: Float, second: Float) -> float:
    """Return Pearson's r over pairs that are both known; NaN below three of them, or where one side is constant.

    >>> round(pearson(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0])), 3)
    0.982
    """
    both = np.isfinite(first) & np.isfinite(second)
    return correlation(first[both], second[both]) if both.sum() >= FEWEST else math.nan


def spearman(first: Float, second: Float) -> float:
    """Return Spearman's rho: Pearson's r of ranks, equal values sharing theirs."""
    both = np.isfinite(first) & np.isfinite(second)
    return pearson(np.asarray(rankdata(first[both])), np.asarray(rankdata(second[both])))


# --- what needs no judge ------------------------------------------------------------------------------------


def baselines(table: ArgumentTable) -> dict[str, Verdicts]:
    """Return majority, sentiment and length baselines, each at its best: they use the file's own sides.

    ``majority`` says the more frequent side of each topic. ``sentiment`` says the sign of VADER's tone, and as strength
    its value. ``length`` says for texts longer than the topic's median the side more frequent among them than
    among all, and the other for the rest; as strength, the number of words.
    """
    tone = np.array([score_text(text[:10_000]) for text in table.text])
    length = np.array([float(len(text.split())) for text in table.text])
    majority, long_side = np.ones(tone.size), np.ones(tone.size)
    for name in table.topics:
        rows = table.rows(name)
        side = np.nan_to_num(table.side[rows])
        majority[rows] = 1.0 if side.sum() >= 0 else -1.0
        is_long = length[rows] > np.median(length[rows])
        lean = 1.0 if side[is_long].sum() / max(1, is_long.sum()) >= side.mean() else -1.0
        long_side[rows] = np.where(is_long, lean, -lean)
    nothing = np.full(tone.size, np.nan)

    def saying(polarity: Float, strength: Float) -> Verdicts:
        return Verdicts(nothing, nothing, polarity, strength, nothing)

    return {
        "majority": saying(majority, nothing),
        "sentiment": saying(np.where(tone == 0.0, majority, np.sign(tone)), tone),
        "length": saying(long_side, length),
    }
