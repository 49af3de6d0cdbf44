"""Individual parameters by partial pooling: people differ, but come from one population.

Each person has a cell of the grid. Over cells, counted by their place in the grid, the population is a normal
distribution cut off at the grid's edges; given the cell, what the person held at the end of a stretch is the rule's
prediction with normal error. Mean, covariance and error are found by expectation-maximization; a person's posterior
over cells is the population's weighed by how well each cell predicts the person (empirical Bayes).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from townsquare.beliefs.grids import Grid
from townsquare.core.array_types import Bool, Float, Int64
from townsquare.humans.fit.fit import HeldOut
from townsquare.humans.fit.kinds import KINDS, KINDS_NEXT, SPREADS, Kinds, Mixture, fit_kinds, mixture_next, mixture_of
from townsquare.humans.fit.prepared import Prepared
from townsquare.humans.fit.scores import Scored, score_all, sums_by

ROUNDS = 60
_LEAST_SPREAD = 0.3  # of places in the grid: a population narrower than its cells cannot be told from one point
_LEAST_ERROR = 1e-3
NARROWER = 0.9
"""A posterior whose spread is more than this share of the population's tells nothing about the person."""
CORRELATED = 0.8


class Population(NamedTuple):
    """The population of one fit.

    Attributes
    ----------
    share : (cells,) float64
        Of each cell; sums to 1.
    error : float
        Standard deviation of people's answers around the prediction.
    mean, spread : (2,) and (2, 2) float64
        Mean and spread of the positions in the grid, x and y.
    """

    share: Float
    error: float
    mean: Float
    spread: Float


class Person(NamedTuple):
    """Parameters of one person: means and 95% posterior intervals of x and y, and whether they are identified."""

    name: str
    rows: int
    x: tuple[float, float, float]
    y: tuple[float, float, float]
    x_identified: bool
    y_identified: bool
    separable: bool


def places(grid: Grid) -> Float:
    """Return (cells, 2) places of the cells in the grid, x and y, from 0."""
    x, y = np.meshgrid(np.arange(len(grid.x)), np.arange(len(grid.y)), indexing="ij")
    return np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float64)


def fit_population(square: Float, person: Int64, grid: Grid) -> Population:
    """Return the population that makes what people held most likely.

    Parameters
    ----------
    square : (k, cells) float64
        Squared error of every stretch in every cell.
    person : (k,) int64
        Whose stretch it is; any codes.
    grid : Grid
        The cells.
    """
    at = places(grid)
    sums, _ = sums_by(square, person)
    population = Population(
        np.full(square.shape[1], 1.0 / square.shape[1]), math.sqrt(max(float(square.mean(axis=0).min()), _LEAST_ERROR)),
        at.mean(axis=0), np.diag(at.var(axis=0)),
    )  # fmt: skip
    for _ in range(ROUNDS):
        weight = _posterior(sums, population)
        error = math.sqrt(max(float((weight * sums).sum()) / square.shape[0], _LEAST_ERROR**2))
        share = weight.mean(axis=0)
        mean = share @ at
        apart = at - mean
        spread = (apart * share[:, None]).T @ apart + _LEAST_SPREAD**2 * np.eye(2)
        population = Population(_normal(at, mean, spread), error, mean, spread)
    return population


def _normal(at: Float, mean: Float, spread: Float) -> Float:
    apart = at - mean
    return np.asarray(special.softmax(-0.5 * np.einsum("ci,ij,cj->c", apart, np.linalg.inv(spread), apart)))


def _posterior(sums: Float, population: Population) -> Float:
    """Return (p, cells) posterior of each person, from sums of squared errors."""
    with np.errstate(divide="ignore"):
        power = np.log(population.share) - sums / (2.0 * population.error**2)
    return np.asarray(special.softmax(power, axis=1))


def predict_next(predicted: Float, square: Float, person: Int64, population: Population) -> tuple[Float, Bool]:
    """Return each stretch's expectation from the person's earlier ones, and whether there were any; (k,) each.

    Rows of one person are in order.
    """
    out = np.empty(person.size)
    known = np.zeros(person.size, np.bool_)
    sums: dict[int, Float] = {}
    nothing = np.zeros(square.shape[1])
    for row, name in enumerate(person.tolist()):
        before = sums.get(name, nothing)
        known[row] = name in sums
        out[row] = float(predicted[row] @ _posterior(before[None, :], population)[0])
        sums[name] = before + square[row]
    return out, known


