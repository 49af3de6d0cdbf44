"""Give a scenario as many sources as settings ask for, and everyday posts where sources publish.

Sources and posts of a scenario keep their rows; further ones come after them. Further sources are a function of their
number alone, so that they are the same for every seed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from townsquare.core.array_types import Int64
from townsquare.core.documents import read_yaml
from townsquare.core.draws import U64, bits_oracle, text_key, uniform_oracle
from townsquare.core.enums import PostType, Veracity
from townsquare.core.errors import SettingError
from townsquare.core.files import bundled_folder
from townsquare.scenario.contents import Posts, Scenario, Source
from townsquare.settings.config import Config, SourceClass

RELIABLE, LOW_CREDIBILITY = "reliable", "low_credibility"
CLASSES = (RELIABLE, LOW_CREDIBILITY)
PLAUSIBILITY = 0.62
"""Plausibility of everyday posts, that of true posts in the public prototype."""
MIDDLE = (0.2, 0.8)
"""Where a class has no source in the scenario: the part of the class's credibilities from which theirs are drawn."""


def class_of(config: Config, name: str) -> SourceClass:
    """Return the settings of a class."""
    chosen: SourceClass = getattr(config.sources, name)
    return chosen


def rows_of_class(scenario: Scenario, config: Config, name: str) -> Int64:
    """Return the rows of sources that are of a class, ascending: at or above ``sources.low_below``, or below it."""
    low = np.array([source.credibility < config.sources.low_below for source in scenario.sources], np.bool_)
    return np.flatnonzero(low if name == LOW_CREDIBILITY else ~low)


def expanded(scenario: Scenario, config: Config) -> Scenario:
    """Return the scenario with the sources and everyday posts of a run; its digest is that of the given one.

    A post of a source that is left out has neither source nor account.

    Raises
    ------
    SettingError
        Sources publish at a rate, but a step has no length.
    """
    publish = config.sources.publish
    if publish and config.time.step_minutes is None:
        name = next(name for name in CLASSES if class_of(config, name).posts_per_day > 0)
        got = f"{class_of(config, name).posts_per_day:g}, but steps without a length"
        raise SettingError(f"sources.{name}.posts_per_day", got=got, do="set time.step_minutes, such as 60")
    out = _with_sources(scenario, config)
    if publish and any(_is_everyday(class_of(config, name)) for name in CLASSES):
        out = replace(out, posts=_with_everyday(out.posts))
    if out is not scenario:
        object.__setattr__(out, "digest", scenario.digest)
    return out


def _is_everyday(chosen: SourceClass) -> bool:
    return chosen.posts_per_day > 0 and chosen.topical < 1


def _with_sources(scenario: Scenario, config: Config) -> Scenario:
    remains = np.ones(len(scenario.sources), np.bool_)
    further: list[Source] = []
    taken = {source.name for source in scenario.sources}
    for name in CLASSES:
        rows, count = rows_of_class(scenario, config, name), class_of(config, name).count
        if count is None:
            continue
        remains[rows[count:]] = False
        low, high = _range(scenario, config, name)
        for ordinal in range(count - rows.size):
            source = _invented(name, ordinal, low, high, taken)
            taken.add(source.name)
            further.append(source)
    if remains.all() and not further:
        return scenario
    row = np.append(np.where(remains, np.cumsum(remains) - 1, -1), -1).astype(np.int32)  # the last: posts of accounts
    sources = tuple(source for source, there in zip(scenario.sources, remains.tolist(), strict=True) if there)
    posts = replace(scenario.posts, source=row[scenario.posts.source])
    return replace(scenario, sources=(*sources, *further), posts=posts)


def _range(scenario: Scenario, config: Config, name: str) -> tuple[float, float]:
    """Return the lowest and highest credibility of the scenario's sources of a class, or of its middle."""
    rows = rows_of_class(scenario, config, name)
    if rows.size:
        values = [scenario.sources[row].credibility for row in rows]
        return min(values), max(values)
    edge = config.sources.low_below
    start, width = (0.0, edge) if name == LOW_CREDIBILITY else (edge, 1 - edge)
    return start + MIDDLE[0] * width, start + MIDDLE[1] * width


@cache
def _words() -> dict[str, Any]:
    words: Any = read_yaml(bundled_folder() / "source_names.yaml")
    return dict(words)


def _invented(name: str, ordinal: int, low: float, high: float, taken: set[str]) -> Source:
    """Return the further source of a class with this number, which has no name that is taken."""
    words, attempt, number = _words(), 0, np.array([ordinal])
    while True:
        key = np.array([attempt], U64)
        drawn = [
            words[part][int(bits_oracle(U64(text_key(f"{name} {part}")), number, key)[0] % U64(len(words[part])))]
            for part in ("first", "second", name)
        ]
        first, second, form = drawn
        called = form.format(town=f"{first} {second}")
        if called not in taken:
            u = uniform_oracle(U64(text_key("credibility")), number, np.array([text_key(called)], U64))[0]
            return Source(called, round(low + float(u) * (high - low), 3))
        attempt += 1


@cache
def everyday_texts() -> tuple[str, ...]:
    """Return the bundled everyday posts."""
    lines = (bundled_folder() / "everyday.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line.strip())


def _with_everyday(posts: Posts) -> Posts:
    """Return posts with the bundled everyday ones after them: true, without a stance, of no source of their own."""
    texts = everyday_texts()
    n, p = len(texts), posts.stance.shape[1]
    more: dict[str, Any] = {
        "veracity": np.full(n, Veracity.TRUE), "plausibility": np.full(n, PLAUSIBILITY),
        "type": np.full(n, PostType.NEWS), "source": np.full(n, -1), "step": np.full(n, -1),
        "stance": np.full((n, p), np.nan), "strength": np.full((n, p), np.nan), "account": np.full(n, -1),
    }  # fmt: skip
    columns = {
        name: np.concatenate([getattr(posts, name), column]).astype(getattr(posts, name).dtype)
        for name, column in more.items()
    }
    return Posts(text=(*posts.text, *texts), topic=(*posts.topic, *[""] * n), **columns)
