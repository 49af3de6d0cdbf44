"""Belief in claims with and without a verdict beside them: the forms ``label_experiments`` and ``headlines``.

Who believes a claim without a label is taken from the control arm. A verdict is predicted by the veracity of the rule
``credence``, for a mixture of people who heed it and people who do not. What else was shown (prompts, tips, banners)
has no verdict: its effect is a constant, and such arms are counted apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from townsquare.analysis.statistics import Estimate
from townsquare.beliefs.equation import contributions
from townsquare.beliefs.laboratory import RULE, believed, share_of
from townsquare.core.array_types import Bool, Float
from townsquare.core.cells import Column, names, numbers, words
from townsquare.core.errors import DataError
from townsquare.humans.effects.contract import CONSTANT, NO_CONTROLS, YES, Arm, Form, Source, effect, few, fixed
from townsquare.humans.resample import codes, estimate, mean_difference, ratio, sums
from townsquare.settings.config import LabelWeight

POINTS = "percentage points of people who believe"
GOAL = 5.0
"""Points: of the share of people who call a claim true, in percent."""
TIPS = {False: -0.17, True: -0.04}
"""Log odds that tips against misinformation add to false and to true claims: constants from three experiments."""
_BY_CONSTANT = (
    "treatments without a verdict (goal: by a constant) are predicted by a constant: for tips, fitted to three "
    "experiments (Guess and others 2020), otherwise 0"
)
LABEL, BY_MODEL, PROMPT = "label", "check by a model", "prompt"
_SAY_FALSE = {"false", "disputed", "misleading", "fake", "incorrect", "debunked", "untrue"}
_SAY_TRUE = {"true", "verified", "correct", "confirmed"}
_A_LABEL = {"label", "labels", "labeled", "tag", "tags", "flag", "flags", "verdict", "verdicts", "warning"}
_A_CHECK = {"check", "checks", "checked", "factcheck", "factchecks"}
_TIPS = {"tip", "tips", "literacy"}
_VERDICT = words({"true": 1.0, "false": -1.0, "unsure": 0.0, "unverified": 0.0, "none": 0.0, "": 0.0})
_SUITS = {"concordant": 1.0, "discordant": -1.0, "1": 1.0, "0": -1.0}

COLUMNS = (
    *(Column(name, names(), needed=True) for name in ("experiment", "intervention", "person", "item")),
    *(Column(name, YES, needed=True) for name in ("true", "treated")),
    Column("rated_accurate", numbers(0, 1), needed=True),
    Column("verdict", _VERDICT),
    Column("concord", names(required=False)),
)
ABOUT = "experiment, intervention, person, item, true 0 or 1, treated 0 or 1, rated_accurate 0 or 1"
ABOUT_HEADLINES = "is_true 0 or 1, rate_belief_control and rate_belief_NAME for each kind of check; one row an item"


class Shown(NamedTuple):
    """One arm before it is predicted.

    ``verdict`` (k,) is what people saw beside each item, -1, 0 or +1, ``before`` (k,) the share who believed it
    without; ``kind`` is :data:`LABEL`, :data:`BY_MODEL` or :data:`PROMPT`. ``shift`` is the constant of a prompt in
    log odds.
    """

    source: Source
    study: str
    name: str
    kind: str
    verdict: Float
    before: Float
    observed: Estimate
    shift: float = 0.0
    note: str = ""

    def predicted(self, heed: dict[float, float]) -> float:
        """Return the change of the share who believe, for the shares of people who heed each verdict."""
        pairs = zip(self.before.tolist(), self.verdict.tolist(), strict=True)
        after = [believed(before, sign, heed.get(sign, 0.0), self.shift) for before, sign in pairs]
        return float((after - self.before).mean())


SHIPPED = {-1.0: RULE.heed_false, 1.0: RULE.heed_true}


def verdict_of(intervention: str, truth: bool) -> float:
    """Return what a treatment says of an item, by the words of its name; NaN if it says nothing of any item.

    >>> verdict_of("true_false_label", True), verdict_of("false_label", True), verdict_of("literacy_tips", False)
    (1.0, 0.0, nan)
    """
    tokens = set(re.findall("[a-z]+", intervention.lower()))
    false, true = bool(tokens & _SAY_FALSE), bool(tokens & _SAY_TRUE)
    if tokens & _A_CHECK and not false and not true:
        false = true = True
    if not tokens & (_A_LABEL | _A_CHECK) or not (false or true):
        return math.nan
    return float(true) if truth else -float(false)


def check(sources: Sequence[Source], fit: bool) -> Iterator[Arm]:
    """Yield every arm of all tables; with ``fit`` the shares who heed come from the other studies."""
    shown = [arm for source in sources for arm in (_rated(source) if source.form == FORM.name else _headlines(source))]
    studies = sorted({arm.study for arm in shown})
    heeding = {study: _heeding([arm for arm in shown if arm.study == study]) for study in studies}
    for arm in shown:
        others = {sign: float(np.mean(shares)) for sign in (-1.0, 1.0) if (shares := _others(heeding, arm.study, sign))}
        yield _arm(arm, others, fit)
    for source in sources:
        if source.form == FORM.name and source.sheet.has_any("concord"):
            yield from _concordance(source)


def _others(heeding: dict[str, dict[float, float]], study: str, sign: float) -> list[float]:
    return [shares[sign] for name, shares in heeding.items() if name != study and sign in shares]


def _heeding(arms: Sequence[Shown]) -> dict[float, float]:
    """Return the share who heed each verdict in one study, by the mean of its arms."""
    out = {}
    for sign in (-1.0, 1.0):
        shares = []
        for arm in arms:
            if arm.kind == LABEL and (arm.verdict == sign).all() and math.isfinite(arm.observed.value):
                whole = arm.predicted({sign: 1.0})
                if whole:
                    shares.append(min(max(arm.observed.value / whole, 0.0), 1.0))
        if shares:
            out[sign] = float(np.mean(shares))
    return out


def _arm(arm: Shown, others: dict[float, float], fit: bool) -> Arm:
    needed = set(arm.verdict.tolist()) - {0.0}
    by_others = arm.predicted(others) if needed <= others.keys() else math.nan
    fitted = fit and bool(needed) and math.isfinite(by_others)
    predicted = by_others if fitted else arm.predicted(SHIPPED)
    baselines = {"no change": 0.0}
    if arm.kind == LABEL:
        baselines |= {"from other studies": 100 * by_others, "social_log_odds": 100 * _faded(arm)}
    notes = [arm.note, "the shares of people who heed a verdict are fitted to other studies" if fitted else ""]
    if arm.kind == PROMPT:
        notes.insert(0, _BY_CONSTANT)
    observed = Estimate(*(100 * value for value in arm.observed))
    fields = effect(observed, 100 * predicted, GOAL if arm.kind != BY_MODEL else math.nan, POINTS)
    if arm.kind == PROMPT:
        fields["goal"] = f"{fields['goal']}{CONSTANT}"
    return arm.source.arm(arm.name, baselines=baselines, note="; ".join(filter(None, notes)), **fields)


def _faded(arm: Shown) -> float:
    """Return what ``social_log_odds`` does: a false verdict fades one record for the claim, a true one does nothing."""
    full, faded = contributions([1, 1], [0.5, 0.5 * LabelWeight().false], 0.4)
    pairs = zip(arm.before.tolist(), arm.verdict.tolist(), strict=True)
    after = [share_of(before, shift=float(faded - full) if sign < 0 else 0.0) for before, sign in pairs]
    return float((after - arm.before).mean())


# --- ratings of people --------------------------------------------------------------------------------------------


class _Ratings(NamedTuple):
    """Columns of a table of ratings; ``verdict`` NaN where the words of the treatment are to be read."""

    experiment: list[str]
    intervention: list[str]
    person: list[str]
    true: Bool
    treated: Bool
    believes: Float
    verdict: Float | None


def _rated(source: Source) -> Iterator[Shown]:
    sheet = source.sheet
    verdicts = np.array(sheet["verdict"], np.float64) if "verdict" in sheet else None
    rows = _Ratings(
        sheet["experiment"], sheet["intervention"], sheet["person"], np.array(sheet["true"], np.bool_),
        np.array(sheet["treated"], np.bool_), np.array(sheet["rated_accurate"], np.float64), verdicts,
    )  # fmt: skip
    known = np.isfinite(rows.believes)
    study, kind = np.array(rows.experiment), np.array(rows.intervention)
    for name in few(rows.experiment, sheet, "experiment"):
        own = known & (study == name)
        for intervention, truth in product(sorted(set(kind[own & rows.treated].tolist())), (False, True)):
            treated = own & rows.treated & (kind == intervention) & (rows.true == truth)
            controls = own & ~rows.treated & (rows.true == truth)
            same = controls & (kind == intervention)
            if treated.any():
                yield _shown(source, rows, (name, intervention, truth), treated, same if same.any() else controls)


def _shown(source: Source, rows: _Ratings, arm: tuple[str, str, bool], treated: Bool, control: Bool) -> Shown:
    study, intervention, truth = arm
    title = f"{study}, {intervention}, {'true' if truth else 'false'}"
    observed, note, before = Estimate(math.nan, math.nan, math.nan), NO_CONTROLS, np.array([math.nan])
    if control.any():
        observed, note = estimate(mean_difference, *[_by_person(rows, at) for at in (treated, control)]), ""
        before = np.array([rows.believes[control].mean()])
    says = verdict_of(intervention, truth)
    if rows.verdict is not None:
        same = rows.treated & (np.array(rows.experiment) == study) & (np.array(rows.intervention) == intervention)
        says = float(rows.verdict[treated].mean()) if rows.verdict[same].any() else math.nan
    if says not in (-1.0, 0.0, 1.0) and not math.isnan(says):
        raise DataError(f"{source.sheet.table.location}, {title}", got="several verdicts", allowed="one verdict an arm")
    kind = PROMPT if math.isnan(says) else LABEL
    shift = TIPS[truth] if set(re.findall("[a-z]+", intervention.lower())) & _TIPS else 0.0
    verdict = np.array([0.0 if math.isnan(says) else says])
    return Shown(source, study, title, kind, verdict, before, observed, shift, note)


def _by_person(rows: _Ratings, at: Bool) -> Float:
    rows_at = np.flatnonzero(at).tolist()
    who = codes([rows.experiment[k] for k in rows_at], [rows.person[k] for k in rows_at])
    return sums(who, np.ones(len(rows_at)), rows.believes[at])


def _concordance(source: Source) -> Iterator[Arm]:
    """Yield how much more people without treatment believe what suits their side."""
    sheet = source.sheet
    concord = np.array([_SUITS.get(word.lower(), 0.0) for word in sheet["concord"]])
    believes = np.array(sheet["rated_accurate"], np.float64)
    control = ~np.array(sheet["treated"], np.bool_) & np.isfinite(believes)
    true = np.array(sheet["true"], np.bool_)
    who = codes(sheet["experiment"], sheet["person"])
    for truth in (False, True):
        parts = [control & (true == truth) & (concord == sign) for sign in (1.0, -1.0)]
        if not all(part.any() for part in parts):
            continue
        both = parts[0] | parts[1]
        table = sums(who[both], *(column[both] for part in parts for column in (part, np.where(part, believes, 0.0))))
        observed = estimate(lambda t: mean_difference(t[:, :2], t[:, 2:]), table)
        middle = float(np.mean([believes[part].mean() for part in parts]))
        predicted = share_of(middle, 1.0) - share_of(middle, -1.0)
        fields = effect(Estimate(*(100 * value for value in observed)), 100 * predicted, unit=POINTS)
        title = f"suits the own side, {'true' if truth else 'false'}"
        yield source.arm(title, baselines={"no change": 0.0}, **fields)


# --- shares by headline ---------------------------------------------------------------------------------------------

RATE = "rate_belief_"


def _headline_columns(headers: Sequence[str]) -> Sequence[Column] | None:
    rates = [header for header in headers if header.startswith(RATE)]
    if "is_true" not in headers or f"{RATE}control" not in rates or len(rates) < 2:
        return None
    verdicts = (Column(name, _VERDICT) for name in headers if name == "ai_verdict" or name.startswith("verdict_"))
    return (Column("is_true", YES, needed=True), *(Column(name, numbers(0, 1)) for name in rates), *verdicts)


def _headlines(source: Source) -> Iterator[Shown]:
    """Yield every condition: a check by a person states the truth, one by an AI what ``ai_verdict`` says."""
    sheet = source.sheet
    true, before = np.array(sheet["is_true"], np.bool_), np.array(sheet[f"{RATE}control"], np.float64)
    for header in (name for name in sheet.used if name.startswith(RATE) and name != f"{RATE}control"):
        condition = header.removeprefix(RATE)
        after = np.array(sheet[header], np.float64)
        by_person = "human" in re.findall("[a-z]+", condition)
        column = next((name for name in (f"verdict_{condition}", "ai_verdict") if name in sheet), "")
        if by_person and column != f"verdict_{condition}":
            verdict = np.where(true, 1.0, -1.0)
        else:
            verdict = np.array(sheet[column], np.float64) if column else np.zeros(true.size)
        for truth in (False, True):
            at = (true == truth) & np.isfinite(before) & np.isfinite(after)
            if at.any():
                observed = estimate(ratio, np.stack([np.ones(at.sum()), after[at] - before[at]], axis=1))
                title = f"{condition}, {'true' if truth else 'false'}"
                kind = LABEL if by_person else BY_MODEL
                note = "" if by_person else "the check is by a language model, which can be wrong"
                study = f"{source.dataset}, {condition}"
                yield Shown(source, study, title, kind, verdict[at], before[at], observed, note=note)


FORM = Form("label_experiments", ABOUT, fixed(COLUMNS), check)
HEADLINES = Form("headlines", ABOUT_HEADLINES, _headline_columns, check)
