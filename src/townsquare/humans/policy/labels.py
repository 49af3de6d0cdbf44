"""What fact checks do to sharing and belief, from the shares of people who believed and would share headlines.

A table with one row a headline: ``is_true``, ``ai_verdict`` (true, false, unsure), and the shares
``rate_belief_<condition>`` and ``rate_share_<condition>``. Conditions: ``control`` (no check), ``forced`` (an AI's
check under every headline), ``human_fc`` (a person's, always right), ``optional`` (an AI's, for who asks). People were
assigned to one condition and one of the two questions by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from townsquare.core.errors import DataError
from townsquare.core.tabular import Record, read_csv
from townsquare.humans.policy.crowd import Float

CONDITIONS = ("forced", "human_fc", "optional")
QUESTIONS = ("belief", "share")
FILE = "headlines_with_fact_checks.csv"


@dataclass(frozen=True, slots=True)
class LabelEffect:
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


@dataclass(frozen=True, slots=True)
class Labels:
    """Every effect, and the coefficients of sharing made of them.

    ``verdict_false`` and ``verdict_true``: mean move under a person's check, which is always right. ``unsure``: how
    much more an AI's ``unsure`` moves than its ``false`` does, over false headlines, mean of forced and optional: the
    hint that what was looked at and not called false is true (implied truth). ``by_belief``: slope of the log odds of
    sharing over the share that believes, without a check; ``believed_*`` are those shares on average.
    """

    effects: tuple[LabelEffect, ...]
    verdict_false: float
    verdict_true: float
    unsure: float
    by_belief: float
    believed_true: float
    believed_false: float
    headlines: int

    @property
    def verdict_unverified(self) -> float:
        """A person's check has no such verdict: what its ``false`` does, and the hint."""
        return self.verdict_false + self.unsure


def read_labels(path: Path) -> Labels:
    """Read a table of headlines, or a folder that holds one.

    Raises
    ------
    DataError
        A column that is missing, a share outside (0, 1), a truth or verdict that is no such word; the row is named.
    """
    table = read_csv(path / FILE if path.is_dir() else path)
    columns = [f"rate_{question}_{condition}" for question in QUESTIONS for condition in ("control", *CONDITIONS)]
    for name in ("is_true", "ai_verdict", *columns):
        if name not in table.columns:
            raise DataError(table.place, got=f"no column {name!r}", allowed="headlines with truth, verdict and shares")
    rate = {name: np.array([_share(row, name) for row in table.records]) for name in columns}
    true = np.array([_word(row, "is_true", ("0", "1")) == "1" for row in table.records])
    verdict = np.array([_word(row, "ai_verdict", ("true", "false", "unsure")) for row in table.records])
    effects = tuple(_effects(rate, true, verdict))
    slope = np.polyfit(rate["rate_belief_control"], _odds(rate["rate_share_control"]), 1)[0]
    before = rate["rate_belief_control"]
    return Labels(
        effects,
        _mean(effects, "false", condition="human_fc", verdict="false"),
        _mean(effects, "true", condition="human_fc", verdict="true"),
        _unsure(effects),
        float(slope),
        float(before[true].mean()),
        float(before[~true].mean()),
        len(table.records),
    )


def _share(row: Record, column: str) -> float:
    try:
        value = float(str(row.cells[column]))
    except ValueError:
        value = np.nan
    if not 0 < value < 1:
        raise DataError(row.where(column), got=repr(row.cells[column])[:80], allowed="a number between 0 and 1")
    return value


def _word(row: Record, column: str, allowed: tuple[str, ...]) -> str:
    word = str(row.cells[column]).strip().lower()
    if word not in allowed:
        raise DataError(row.where(column), got=repr(word)[:80], allowed=", ".join(allowed))
    return word


def _odds(share: Float) -> Float:
    return np.asarray(np.log(share / (1.0 - share)))


def _effects(rate: dict[str, Float], true: Float, verdict: Float) -> list[LabelEffect]:
    """By question, condition, truth and what the check said: a person's check says what is so."""
    out = []
    for question in QUESTIONS:
        control = rate[f"rate_{question}_control"]
        for condition in CONDITIONS:
            shown = rate[f"rate_{question}_{condition}"]
            said = np.where(true, "true", "false") if condition == "human_fc" else verdict
            for truth in (False, True):
                for word in ("false", "unsure", "true"):
                    at = np.flatnonzero((true == truth) & (said == word))
                    if at.size:
                        move = _odds(shown[at]) - _odds(control[at])
                        error = float(move.std(ddof=1) / np.sqrt(at.size)) if at.size > 1 else np.nan
                        name = "true" if truth else "false"
                        means = float(control[at].mean()), float(shown[at].mean()), float(move.mean())
                        out.append(LabelEffect(question, condition, name, word, at.size, *means, error))
    return out


def _mean(effects: tuple[LabelEffect, ...], truth: str, *, condition: str, verdict: str) -> float:
    """Move of sharing; 0 where no headline is of that kind."""
    found = [
        e.move for e in effects if (e.question, e.truth, e.condition, e.verdict) == ("share", truth, condition, verdict)
    ]
    return found[0] if found else 0.0


def _unsure(effects: tuple[LabelEffect, ...]) -> float:
    found = []
    for condition in ("forced", "optional"):
        moves = {
            e.verdict: e.move for e in effects if (e.question, e.truth, e.condition) == ("share", "false", condition)
        }
        if {"unsure", "false"} <= set(moves):
            found.append(moves["unsure"] - moves["false"])
    return float(np.mean(found)) if found else 0.0