def people_of(square: Float, person: Int64, names: tuple[str, ...], grid: Grid, population: Population) -> list[Person]:
    """Return what is known of each person, in order of their codes; ``names`` by code."""
    sums, rows = sums_by(square, person)
    weight = _posterior(sums, population)
    shape = grid.shape
    by_x, by_y = weight.reshape(-1, *shape).sum(axis=2), weight.reshape(-1, *shape).sum(axis=1)
    at = places(grid)
    prior = np.sqrt(population.share @ (at - population.share @ at) ** 2)
    mean = weight @ at
    spread = np.sqrt(np.maximum(weight @ at**2 - mean**2, 0.0))
    both = weight @ (at[:, 0] * at[:, 1]) - mean[:, 0] * mean[:, 1]
    size = spread[:, 0] * spread[:, 1]
    correlation = np.divide(both, size, out=np.zeros_like(both), where=size > 1e-9)
    out = []
    for number, name in enumerate(np.unique(person).tolist()):
        identified = spread[number] < NARROWER * prior
        apart = bool(identified.all() and abs(correlation[number]) < CORRELATED)
        x, y = _summary(by_x[number], grid.x), _summary(by_y[number], grid.y)
        out.append(Person(names[name], int(rows[number]), x, y, bool(identified[0]), bool(identified[1]), apart))
    return out


def _summary(weight: Float, values: tuple[float, ...]) -> tuple[float, float, float]:
    """Return posterior mean, and the values between which 95% lies."""
    up = np.cumsum(weight)
    low = values[int(np.searchsorted(up, 0.025))]
    high = values[min(int(np.searchsorted(up, 0.975)), len(values) - 1)]
    return float(weight @ np.array(values)), low, high


# One profile for all against a profile for each person, out of sample.


NEW, NEXT = "person_new", "person_known"


class PooledFit(NamedTuple):
    """People of their own numbers.

    Attributes
    ----------
    population : Population
        Fitted to everyone.
    people : list of Person
        What is known of each.
    kinds : Kinds or None
        Fitted to everyone; None for one kind.
    predicted : dict of str to (k,) float64
        Out of fold, knowing nothing of the person: ``person_new``, ``kinds``.
    mixtures : dict of str to Mixture
        Distributions out of fold: ``kinds``, the same from earlier answers, and ``spreads``.
    known : Scored or None
        The rows with earlier stretches of the same person, predicted from those: ``person_known`` against one profile
        for all and the baselines; None where fewer than ten rows have any.
    """

    population: Population
    people: list[Person]
    kinds: Kinds | None
    predicted: dict[str, Float]
    mixtures: dict[str, Mixture]
    known: Scored | None

    def share_identified(self, which: str) -> float:
        """Return share of people of whom the data tell ``"x"``, ``"y"`` or both apart (``"both"``)."""
        column = {"x": "x_identified", "y": "y_identified", "both": "separable"}[which]
        return float(np.mean([getattr(person, column) for person in self.people]))


def fit_people(
    ready: Prepared, grid: Grid, predicted: Float, square: Float, held_out: HeldOut, seed: int, n_kinds: int
) -> PooledFit:
    """Fit the population, in and out of folds, and every person; ``predicted`` and ``square`` are (k, cells)."""
    person, change = ready.person, ready.spans.final - ready.spans.initial
    mixtures = {
        name: Mixture(*(np.zeros((person.size, n_kinds)) for _ in range(3)))
        for name in ((KINDS, KINDS_NEXT, SPREADS) if n_kinds > 1 else ())
    }
    new, following = np.empty(person.size), np.full(person.size, math.nan)
    has_earlier = np.zeros(person.size, np.bool_)
    for number in range(len(held_out.chosen)):
        out = held_out.fold == number
        # Nobody of the fold is in the population that predicts them, whatever conversations they were in.
        strangers = ~np.isin(person, person[out])
        train = strangers if strangers.sum() >= out.sum() else ~out
        population = fit_population(square[train], person[train], grid)
        new[out] = predicted[out] @ population.share  # of a person of whom nothing is known
        following[out], has_earlier[out] = predict_next(predicted[out], square[out], person[out], population)
        if n_kinds > 1:
            others = square[train], person[train], change[train], n_kinds
            kinds, spreads = (fit_kinds(*others, one_cell=shared) for shared in (False, True))
            own = mixture_of(predicted[out], kinds), mixture_next(predicted[out], square[out], person[out], kinds)
            for name, mixture in zip(mixtures, (*own, mixture_of(predicted[out], spreads)), strict=True):
                for column, values in zip(mixtures[name], mixture, strict=True):
                    column[out] = values
    means = {name: (mixture.weight * mixture.mean).sum(axis=1) for name, mixture in mixtures.items()}
    population = fit_population(square, person, grid)
    known = None
    if has_earlier.sum() >= 10:
        at = np.flatnonzero(has_earlier)
        predictions = {name: values[at] for name, values in held_out.predicted.items()}
        predictions |= {NEW: new[at], NEXT: following[at]}
        predictions |= {name: means[name][at] for name in (KINDS, KINDS_NEXT) if name in means}
        known = score_all(ready.spans.final[at], predictions, held_out.fold[at], ready.group[at], NEXT, seed)
    people = people_of(square, person, ready.persons, grid, population)
    unknown = {NEW: new} | {name: mean for name, mean in means.items() if name == KINDS}
    everyone = fit_kinds(square, person, change, n_kinds) if n_kinds > 1 else None
    return PooledFit(population, people, everyone, unknown, mixtures, known)
