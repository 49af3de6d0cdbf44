"""Answers of the same people at two times: panels, before and after an exposure, before and after a sitting.

Attitudes hardly drift, so two answers of a person differ mostly by answer noise. The correlation of two waves is
predicted from the reliability of the measure; where that is not known, from the noise and the repeated answers of the
answer layer and the spread of the answers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from townsquare.analysis.statistics import Estimate
from townsquare.core.array_types import Float, Int64
from townsquare.core.cells import Column, names, numbers, words
from townsquare.humans.effects.contract import NO_CONTROLS, YES, Arm, Form, Source, effect, few
from townsquare.humans.resample import codes, correlation, estimate, mean_difference, pair_sums, ratio, sums
from townsquare.settings.config import Answers

RELIABILITY = {
    "affpol": 0.817, "agenda": 0.827, "imm_item": 0.874, "immigration": 0.845, "issues": 0.894, "therm_dem": 0.929,
    "therm_rep": 0.908, "trump": 0.964, "trust_fox": 0.866, "trust_hp": 0.783, "trust_media": 0.817,
}  # fmt: skip
"""Retest r at no distance in time, by measure: fitted to 803 people of a panel (NetDem-USC homepage experiment)."""
ANSWERS = Answers()
LOSS_A_WEEK = 0.00016
"""Of r: 0 to 0.00055."""
_DAYS = {2: 0, 4: 63, 5: 114, 7: 216, 8: 407}
"""Of the panel's waves; others are taken to lie evenly between."""
PANEL_GOAL = 0.02
_FEWEST = 10
_LARGEST = 1e12
_NUMBER = numbers(-_LARGEST, _LARGEST)
_PERSON = Column("person", names(), needed=True)
_WAVE = re.compile(r"(.+)_w(\d+)")


def _waves(headers: Sequence[str]) -> dict[str, list[int]]:
    """Return the waves of each measure that was asked at least twice: columns such as ``trump_w2``."""
    pairs: dict[str, list[int]] = {}
    for header in headers:
        if (match := _WAVE.fullmatch(header)) is not None:
            pairs.setdefault(match[1], []).append(int(match[2]))
    return {measure: sorted(waves) for measure, waves in pairs.items() if len(waves) > 1}


def _twice(headers: Sequence[str]) -> list[str]:
    """Return measures asked before and after: columns such as ``econ_pre`` and ``econ_post``."""
    before = [header.removesuffix("_pre") for header in headers if header.endswith("_pre")]
    return [measure for measure in before if f"{measure}_post" in headers]


def _panel_columns(headers: Sequence[str]) -> Sequence[Column] | None:
    waves = _waves(headers)
    if "person" not in headers or not waves:
        return None
    return (_PERSON, *(Column(f"{name}_w{wave}", _NUMBER) for name, of in waves.items() for wave in of))


def _before_after_columns(headers: Sequence[str]) -> Sequence[Column] | None:
    measures = _twice(headers)
    if not {"person", "treated", "side"} <= set(headers) or not measures:
        return None
    sides = words({"conservative": 1.0, "liberal": -1.0, "1": 1.0, "-1": -1.0, "": math.nan})
    asked = (Column(f"{name}_{when}", _NUMBER) for name in measures for when in ("pre", "post"))
    return (_PERSON, Column("side", sides), Column("treated", YES), *asked)


def _sitting_columns(headers: Sequence[str]) -> Sequence[Column] | None:
    if not {"person", "before", "after"} <= set(headers):
        return None
    more = [Column(name, names(required=False)) for name in ("study", "issue")]
    return (_PERSON, Column("before", _NUMBER), Column("after", _NUMBER), *more)


def expected_r(measure: str, weeks: float, answers: Float) -> float:
    """Return the correlation of two answers that the answer layer expects.

    >>> round(expected_r("trump", 10.0, np.empty(0)), 4), round(expected_r("other", 0.0, np.array([-1.0, 1.0])), 3)
    (0.9624, 0.972)
    """
    if measure in RELIABILITY:
        return RELIABILITY[measure] - LOSS_A_WEEK * weeks
    low, high = float(answers.min()), float(answers.max())
    spread = float((2.0 * (answers - low) / (high - low)).var()) if high > low else 0.0
    return max(0.0, 1.0 - (1.0 - ANSWERS.repeat) * ANSWERS.noise**2 / spread) if spread > 0.0 else math.nan


def _retest(source: Source, arm: str, pair: tuple[Float, Float], expected: float, note: str = "") -> Iterator[Arm]:
    """Yield the correlation of two answers of the same people, unless too few gave both."""
    both = np.isfinite(pair[0]) & np.isfinite(pair[1])
    x, y = pair[0][both], pair[1][both]
    if x.size >= _FEWEST and x.std() > 0 and y.std() > 0:
        observed = estimate(correlation, pair_sums(np.arange(x.size), x - x.mean(), y - y.mean()))
        yield source.arm(arm, note=note, **effect(observed, expected, unit="correlation (r) of two answers"))


