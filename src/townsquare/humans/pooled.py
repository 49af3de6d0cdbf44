"""One profile for all against a profile for each person, out of sample."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from townsquare.humans.fit import RULE, HeldOut
from townsquare.humans.grids import Grid
from townsquare.humans.pooling import Person, Population, fit_population, people_of, predict_new, predict_next
from townsquare.humans.prepared import Prepared
from townsquare.humans.scores import Scored, score_all
from townsquare.humans.trajectories import Float

NEW, NEXT = "person_new", "person_known"


class PooledFit(NamedTuple):
    """People of their own numbers.

    Attributes
    ----------
    population : Population
        Fitted to everyone.
    people : list of Person
        What is known of each.
    predicted : dict of str to (k,) float64
        ``person_new``: out of fold, knowing nothing of the person.
    known : Scored or None
        The rows with earlier stretches of the same person, predicted from those: ``person_known`` against one profile
        for all and the baselines; None where fewer than ten rows have any.
    """

    population: Population
    people: list[Person]
    predicted: dict[str, Float]
    known: Scored | None

    def share_told(self, which: str) -> float:
        """Share of people of whom the data tell ``"x"``, ``"y"`` or both apart (``"both"``)."""
        if which == "both":
            return float(np.mean([one.told_apart for one in self.people]))
        return float(np.mean([one.x_told if which == "x" else one.y_told for one in self.people]))


def fit_people(ready: Prepared, grid: Grid, predicted: Float, square: Float, held: HeldOut, seed: int) -> PooledFit:
    """Fit the population, in and out of folds, and every person; ``predicted`` and ``square`` are (k, cells)."""
    person = ready.person
    new, following = np.empty(person.size), np.full(person.size, math.nan)
    has_earlier = np.zeros(person.size, np.bool_)
    for number in range(len(held.chosen)):
        out = held.fold == number
        # Nobody of the fold is in the population that predicts them, whatever conversations they were in.
        strangers = ~np.isin(person, person[out])
        train = strangers if strangers.sum() >= out.sum() else ~out
        population = fit_population(square[train], person[train], grid)
        new[out] = predict_new(predicted[out], population)
        following[out], has_earlier[out] = predict_next(predicted[out], square[out], person[out], population)
    population = fit_population(square, person, grid)
    known = None
    if has_earlier.sum() >= 10:
        at = np.flatnonzero(has_earlier)
        said = {name: values[at] for name, values in held.predicted.items()}
        said |= {NEW: new[at], NEXT: following[at]}
        known = score_all(ready.spans.final[at], said, held.fold[at], ready.group[at], NEXT, seed)
    people = people_of(square, person, ready.persons, grid, population)
    return PooledFit(population, people, {NEW: new}, known)


def one_for_all(known: Scored) -> float:
    """RMSE of a profile for each person less that of one profile for all, on the same rows."""
    return known.scores[NEXT].rmse - known.scores[RULE].rmse
