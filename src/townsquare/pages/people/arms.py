"""Experiments on people held against the shipped rules: the answer, and one table for each data set."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

from townsquare.analysis.statistics import Estimate
from townsquare.core.text_table import Table, as_markdown, table
from townsquare.core.words import capital, count, number
from townsquare.humans.effects.contract import CONSTANT, NO_CONTROLS, POINTS, RMSE, Arm
from townsquare.pages.people.words import estimated

_COLUMNS = (
    "dataset", "form", "arm", "measure", "unit", "observed", "predicted", "error", "goal", "met", "against", "interval",
    "gain", "baselines", "note",
)  # fmt: skip
NO_CHANGE = "no change"
"""A baseline that tables leave out where it predicts no effect."""
MOST_NAMED = 4
"""Arms that a note names, at most."""
_HEADS = ("observed", "predicted", "error", "RMSE minus baseline=gain", "goal", "goal met=met", "baselines")


def plain(arm: Arm) -> dict[str, object]:
    """Return an arm for ``--json``, as :func:`townsquare.core.documents.finite` takes it."""
    return {name: getattr(arm, name) for name in _COLUMNS}


def answer(arms: Sequence[Arm]) -> list[str]:
    """Return how many goals are met, and every one that is missed."""
    asked = [arm for arm in arms if arm.met is not None]
    by_constant = [arm for arm in asked if arm.goal.endswith(CONSTANT)]
    goals = [arm for arm in asked if not arm.goal.endswith(CONSTANT)]
    lines = [f"{sum(bool(arm.met) for arm in goals)} of {count(len(goals), 'goal')} are met."] if goals else []
    if by_constant:
        met = sum(bool(arm.met) for arm in by_constant)
        within = f"{met} of {len(by_constant)} within ±5 percentage points"
        lines.append(f"Arms without a verdict, predicted by constants (not counted as goals): {within}.")
    lines += [f"  Missed: {arm.dataset}, {arm.arm}: {_missed(arm)}; goal: {arm.goal}." for arm in asked if not arm.met]
    without = [arm for arm in arms if arm.met is None and NO_CONTROLS in arm.note]
    if without:
        lines.append(f"{count(len(without), 'arm')} without controls: shown, not scored.")
    return lines or ["No arm has a goal."]


def _missed(arm: Arm) -> str:
    if arm.gain is not None:
        return f"RMSE {number(arm.error, _digits(arm, arm.error))}, {_gain(arm)}"
    chance = ", within the interval of what was observed" if arm.interval[0] <= arm.predicted <= arm.interval[1] else ""
    return f"error {number(arm.error, _digits(arm), signed=True)} {arm.unit}{chance}"


def _digits(arm: Arm, value: float = 0.0) -> int:
    return 1 if POINTS in arm.unit or value >= 10.0 else 3


def _gain(arm: Arm) -> str:
    if arm.gain is None or not math.isfinite(arm.gain.value):
        return ""
    return f"{estimated(arm.gain, _digits(arm), signed=True)} against {arm.against}"


def tables(arms: Sequence[Arm]) -> Iterator[Table]:
    """Yield a table for each data set and form, arms in rows, without columns that are empty."""
    for dataset, form in dict.fromkeys((arm.dataset, arm.form) for arm in arms):
        own = [arm for arm in arms if (arm.dataset, arm.form) == (dataset, form)]
        units = list(dict.fromkeys(arm.unit for arm in own))
        title = dataset if dataset == form else f"{dataset} ({form})"
        rows = [_row(arm) for arm in own]
        heads = [head for head in _HEADS if any(row[head.partition("=")[2] or head] for row in rows)]
        yield table(
            f"{title}: {units[0]}" if len(units) == 1 else title, rows,
            (str, "arm", *(["unit"] if len(units) > 1 else []), *heads),
            note=" ".join(_notes(own)),
            words=("arm", "unit", "goal", "goal met", "baselines"),
        )  # fmt: skip


def _notes(arms: Sequence[Arm]) -> Iterator[str]:
    """Yield each note once; a note on a few of several arms names them."""
    for note in dict.fromkeys(arm.note for arm in arms if arm.note):
        named = [arm.arm for arm in arms if arm.note == note]
        few = len(named) < len(arms) and len(named) <= MOST_NAMED
        yield f"{'; '.join(named)}: {note}." if few else f"{capital(note)}."


def _row(arm: Arm) -> dict[str, str]:
    shown = partial(number, digits=_digits(arm))
    rmse = f"RMSE {number(arm.error, _digits(arm, arm.error))}"
    return {
        "arm": arm.arm,
        "unit": arm.unit,
        "observed": estimated(Estimate(arm.observed, *arm.interval), _digits(arm), signed=True),
        "predicted": shown(arm.predicted, signed=True),
        "error": rmse if arm.measure == RMSE else shown(arm.error, signed=True),
        "gain": _gain(arm),
        "goal": arm.goal,
        "met": {True: "yes", False: "NO", None: ""}[arm.met],
        "baselines": "; ".join(
            f"{name} {number(value, _digits(arm, value))}"
            for name, value in arm.baselines.items()
            if value or name != NO_CHANGE
        ),
    }


def as_page(arms: Sequence[Arm]) -> str:
    """Return answer and tables in Markdown."""
    parts = ["\n".join(f"- {line.strip()}" for line in answer(arms))]
    for shown in tables(arms):
        parts += [f"**{shown.caption}**", as_markdown(shown), *([shown.note] if shown.note else [])]
    return "\n\n".join(parts)
