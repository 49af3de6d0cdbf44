"""Whether what is said shows the stance it was said from: sweep S, let the speaker speak, judge the text alone.

Source: seeds, ``belief-engine``, section 4.1, which reports r = 0.967 and a slope of about 0.86 for language models and
a judge that is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from townsquare.analysis.statistics import student
from townsquare.core.array_types import Float
from townsquare.core.errors import SettingError
from townsquare.debate.resolve import resolve_debates
from townsquare.debate.start import asks
from townsquare.debate.trial import opening, readings, with_model
from townsquare.models.open import model_client
from townsquare.settings.layers import Layer

PAPER_R, PAPER_SLOPE = 0.967, 0.86
FEWEST = 3


@dataclass(frozen=True, slots=True)
class FittedLine:
    """A straight line fitted to n points: judged = intercept + slope · assigned.

    ``r`` is Pearson's, ``p`` two-sided for no correlation, ``low`` and ``high`` bound the slope's 95% t interval; NaN
    where they are undefined.
    """

    n: int
    r: float
    p: float
    slope: float
    low: float
    high: float
    intercept: float


@dataclass(frozen=True, slots=True)
class Expression:
    """What a speaker shows of its stance.

    Attributes
    ----------
    assigned, judged : (n,) float64
        Stances in [-1, 1]; judged is NaN where the judge read none.
    unscored : int
        Texts without a reading; they are in no fit.
    line : FittedLine
        Through the others.
    """

    assigned: Float
    judged: Float
    unscored: int
    line: FittedLine


def fit(assigned: npt.ArrayLike, judged: npt.ArrayLike) -> FittedLine:
    """Fit a straight line by least squares to (n,) pairs of finite numbers.

    >>> line = fit([-1.0, 0.0, 1.0, 2.0], [-0.5, 0.0, 0.5, 1.0])
    >>> round(line.r, 3), round(line.slope, 3), round(line.intercept, 3)
    (1.0, 0.5, 0.0)
    """
    x, y = np.asarray(assigned, np.float64), np.asarray(judged, np.float64)
    if x.size < FEWEST or np.ptp(x) == 0.0:
        return FittedLine(x.size, *(math.nan,) * 6)
    line = scipy.stats.linregress(x, y)
    slope, margin = float(line.slope), float(student(x.size - 2) * line.stderr)
    r = float(line.rvalue) if np.ptp(y) > 0.0 else math.nan
    return FittedLine(x.size, r, float(line.pvalue), slope, slope - margin, slope + margin, float(line.intercept))


def expression(
    layers: Sequence[Layer],
    topics: Sequence[str],
    levels: int = 21,
    trials: int = 3,
    on_topic: Callable[[int], None] | None = None,
) -> Expression:
    """Sweep S evenly over [-1, 1], on every topic. A speaker or judge that is a language model is asked.

    Parameters
    ----------
    layers : sequence of mapping
        Settings, as :func:`townsquare.debate.resolve.resolve_debates` takes them: speaker, judge, seeds.
    topics : sequence of str
        Bundled topics or files.
    levels : int
        Stances, at least 2.
    trials : int
        Texts for each stance and topic, with draws of their own; at least 1.
    on_topic : callable, optional
        Told how many topics are done.

    Raises
    ------
    SettingError
        Too few levels, trials or topics.
    """
    if levels < 2 or trials < 1 or not topics:
        got = f"{levels} levels, {trials} texts, {len(topics)} topics"
        raise SettingError("expression", got=got, allowed="at least 2 levels, 1 text, 1 topic")
    assigned, judged = [], []
    first = resolve_debates(*layers, {"topic": topics[0]})
    with model_client(first.settings, first.settings.seed) if asks(first) else nullcontext() as asker:
        for number, topic in enumerate(topics, 1):
            texts = []
            for stance in np.linspace(-1.0, 1.0, levels).tolist():
                resolved = with_model(resolve_debates(*layers, {"topic": topic, "pro": {"stance": stance}}), asker)
                texts += [opening(resolved, trial, stance) for trial in range(1, trials + 1)]
                assigned += [stance] * trials
            judged.append(readings(resolved, texts))
            if on_topic is not None:
                on_topic(number)
    x, y = np.array(assigned), np.concatenate(judged)
    read = np.isfinite(y)
    return Expression(x, y, int((~read).sum()), fit(x[read], y[read]))