def check_panel(sources: Sequence[Source], fit: bool) -> Iterator[Arm]:
    """Yield every pair of waves of every measure, and the mean error of r over them."""
    for source in sources:
        sheet, pairs = source.sheet, list[Arm]()
        waves = _waves(sheet.table.columns)
        answers = {name: np.array(sheet[name], np.float64) for name in sheet.columns if name != "person"}
        for measure, of in waves.items():
            for first, second in combinations(of, 2):
                pair = answers[f"{measure}_w{first}"], answers[f"{measure}_w{second}"]
                days = np.interp([first, second], list(_DAYS), list(_DAYS.values()))
                whole = np.concatenate([answers[f"{measure}_w{wave}"] for wave in of])
                expected = expected_r(measure, float(np.diff(days)[0]) / 7.0, whole[np.isfinite(whole)])
                note = "" if measure in RELIABILITY else "a measure of unknown reliability: answer noise assumed"
                pairs += _retest(source, f"{measure}, waves {first} and {second}", pair, expected, note)
        yield from pairs
        errors = np.abs([arm.error for arm in pairs if math.isfinite(arm.error)])
        if errors.size:
            observed = float(np.mean([arm.observed for arm in pairs]))
            expected = float(np.mean([arm.predicted for arm in pairs]))
            most = float(errors.mean())
            yield Arm(
                dataset=source.dataset, form=source.form, arm=f"all {len(pairs)} pairs: mean r, mean absolute error",
                unit="correlation (r) of two answers", observed=observed, interval=(math.nan, math.nan),
                predicted=expected, error=most, goal=f"at most {PANEL_GOAL:g}", met=most <= PANEL_GOAL,
                baselines={"no answer noise": float(np.mean([1.0 - arm.observed for arm in pairs]))},
            )  # fmt: skip


def check_before_after(sources: Sequence[Source], fit: bool) -> Iterator[Arm]:
    """Yield the effect of reading the other side, and the retest of every measure in the control arm."""
    for source in sources:
        sheet = source.sheet
        person, side = codes(sheet["person"]), np.array(sheet["side"], np.float64)
        treated = np.array(sheet["treated"], np.bool_)
        measures = _twice(sheet.table.columns)
        asked = {
            name: tuple(np.array(sheet[f"{name}_{when}"], np.float64) for when in ("pre", "post")) for name in measures
        }
        attitudes = [name for name in measures if not name.startswith("thermo")]
        yield _pushed(source, person, side, treated, [asked[name] for name in attitudes])
        for name in measures:
            before, after = asked[name]
            whole = np.concatenate([before, after])
            expected = expected_r("", 0.0, whole[np.isfinite(whole)])
            who = ~treated if (~treated).any() else treated
            note = "" if (~treated).any() else f"{NO_CONTROLS}: people of the treated arm"
            yield from _retest(source, f"{name}, before and after", (before[who], after[who]), expected, note)


def _pushed(source: Source, person: Int64, side: Float, treated: np.ndarray, asked: Sequence[tuple[Float, ...]]) -> Arm:
    """Return how far people moved toward their own side when they read the other: nothing pushes away in the rules."""
    who, moves = [], []
    for before, after in asked:
        known = np.isfinite(before) & np.isfinite(after) & np.isfinite(side)
        if not (known & (side > 0)).any() or not (known & (side < 0)).any():
            continue
        lean = np.sign(before[known & (side > 0)].mean() - before[known & (side < 0)].mean())
        width = max(float(np.ptp(np.concatenate([before[known], after[known]]))), 1e-12)
        who.append(np.flatnonzero(known))
        moves.append((after - before)[known] * side[known] * lean / width)
    rows = np.concatenate(who) if who else np.empty(0, np.int64)
    move = np.concatenate(moves) if moves else np.empty(0)
    tables = [sums(person[rows[at]], np.ones(at.sum()), move[at]) for at in (treated[rows], ~treated[rows])]
    note, observed = "", Estimate(math.nan, math.nan, math.nan)
    if len(tables[0]) and len(tables[1]):
        observed = estimate(mean_difference, *tables)
    elif len(tables[0]):
        observed, note = estimate(ratio, tables[0]), f"{NO_CONTROLS}: change over time is part of the effect"
    fields = effect(observed, 0.0, unit="share of the scale")
    return source.arm("sites of the other side, change toward own side", note=note, **fields)


def check_sitting(sources: Sequence[Source], fit: bool) -> Iterator[Arm]:
    """Yield change and retest over a sitting, by study and issue; the form has no control arm."""
    for source in sources:
        sheet = source.sheet
        before, after = (np.array(sheet[name], np.float64) for name in ("before", "after"))
        person, part = codes(sheet["person"]), list(zip(sheet["study"], sheet["issue"], strict=True))
        whole = np.concatenate([before, after])
        whole = whole[np.isfinite(whole)]
        for name in few(part, sheet, "study"):
            at = np.array([own == name for own in part]) & np.isfinite(before + after)
            if not at.any():
                continue
            title = ", ".join(word for word in name if word) or "everybody"
            width = max(float(np.ptp(whole)), 1e-12)
            moved = estimate(ratio, sums(person[at], np.ones(at.sum()), (after - before)[at] / width))
            note = f"{NO_CONTROLS}: change over time is part of the effect"
            yield source.arm(f"{title}, change", note=note, **effect(moved, 0.0, unit="share of the scale"))
            pair = before[at], after[at]
            yield from _retest(source, f"{title}, before and after", pair, expected_r("", 0.0, whole))


PANEL = Form(
    "opinion_panel", "person, and the same measure at two waves: NAME_w1, NAME_w2, ...", _panel_columns, check_panel
)
BEFORE_AFTER = Form(
    "cross_partisan_exposure", "person, side, treated, NAME_pre, NAME_post", _before_after_columns, check_before_after
)
SITTING = Form("video_recommender", "person, before, after", _sitting_columns, check_sitting)
