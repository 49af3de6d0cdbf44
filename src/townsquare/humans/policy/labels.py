"""Effects of fact checks on sharing and belief, from shares of people who believed or would share headlines.

A table with one row per headline: ``is_true``, ``ai_verdict`` (true, false, unsure), and the shares
``rate_belief_<condition>`` and ``rate_share_<condition>``. Conditions: ``control`` (no check), ``forced`` (an AI's
check under every headline), ``human_fc`` (a person's, always right), ``optional`` (an AI's, for who asks). People were
assigned to one condition and one of the two questions by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Bool, Float
from townsquare.core.cells import Column, number_cell, read_columns, words
from townsquare.core.errors import DataError
from townsquare.core.tabular import Record, read_csv

CONDITIONS = ("forced", "human_fc", "optional")
QUESTIONS = ("belief", "share")
VERDICTS = ("false", "unsure", "true")
FILE = "headlines_with_fact_checks.csv"


def _share(row: Record, column: str) -> float:
    """Return a share between 0 and 1, neither of them."""
    value = number_cell(row, column, 0, 1, None)
    if value in (0.0, 1.0):
        raise DataError(row.where(column), got=repr(row.cells[column])[:80], allowed="a number between 0 and 1")
    return value


RATES = tuple(f"rate_{question}_{condition}" for question in QUESTIONS for condition in ("control", *CONDITIONS))
COLUMNS = (
    Column("is_true", words({"0": False, "1": True}), needed=True),
    Column("ai_verdict", words({word: word for word in VERDICTS}), needed=True),
    *(Column(name, _share, needed=True) for name in RATES),
)


class LabelEffect(NamedTuple):
    """The move of the log odds against no check, over some headlines.

    ``question`` is belief or share, ``truth`` true or false, ``verdict`` what the check said; ``move`` is the mean over
    ``headlines`` of them and ``error`` its standard error (NaN for one). Shares without a check and with it are means.
    """

    question: str
    condition: str
    truth: str
    verdict: str
    headlines: int
    before: float
    after: float
    move: float
    error: float


class Labels(NamedTuple):
    """Every effect, and the coefficients of sharing made of them.

    ``verdict_false`` and ``verdict_true``: mean move under a person's check, which is always right. ``unsure``: how
    much more an AI's ``unsure`` moves than its ``false`` does, over false headlines, mean of forced and optional: the
    hint that what was looked at and not called false is true (implied truth).
    """

    effects: tuple[LabelEffect, ...]
    verdict_false: float
    verdict_true: float
    unsure: float
    headlines: int

    @property
    def verdict_unverified(self) -> float:
        """Return a person's check has no such verdict: what its ``false`` does, and the hint."""
        return self.verdict_false + self.unsure


def read_labels(path: Path) -> Labels:
    """Read a table of headlines, or a folder that holds one.

    Raises
    ------
    DataError
        A column that is missing, a share outside (0, 1), a truth or verdict that is no such word; the row is named.
    """
    sheet = read_columns(read_csv(path / FILE if path.is_dir() else path), COLUMNS, strict=False)
    rate = {name: np.array(sheet[name]) for name in RATES}
    true, verdict = np.array(sheet["is_true"]), np.array(sheet["ai_verdict"])
    effects = tuple(_effects(rate, true, verdict))
    moves = {(e.truth, e.condition, e.verdict): e.move for e in effects if e.question == "share"}
    hints = [
        moves["false", condition, "unsure"] - moves["false", condition, "false"]
        for condition in ("forced", "optional")
        if {("false", condition, "unsure"), ("false", condition, "false")} <= set(moves)
    ]
    verdicts = moves.get(("false", "human_fc", "false"), 0.0), moves.get(("true", "human_fc", "true"), 0.0)
    return Labels(effects, *verdicts, float(np.mean(hints)) if hints else 0.0, len(sheet.table.records))


def _effects(rate: dict[str, Float], true: Bool, verdict: npt.NDArray[np.str_]) -> Iterator[LabelEffect]:
    """Yield effects by question, condition, truth and verdict; a person's check states the truth."""
    for question, condition in product(QUESTIONS, CONDITIONS):
        control, shown = rate[f"rate_{question}_control"], rate[f"rate_{question}_{condition}"]
        verdicts = np.where(true, "true", "false") if condition == "human_fc" else verdict
        for truth, word in product((False, True), VERDICTS):
            at = np.flatnonzero((true == truth) & (verdicts == word))
            if at.size:
                move = _odds(shown[at]) - _odds(control[at])
                error = float(move.std(ddof=1) / np.sqrt(at.size)) if at.size > 1 else np.nan
                means = float(control[at].mean()), float(shown[at].mean()), float(move.mean())
                yield LabelEffect(question, condition, str(truth).lower(), word, at.size, *means, error)


def _odds(share: Float) -> Float:
    return np.asarray(np.log(share / (1.0 - share)))
