"""Publishing: what sources publish in which step, a function of settings, scenario and seed alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import pdtr, pdtrik

from townsquare.core.array_types import Array, Float, Int64
from townsquare.core.draws import U64, Draws, Stage, bits_oracle, text_key
from townsquare.core.enums import Veracity
from townsquare.core.errors import SettingError
from townsquare.scenario.contents import Scenario
from townsquare.scenario.population.sample import People
from townsquare.scenario.sources.audiences import sides_of
from townsquare.scenario.sources.expand import CLASSES, LOW_CREDIBILITY, class_of, rows_of_class
from townsquare.settings.config import Config

NTH = 16  # bits for the number of a post among those of its source in one step


class Publications(NamedTuple):
    """What sources publish, by step, then source: rows of posts, rows of sources, steps, and keys of the posts."""

    post: Int64
    source: Int64
    step: Int64
    key: npt.NDArray[U64]


class Chances(NamedTuple):
    """Rows of posts from which a source chooses: everyday ones, and true and false ones about a proposition."""

    everyday: Int64
    true: Int64
    false: Int64


def published(given: Scenario, scenario: Scenario, config: Config) -> Publications:
    """Return everything that sources publish in a run.

    In each step a source publishes a Poisson number of posts with mean posts_per_day x step_hours / 24 x rhythm. Each
    is about a proposition with the chance ``topical``, else everyday news; of the former, it is false with the chance
    ``false_share``. The row is drawn from those that fit, with replacement.

    Parameters
    ----------
    given : Scenario
        As it was given, whose sources say which class a post comes from.
    scenario : Scenario
        Expanded; its rows are returned.

    Raises
    ------
    SettingError
        The scenario has no post of a kind that a class publishes.
    """
    steps = np.arange(config.injection.start_step, config.steps + 1)
    rhythm = np.array([config.time.rhythm_of(int(step)) for step in steps])
    sides, draw = sides_of(scenario, config), Draws(config.seed, 0)(Stage.SCENARIO)
    parts = []
    for name in CLASSES:
        chosen = class_of(config, name)
        sources = rows_of_class(scenario, config, name)
        if not chosen.posts_per_day or not sources.size:
            continue
        rows = _rows(given, scenario, config, name)
        mean = chosen.posts_per_day * config.time.step_hours / 24 * rhythm
        for source in sources.tolist():
            side = sides[source] if name == LOW_CREDIBILITY else 0.0
            own = Chances(rows.everyday, *(_of_side(scenario, part, side) for part in rows[1:]))
            key = U64(text_key(scenario.sources[source].name))
            count = poisson(draw.uniform("posts of a source", steps, key, lasting=True), mean)
            step = np.repeat(steps, count)
            nth = np.arange(step.size) - np.repeat(np.cumsum(count) - count, count)
            which = (step << NTH) + nth
            topical = draw.uniform("topical", which, key, lasting=True) < chosen.topical
            false = topical & (draw.uniform("false", which, key, lasting=True) < chosen.false_share)
            u = draw.uniform("row of a post", which, key, lasting=True)
            kind = np.where(false, 2, topical.astype(np.int64))
            post = np.zeros(step.size, np.int64)
            for number, pool in enumerate(own):
                here = kind == number
                post[here] = _one_of(pool, u[here], name, Chances._fields[number])
            keys = bits_oracle(U64(text_key("published")), which, np.full(which.size, key))
            keys = bits_oracle(U64(text_key("published row")), post, keys)
            parts.append(Publications(post, np.full(step.size, source), step, keys))
    if not parts:
        none = np.empty(0, np.int64)
        return Publications(none, none, none, np.empty(0, U64))
    post, source, step, keys = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((source, step))
    return Publications(post[order], source[order], step[order], keys[order])


def rumors(scenario: Scenario, config: Config, people: People) -> Publications:
    """Return false posts that ordinary people publish, ``sources.rumors_per_day``; ``source`` are their rows of agents.

    Their number in a step is Poisson, with the daily rhythm. Each is a false post of the scenario about a proposition,
    drawn with replacement; its author is drawn by activity among people whose first stance is on its side.

    Raises
    ------
    SettingError
        Steps have no length, or the scenario has no false post.
    """
    where, got = "sources.rumors_per_day", f"{config.sources.rumors_per_day:g}"
    if config.time.step_minutes is None:
        raise SettingError(where, got=f"{got}, but steps without a length", do="set time.step_minutes, such as 60")
    rows = np.flatnonzero((scenario.posts.veracity == Veracity.FALSE) & ~np.isnan(scenario.posts.stance).all(axis=1))
    if not rows.size:
        raise SettingError(where, got=f"{got}, but no false post", do="add false posts to the scenario, or set it to 0")
    draw, steps = Draws(config.seed, 0)(Stage.SCENARIO), np.arange(config.injection.start_step, config.steps + 1)
    rhythm = np.array([config.time.rhythm_of(int(step)) for step in steps])
    mean = config.sources.rumors_per_day * config.agents / 1000 * config.time.step_hours / 24 * rhythm
    count = poisson(draw.uniform("rumors", steps, np.zeros(steps.size, U64), lasting=True), mean)
    step = np.repeat(steps, count)
    which = (step << NTH) + np.arange(step.size) - np.repeat(np.cumsum(count) - count, count)
    none = np.zeros(which.size, U64)
    post = _one_of(rows, draw.uniform("row of a rumor", which, none, lasting=True), "", "false")
    u, author = draw.uniform("author of a rumor", which, none, lasting=True), np.zeros(which.size, np.int64)
    for row in np.unique(post).tolist():
        proposition = int(np.flatnonzero(~np.isnan(scenario.posts.stance[row]))[0])
        agrees = people.stance[:, proposition] * scenario.posts.stance[row, proposition] > 0
        weight = np.cumsum(people.activity * (agrees if agrees.any() else 1.0))
        author[post == row] = np.searchsorted(weight, u[post == row] * weight[-1], side="right")
    keys = bits_oracle(U64(text_key("rumor")), which, post.astype(U64))
    return Publications(post, np.minimum(author, config.agents - 1), step, keys)


def poisson(u: Float, mean: Float) -> Int64:
    """Return Poisson numbers by the inverse of the distribution function: the least k with P(X <= k) > u."""
    k = np.ceil(np.nan_to_num(pdtrik(u, mean)))
    k = np.where((k > 0) & (pdtr(np.maximum(k - 1, 0), mean) > u), k - 1, k)
    k = np.where(pdtr(k, mean) > u, k, k + 1)
    return np.asarray(np.where(mean > 0, k, 0), np.int64)


def _one_of(pool: Int64, u: Float, name: str, kind: str) -> Int64:
    if u.size and not pool.size:
        setting = {"everyday": "topical", "true": "false_share", "false": "false_share"}[kind]
        do = f"add such posts to the scenario, or change sources.{name}.{setting}"
        raise SettingError(f"sources.{name}.posts_per_day", got=f"{kind} posts, of which the scenario has none", do=do)
    if not u.size:
        return pool[:0]
    chosen: Int64 = pool[np.minimum((u * pool.size).astype(np.int64), pool.size - 1)]
    return chosen


def _rows(given: Scenario, scenario: Scenario, config: Config, name: str) -> Chances:
    """Return the rows of a class: of the scenario's sources of the class, or of all where these have none that fit."""
    posts = scenario.posts
    everyday, n = np.asarray(np.isnan(posts.stance).all(axis=1)), len(given.posts)
    if class_of(config, name).topical and everyday[:n].all():
        everyday[:n] = False  # posts of a scenario without any stance are what it is about
    false = posts.veracity == Veracity.FALSE
    own = np.zeros(len(posts), np.bool_)
    own[:n] = np.isin(given.posts.source, rows_of_class(given, config, name))

    def fitting(kind: Array) -> Int64:
        return np.flatnonzero(kind & own if (kind & own).any() else kind)

    return Chances(np.flatnonzero(everyday & ~false), fitting(~everyday & ~false), fitting(~everyday & false))


def _of_side(scenario: Scenario, rows: Int64, side: float) -> Int64:
    """Return the rows on a side of the first proposition; else those that are not on the other side; else all."""
    if side == 0:
        return rows
    stance = np.nan_to_num(scenario.posts.stance[rows, 0]) * side
    for fits in (stance > 0, stance >= 0):
        if fits.any():
            return np.asarray(rows[fits])
    return rows
