"""Chats and debates with answers before and after: trajectories of :mod:`townsquare.humans.trajectories`.

The first answer is an instrument of its own: how far it tells the last one without any message is taken from control
conversations, or, where there are none, from the other conversations (the baseline *prior only*). The shipped prior
knows the scale alone: an answer at its end stands for the outer half of its step, which is half of the scale where
answers are yes or no. What messages add is predicted by the rule ``credence``, for somebody who reads everything in one
sitting.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from townsquare.beliefs.arrays import offsets_of, owners
from townsquare.beliefs.credence import Params
from townsquare.beliefs.equation import STANCE_MARGIN, stances_of, start_log_odds
from townsquare.beliefs.grids import grid_of
from townsquare.beliefs.laboratory import after_reading
from townsquare.core import registry
from townsquare.core.array_types import Bool, Float
from townsquare.humans.effects.contract import RMSE, Arm
from townsquare.humans.fit.baselines import fitted_anchoring
from townsquare.humans.fit.evidence_choice import EvidenceChoice
from townsquare.humans.fit.options import FitOptions
from townsquare.humans.fit.predict import predict_cell
from townsquare.humans.fit.prepared import Prepared, prepare
from townsquare.humans.resample import codes, estimate, out_of_fold, ratio, rmse, rmse_difference, sums
from townsquare.humans.trajectories import Trajectories

ANCHORING = 0.46
"""How far a first answer tells the last one, where no data say so: the shipped a."""
FEWEST_CONTROLS = 10
_LARGEST = 5.0
_SITTING = {"attention": 1.0, "new": 1.0}
"""Of a chat that is read whole, about something new; a feed has less of both."""


def check_trajectories(dataset: str, people: Trajectories, fit: bool) -> Iterator[Arm]:
    """Yield the arm with messages, the same with the shipped prior, and the control conversations."""
    ready = prepare(people, FitOptions(rule="log_odds", evidence=EvidenceChoice(dedup=False)))
    group = codes(ready.people.conversation)
    initial, final = ready.spans.initial, ready.spans.final
    controls = people.take(people.control)
    margin = end_of_scale(np.concatenate([people.initial, people.final]))
    treated = _prior_of_others(initial, final, group, margin)
    a, name = (treated, "prior only")
    if len(controls) >= FEWEST_CONTROLS:
        own = fitted_anchoring(controls.initial, controls.final, margin)
        a, name = np.full(initial.size, own), "prior of controls"
    priors = {"prior only": _stance(initial, treated, margin), name: _stance(initial, a, margin)}
    yield _arm(dataset, ready, f"toward the messages, {name}", priors, priors[name], fit=fit)
    title = f"toward the messages, shipped prior (a {ANCHORING:g})"
    yield _arm(dataset, ready, title, priors, _stance(initial, ANCHORING, margin), fit=False)
    if len(controls) > 1:
        yield _controls(dataset, controls, margin)


def end_of_scale(answers: Float) -> float:
    """Return how far within an end of the scale an answer at it stands: half of half of the step between answers.

    >>> end_of_scale(np.array([-1.0, 1.0])), end_of_scale(np.array([-1.0, 0.5, 0.75, 1.0]))
    (0.5, 0.0625)
    """
    different = np.unique(answers[np.isfinite(answers)])
    step = float(np.diff(different).min()) if different.size > 1 else 0.0
    return max(STANCE_MARGIN, step / 4.0)


def _stance(initial: Float, a: float | Float, margin: float) -> Float:
    return stances_of(start_log_odds(initial, a, margin))


def _prior_of_others(initial: Float, final: Float, group: np.ndarray, margin: float) -> Float:
    """Return a of each person, fitted to the conversations of the other folds."""

    def loss(a: float, rows: Bool) -> float:
        return rmse(final[rows] - _stance(initial[rows], a, margin))

    return out_of_fold(loss, group, (0.0, _LARGEST))[0]


def _arm(dataset: str, ready: Prepared, title: str, priors: dict[str, Float], prior: Float, *, fit: bool) -> Arm:
    """Return what messages did; ``priors`` are stances by the baselines, ``prior`` those that the rule starts from."""
    group, (_, initial, final, rows) = codes(ready.people.conversation), ready.spans
    counted = rows.sign > 0
    owner, shown = owners(rows.indptr)[counted], (rows.polarity * rows.strength)[counted]
    indptr = offsets_of(np.bincount(owner, minlength=initial.size))
    note = ""

    def predict(reliability: float | Float) -> Float:
        return after_reading("credence", prior, indptr, shown, {**_SITTING, "reliability": reliability})

    reliability: float | Float = Params().reliability
    if fit:
        reliability, _ = out_of_fold(lambda r, rows: rmse((final - predict(r))[rows]), group, (0.0, 0.95))
        note = f"reliability fitted to other conversations: {reliability.min():.2f} to {reliability.max():.2f}"
    predicted = predict(reliability)
    toward = np.sign(np.bincount(owner, np.sign(shown), minlength=initial.size))
    moved = toward != 0
    pair = [sums(group[moved], np.ones(moved.sum()), (toward * (x - prior))[moved]) for x in (final, predicted)]
    observed = estimate(ratio, pair[0])
    rule = registry.get("beliefs", "log_odds").params()
    defaults = {"x": rule.uptake, "y": rule.anchoring}
    paper = predict_cell(rows, grid_of("log_odds"), STANCE_MARGIN, **defaults)
    errors = {"no change": initial - final, "log_odds, default": paper - final}
    errors |= {name: own - final for name, own in priors.items()}
    gain = rmse_difference(group, predicted - final, errors["prior only"])
    return Arm(
        dataset=dataset, form=ready.people.name, measure=RMSE, unit="stance, minus the prediction of the prior",
        arm=title, observed=observed.value, interval=observed[1:], predicted=float(ratio(pair[1].sum(axis=0)[None])[0]),
        error=rmse(predicted - final), goal="not worse than prior only beyond noise", met=not gain.low > 0,
        against="prior only", gain=gain,
        baselines={key: rmse(value) for key, value in errors.items()}, note=note,
    )  # fmt: skip


def _controls(dataset: str, controls: Trajectories, margin: float) -> Arm:
    """Return conversations about something else: the prior of the other ones, against no change."""
    group = codes(controls.conversation)
    change = controls.final - controls.initial
    observed = estimate(ratio, sums(group, np.ones(change.size), np.abs(change)))
    own = _prior_of_others(controls.initial, controls.final, group, margin)
    predicted = _stance(controls.initial, own, margin)
    gain = rmse_difference(group, controls.final - predicted, change)
    return Arm(
        dataset=dataset, form=controls.name, arm="controls", measure=RMSE, unit="stance, absolute change",
        observed=observed.value, interval=observed[1:], predicted=float(np.abs(predicted - controls.initial).mean()),
        error=rmse(controls.final - predicted), against="no change", gain=gain, baselines={"no change": rmse(change)},
        note="these conversations are about something else: all change is noise of answers",
    )  # fmt: skip
