"""Estimates of numbers in rounds, with the answers of others shown or not: the form ``partisan_crowds``.

What people answer later without seeing others is taken from the control arm: a line through first and last answers.
What seeing others adds is predicted by ``averaging`` with own evidence that stays
(:data:`townsquare.beliefs.averaging.QUANTITIES`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.analysis.statistics import Estimate
from townsquare.beliefs.averaging import QUANTITIES
from townsquare.beliefs.laboratory import after_rounds
from townsquare.core.array_types import Bool, Float, Int64
from townsquare.core.cells import Column, names, numbers
from townsquare.core.errors import DataError
from townsquare.humans.effects.contract import NO_CONTROLS, RMSE, Arm, Form, Source, few, fixed
from townsquare.humans.fit.scores import percentiles
from townsquare.humans.resample import codes, estimate, out_of_fold, ratio, rmse, rmse_difference, sums

CONTROL = "control"
WIDEST = 4.0
"""z beyond ±4 counts as ±4; a rule sees z / 4, in [-1, 1]."""
MOST_ROUNDS = 50
GOAL = -0.09
_DRAWS = 200
_Z = numbers(-1e15, 1e15)
COLUMNS = (
    *(Column(name, names(), needed=True) for name in ("group", "condition", "question", "person")),
    Column("round", numbers(1, MOST_ROUNDS, None, whole=True), needed=True),
    Column("z", _Z, needed=True),
    Column("peers_z", _Z, needed=True),
)
ABOUT = "group, condition (control, or any other word), question, person, round, z, peers_z"


class _People(NamedTuple):
    """First and last answers, and the others' mean at each round before the last: (n,) and (n, rounds - 1)."""

    group: Int64
    condition: npt.NDArray[np.str_]
    first: Float
    last: Float
    others: Float


def _read(source: Source) -> _People:
    """Return everybody who answered in the first and the last round, and in those between."""
    sheet = source.sheet
    rounds, z, peers = (np.array(sheet[name], np.float64) for name in ("round", "z", "peers_z"))
    peers[np.isnan(peers) & np.array([word.lower() == CONTROL for word in sheet["condition"]])] = 0.0  # not seen
    z, peers = np.clip(z, -WIDEST, WIDEST), np.clip(peers, -WIDEST, WIDEST)
    person = codes(sheet["group"], sheet["condition"], sheet["question"], sheet["person"])
    last = int(rounds.max())
    if last < 2:
        raise DataError(f"{sheet.table.location}, column 'round'", got="one round", allowed="at least two rounds")
    answers, shown = (np.full((int(person.max()) + 1, last), np.nan) for _ in range(2))
    at = rounds.astype(np.int64) - 1
    answers[person, at], shown[person, at] = z, peers
    row = np.zeros(len(answers), np.int64)
    row[person] = np.arange(person.size)
    full = np.isfinite(answers[:, 0] + answers[:, -1]) & np.isfinite(shown[:, :-1]).all(axis=1)
    if not full.any():
        allowed = "at least one person with rows in all rounds, z in the first and last, peers_z before it"
        raise DataError(sheet.table.location, got="no such person", allowed=allowed)
    condition = np.array([word.lower() for word in sheet["condition"]])[row[full]]
    group = codes(sheet["group"], sheet["condition"])[row[full]]
    return _People(group, condition, answers[full, 0], answers[full, -1], shown[full][:, :-1])


def _line(first: Float, last: Float, weight: Float | None = None) -> tuple[float, float]:
    """Return constant and slope of the control arm's last answers on the first."""
    w = np.ones(first.size) if weight is None else weight
    x, y = np.average(first, weights=w), np.average(last, weights=w)
    spread = np.average((first - x) ** 2, weights=w)
    b = float(np.average((first - x) * (last - y), weights=w) / spread) if spread > 0 else 1.0
    return float(y - b * x), b


def _by_rule(rule: str, start: Float, others: Float, **own: float) -> Float:
    shown = [column / WIDEST for column in others.T]
    return WIDEST * after_rounds(rule, np.clip(start / WIDEST, -1.0, 1.0), shown, own)


def _stays(start: Float, others: Float, weight: float | None = None) -> Float:
    """Return last answers by the preset; with another ``weight`` of others if given."""
    own = QUANTITIES.model_dump() if weight is None else {"weight_on_others": 1.0, "stubbornness": 1.0 - weight}
    return _by_rule("averaging", start, others, **own)


def check(sources: Sequence[Source], fit: bool) -> Iterator[Arm]:
    """Yield the control arm and each other arm of every table."""
    for source in sources:
        people = _read(source)
        control = people.condition == CONTROL
        if control.any():
            yield _control(source, people, control)
        for name in few(people.condition.tolist(), source.sheet, "condition"):
            if name != CONTROL:
                yield _social(source, people, people.condition == name, control, name, fit)


