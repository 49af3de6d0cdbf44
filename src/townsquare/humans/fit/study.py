"""A complete fit: held-out rule and baselines, one profile for all, groups, individuals, and identification."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from townsquare.beliefs.grids import grid_of
from townsquare.core.array_types import Float
from townsquare.humans.fit.baselines import Baselines
from townsquare.humans.fit.by_group import GroupRow, Robustness, group_rows, robustness
from townsquare.humans.fit.calibration import Calibration, calibrate, of_controls
from townsquare.humans.fit.fit import RULE, HeldOut, Setup, fit_rows, hold_out
from townsquare.humans.fit.folds import KINDS, fold_of
from townsquare.humans.fit.options import FitOptions
from townsquare.humans.fit.pooling import PooledFit, fit_people
from townsquare.humans.fit.predict import predict_grid
from townsquare.humans.fit.prepared import Prepared, prepare
from townsquare.humans.fit.scores import Scored, score_all
from townsquare.humans.fit.uncertainty import Certainty, beyond_grid, on_grid
from townsquare.humans.trajectories import Trajectories


class Study(NamedTuple):
    """Results of ``townsquare fit``.

    Attributes
    ----------
    options : FitOptions
        With the evidence choice filled in.
    ready : Prepared
        What was fitted to.
    setup : Setup
        The grid and how it was searched.
    predicted : (k, cells) float64
        What the rule says in every cell.
    held_out : HeldOut
        The folds.
    scored : Scored
        Rule, baselines and ``person_new``, each out of fold.
    point : (float, float)
        x and y fitted to everyone.
    certainty : Certainty
        Their intervals, and warnings.
    baselines : Baselines
        Fitted to everyone.
    groups : list of GroupRow
        Tables 1 and A6.
    robust : list of Robustness
        Table A7: for both kinds of folds where there are at least two of each.
    people : PooledFit
        A profile for each person.
    calibration : Calibration
        Effects by arm, predicted and observed, and proper scores.
    """

    options: FitOptions
    ready: Prepared
    setup: Setup
    predicted: Float
    held_out: HeldOut
    scored: Scored
    point: tuple[float, float]
    certainty: Certainty
    baselines: Baselines
    groups: list[GroupRow]
    robust: list[Robustness]
    people: PooledFit
    calibration: Calibration


def study(data: Trajectories, options: FitOptions) -> Study:
    """Fit a rule to human data, hold folds out, and compare with every baseline.

    Raises
    ------
    UnknownName
        No such rule.
    SettingError, ContractError
        A rule without a grid on two settings, or one that breaks its contract.
    DataError
        Too few people or groups, or messages that cannot be judged as asked.
    """
    grid = grid_of(options.rule)
    ready = prepare(data, options)
    options = options.model_copy(update={"evidence": ready.choice})
    setup = Setup(grid, ready.choice.stance_margin, options.continuous)
    spans, everyone = ready.spans, np.ones(ready.spans.final.size, np.bool_)
    predicted = predict_grid(spans.rows, grid, setup.margin)
    square = np.asarray((predicted - spans.final[:, None]) ** 2)
    fold = fold_of(ready.people, options.folds, options.seed, options.n_folds)[spans.person]
    held_out = hold_out(spans, setup, fold, square)
    people = fit_people(ready, grid, predicted, square, held_out, options.seed, options.kinds)
    by_method = {**held_out.predicted, **of_controls(ready, setup.margin), **people.predicted}
    scored = score_all(spans.final, by_method, fold, ready.group, RULE, options.seed)
    point, baselines = fit_rows(spans, setup, square, everyone)
    rows, predictions = group_rows(spans, setup, square, held_out, options.thresholds)
    if options.continuous:
        certainty = beyond_grid(spans, setup, point, ready.group, options.seed)
    else:
        certainty = on_grid(square, ready.group, grid, options.seed)
    robust = _robust(ready, setup, options, square, held_out, predictions)
    calibrated = calibrate(ready, by_method, people.mixtures, fold)
    fitted = (predicted, held_out, scored, point, certainty, baselines)
    return Study(options, ready, setup, *fitted, rows, robust, people, calibrated)


def _robust(
    ready: Prepared, setup: Setup, options: FitOptions, square: Float, held_out: HeldOut, predictions: Float
) -> list[Robustness]:
    rows = []
    for kind in KINDS:
        if kind == options.folds:
            rows.append(robustness(kind, ready.spans.final, held_out, predictions))
            continue
        names = ready.people.conversation if kind == "group" else ready.people.topic
        if len(set(names)) > 1:
            fold = fold_of(ready.people, kind, options.seed, options.n_folds)[ready.spans.person]
            other = hold_out(ready.spans, setup, fold, square)
            _, theirs = group_rows(ready.spans, setup, square, other, options.thresholds)
            rows.append(robustness(kind, ready.spans.final, other, theirs))
    return rows
