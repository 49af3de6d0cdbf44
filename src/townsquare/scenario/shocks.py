"""Shocks: events that inject many posts of the queue at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Int64
from townsquare.core.enums import Veracity
from townsquare.core.errors import SettingError
from townsquare.scenario.contents import Posts, Scenario
from townsquare.settings.config import Config, Injection
from townsquare.settings.event_checks import event_name
from townsquare.settings.events import Inject


class Shock(NamedTuple):
    """A shock: its event in words, step, request, and the row of its source (-1: any)."""

    where: str
    step: int
    asks: Inject
    source: int


def shocks_of(config: Config, scenario: Scenario) -> list[Shock]:
    """Return the shocks of a run, by step; those after its end are none."""
    names = [source.name for source in scenario.sources]
    shocks = []
    for number, event in enumerate(config.events, 1):
        if event.inject is not None and event.step <= config.steps:
            source = -1 if event.inject.source is None else names.index(event.inject.source)
            shocks.append(Shock(f"{event_name(number, event.step)}, inject", event.step, event.inject, source))
    return sorted(shocks, key=lambda shock: shock.step)


def with_shocks(
    posts: Posts, queue: Int64, spare: Int64, injection: Injection, shocks: list[Shock]
) -> tuple[Int64, Int64]:
    """Return the queue with shocks: rows of ``posts`` and their steps, in order of injection.

    A shock takes the first posts that fit of what is left of the queue, then of ``spare``, which the queue leaves out.

    Raises
    ------
    SettingError
        Fewer posts are left than a shock asks for.
    """
    rows, steps = [], []
    turn = injection.start_step
    for shock in shocks:
        for part, first in _turns(queue, injection, turn, shock.step):
            rows.append(part)
            steps.append(np.full(part.size, first, np.int64))
            queue = queue[part.size :]
        turn = max(turn, shock.step)
        left = np.concatenate([queue, spare])
        taken = left[_fits(posts, left, shock)][: shock.asks.posts]
        if taken.size < shock.asks.posts:
            do = "ask for fewer, or add posts to the scenario"
            raise SettingError(shock.where, got=f"{shock.asks.posts} posts", allowed=f"the {taken.size} left", do=do)
        rows.append(taken)
        steps.append(np.full(taken.size, shock.step, np.int64))
        queue, spare = (part[~np.isin(part, taken)] for part in (queue, spare))
    rows.append(queue)
    steps.append(turn + np.arange(queue.size) // max(1, injection.posts_per_step))
    return np.concatenate(rows), np.concatenate(steps)


def _turns(queue: Int64, injection: Injection, turn: int, stop: int) -> Iterator[tuple[Int64, int]]:
    """Yield what enters in each of the steps from ``turn`` to before ``stop``."""
    size = injection.posts_per_step
    for step in range(turn, stop if size else turn):
        part = queue[(step - turn) * size :][:size]
        if not part.size:
            return
        yield part, step


def _fits(posts: Posts, rows: Int64, shock: Shock) -> npt.NDArray[np.bool_]:
    out = np.ones(rows.size, np.bool_)
    if shock.asks.veracity != "any":
        out &= posts.veracity[rows] == Veracity[shock.asks.veracity.upper()]
    if shock.source >= 0:
        out &= posts.source[rows] == shock.source
    return out