def _control(source: Source, people: _People, control: Bool) -> Arm:
    """Return the control arm: a line fitted to the other control groups, against no rule at all."""
    group, first, last = people.group[control], people.first[control], people.last[control]
    several = np.unique(group).size > 1
    predicted = _other_groups(group, first, last) if several else first
    observed = _closed(group, first, last, np.zeros(first.size))
    gain = rmse_difference(group, last - predicted, last - first)
    return Arm(
        dataset=source.dataset, form=source.form, arm=CONTROL, measure=RMSE,
        unit="share of the way to the middle", observed=observed.value, interval=observed[1:],
        predicted=_closed(group, first, predicted, np.zeros(first.size)).value, error=rmse(last - predicted),
        goal="not worse than no rule", met=not gain.low > 0 if several else None, against="no change", gain=gain,
        baselines={"no change": rmse(last - first)},
        note="the prediction is a straight line fitted to the other control groups"
        if several
        else "there is one control group only, so no line can be fitted to others",
    )  # fmt: skip


def _closed(group: Int64, first: Float, last: Float, target: Float) -> Estimate:
    """Return the share of the gap to a target that people close, with its interval over groups."""
    gap, move = target - first, last - first
    return estimate(ratio, sums(group, gap * gap, gap * move))


def _social(source: Source, people: _People, arm: Bool, control: Bool, name: str, fit: bool) -> Arm:
    group, first, last, others = people.group[arm], people.first[arm], people.last[arm], people.others[arm]
    constant, b = _line(people.first[control], people.last[control]) if control.any() else (0.0, 1.0)
    prior = constant + b * first
    predicted, note = _stays(prior, others), "" if control.any() else f"{NO_CONTROLS}: first answers taken as they are"
    if fit and np.unique(group).size > 1:
        weight, fold = out_of_fold(
            lambda w, rows: rmse(last[rows] - _stays(prior[rows], others[rows], w)), group, (0.0, 1.0)
        )
        note = f"weight of others fitted to other groups: {weight.min():.2f} to {weight.max():.2f}"
        for k in np.unique(fold):
            predicted[fold == k] = _stays(prior[fold == k], others[fold == k], float(weight[fold == k][0]))
    seen = others[:, -1]
    observed = _closed(group, prior, last, seen)
    baselines = {"no change": last - first, "prior of controls": last - prior}
    for rule in ("averaging", "bounded_confidence"):
        baselines[f"{rule}, default"] = last - _by_rule(rule, first, others)
    if np.unique(group).size > 1:
        baselines["prior of treated"] = last - _other_groups(group, first, last)
    gain = _gain(people, arm, control, predicted, prior)
    return Arm(
        dataset=source.dataset, form=source.form, arm=name, measure=RMSE, unit="weight of others",
        observed=observed.value, interval=observed[1:], predicted=_closed(group, prior, predicted, seen).value,
        error=rmse(last - predicted), goal=f"RMSE {-GOAL:g} below the prior of controls",
        met=gain.value <= GOAL if control.any() else None,
        against="prior of controls" if control.any() else "no change", gain=gain,
        baselines={key: rmse(value) for key, value in baselines.items() if control.any() or "controls" not in key},
        note=note,
    )  # fmt: skip


def _other_groups(group: Int64, first: Float, last: Float) -> Float:
    """Return what the line of first and last answers of the other groups of the same arm says."""
    out = np.empty(first.size)
    for number in np.unique(group):
        left_out = group == number
        constant, b = _line(first[~left_out], last[~left_out])
        out[left_out] = constant + b * first[left_out]
    return out


def _gain(people: _People, arm: Bool, control: Bool, predicted: Float, prior: Float) -> Estimate:
    """Return RMSE minus that of the control line, with control and treated groups drawn again."""
    first, last, group = people.first[arm], people.last[arm], people.group[arm]
    if not control.any():
        return rmse_difference(group, last - predicted, last - first)
    value = rmse(last - predicted) - rmse(last - prior)
    treated, controls = np.unique(group), np.unique(people.group[control])
    if treated.size < 2 or controls.size < 2:
        return Estimate(value, math.nan, math.nan)
    draw, drawn = np.random.default_rng(42), []
    for _ in range(_DRAWS):
        times = draw.multinomial(controls.size, np.full(controls.size, 1 / controls.size)).astype(np.float64)
        weight = times[np.searchsorted(controls, people.group[control])]
        constant, b = _line(people.first[control], people.last[control], weight)
        line = constant + b * first
        ours = predicted - _stays(prior, people.others[arm]) + _stays(line, people.others[arm])
        own = draw.multinomial(treated.size, np.full(treated.size, 1 / treated.size)).astype(np.float64)
        w = own[np.searchsorted(treated, group)]
        errors = [np.average((last - predictions) ** 2, weights=w) for predictions in (ours, line)]
        drawn.append(math.sqrt(errors[0]) - math.sqrt(errors[1]))
    return Estimate(value, *percentiles(np.array(drawn)))


FORM = Form("partisan_crowds", ABOUT, fixed(COLUMNS), check)
