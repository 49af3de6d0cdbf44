"""The arms of a comparison: every combination of the settings that vary."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from townsquare.core.documents import bundled_labels
from townsquare.core.errors import SettingError
from townsquare.core.words import listed
from townsquare.settings.layers import parse_value

LONGEST_SLUG, MOST_NAMED = 60, 3
WHOLE, NOTHING_LEFT_OUT = "all", "nothing left out"
"""Name of the only arm where nothing varies, and of the arm with an empty setting ``leave_out``, in words."""
_WORDS: dict[str, dict[str, str]] = bundled_labels("values_of_settings")
STRATEGIES, RESPONSES = _WORDS["moderation.strategy"], _WORDS["moderation.response"]
"""Bundled strategies of moderation, and what follows a ruling of the fact-checking desk, in words."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm.

    Attributes
    ----------
    name : str
        What varies in it, as ``moderation.strategy=none``; several settings are separated by commas.
    slug : str
        The name of its folder: lower-case letters, digits, ``-``, ``_`` and ``.``.
    changes : mapping of str to object
        Dotted path of a setting -> its value in this arm.
    """

    name: str
    slug: str
    changes: Mapping[str, Any]


def arms_of(vary: Mapping[str, Sequence[Any]], *, one_at_a_time: bool = False) -> tuple[Arm, ...]:
    """Return every combination of the given values, the last setting varying fastest; the first is the baseline.

    With ``one_at_a_time``, return the values of one setting after the other instead.

    Raises
    ------
    SettingError
        A setting has no values, or one of them twice, or is ``seed``, of which there is a list already.

    >>> [arm.name for arm in arms_of({"moderation.strategy": ["none", "hybrid"]})]
    ['moderation.strategy=none', 'moderation.strategy=hybrid']
    >>> [arm.name for arm in arms_of({"u": [0.2, 0.4], "a": [1.0]}, one_at_a_time=True)]
    ['u=0.2', 'u=0.4', 'a=1.0']
    """
    if one_at_a_time:
        return tuple(arm for key, values in vary.items() for arm in arms_of({key: values}))
    for key, values in vary.items():
        texts = [shown(value) for value in values]
        if key == "seed":
            raise SettingError("--vary seed", got=", ".join(texts), do="set seeds with --seeds")
        if not texts or len(set(texts)) < len(texts):
            raise SettingError(f"--vary {key}", got=", ".join(texts) or "no value", allowed="different values")
    arms: list[Arm] = []
    for values in itertools.product(*vary.values()):
        changes = dict(zip(vary, values, strict=True))
        name = ", ".join(f"{key}={shown(value)}" for key, value in changes.items()) or WHOLE
        arms.append(Arm(name, _slug(changes, name), changes))
    shared = Counter(arm.slug for arm in arms)
    return tuple(
        replace(arm, slug=f"{arm.slug}-{short_digest(arm.name)}") if shared[arm.slug] > 1 else arm for arm in arms
    )


def check_distinct(settings: Mapping[str, object]) -> None:
    """Refuse arms, by name, of which two come to the same settings.

    Raises
    ------
    SettingError
        With the two names.
    """
    for first, second in itertools.combinations(settings, 2):
        if settings[first] == settings[second]:
            raise SettingError("arms", got=f"{first} and {second}, which are equal", do="leave one out")


def labels(arms: Sequence[Arm]) -> dict[str, str]:
    """Return a short name of each arm: the values of its settings, with the setting where they are no words.

    >>> list(labels(arms_of({"moderation.strategy": ["none", "third_party"], "agents": [20, 30]})).values())[1:3]
    ['no moderation, agents=30', 'fact-checking, agents=20']
    >>> list(labels(arms_of({"leave_out": [{"veracity": ["false"], "agents": [3, 7]}, {}]})).values())
    ['no false posts and no agents 3 and 7', 'nothing left out']
    """
    short = {arm.name: ", ".join(_in_words(key, value) for key, value in arm.changes.items()) for arm in arms}
    told_apart = all(short.values()) and len(set(short.values())) == len(short)
    return short if told_apart else {name: name for name in short}


def _in_words(key: str, value: Any) -> str:
    if isinstance(value, str) and value:
        return _WORDS.get(key, {}).get(value, value)
    if key == "leave_out" and isinstance(value, Mapping):
        return listed([f"no {words}" for words in _left_out(value)]) or NOTHING_LEFT_OUT
    return f"{key.rpartition('.')[2]}={shown(value)}"


def _left_out(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the setting ``leave_out`` removes, in words."""
    yield from (f"{str(word).lower()} posts" for word in value.get("veracity", ()))
    for key, noun in (("posts", "scenario post"), ("agents", "agent")):
        numbers = value.get(key, ())
        named = [str(number) for number in numbers[:MOST_NAMED]]
        if len(numbers) > MOST_NAMED:
            named.append(f"{len(numbers) - MOST_NAMED:,} more")
        if named:
            yield f"{noun if len(numbers) == 1 else f'{noun}s'} {listed(named)}"


def shown(value: Any) -> str:
    """Return a value as the name of an arm says it: a text as it is, any other as JSON."""
    return value if isinstance(value, str) else json.dumps(value, default=repr)


def _slug(changes: Mapping[str, Any], name: str) -> str:
    words = [f"{key.rpartition('.')[2]}-{shown(value)}" for key, value in changes.items()] or [WHOLE]
    slug = re.sub(r"[^a-z0-9._-]+", "-", "_".join(words).lower()).strip("-._")
    return slug if 0 < len(slug) <= LONGEST_SLUG else f"{slug[:LONGEST_SLUG]}-{short_digest(name)}"


def short_digest(name: str) -> str:
    """Return eight hexadecimal digits that represent a name."""
    return hashlib.sha256(name.encode()).hexdigest()[:8]


def parse_vary(text: str, option: str = "--vary") -> tuple[str, list[Any]]:
    """Read ``"key=a,b,c"`` as a key and YAML values; errors name the ``option`` that was given.

    Raises
    ------
    SettingError
        It has no key or no values, or a value is not YAML.

    >>> parse_vary("beliefs.pull=0.005, 1e-2")
    ('beliefs.pull', [0.005, 0.01])
    >>> parse_vary("actions.enabled=[like, share], null")
    ('actions.enabled', [['like', 'share'], None])
    """
    key, equals, values = text.partition("=")
    if not equals or not key.strip() or not values.strip():
        raise SettingError(option, got=repr(text), allowed="key=a,b,c, such as moderation.strategy=none,hybrid")
    listed = parse_value(f"[{values}]", f"{option} {key.strip()}")
    return key.strip(), listed if isinstance(listed, list) else [listed]


def parse_seeds(text: str, first: int) -> list[int]:
    """Read seeds: ``"10"`` is ten seeds from ``first`` on; ``"3,5,8"`` and ``"1-20"`` are the seeds themselves.

    Raises
    ------
    SettingError
        For anything else, and for a seed given twice.

    >>> parse_seeds("3", 7), parse_seeds("3,5", 1), parse_seeds("2-4,9", 1)
    ([7, 8, 9], [3, 5], [2, 3, 4, 9])
    """
    problem = SettingError("--seeds", got=repr(text), allowed="how many (10), a list (3,5,8) or a range (1-20)")
    parts = [re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", part.strip()) for part in text.split(",")]
    if len(parts) == 1 and parts[0] and parts[0][2] is None:
        ranges = [(first, first + int(parts[0][1]) - 1)]
    else:
        ranges = [(int(part[1]), int(part[2] or part[1])) for part in parts if part]
    if not all(parts) or sum(last - start + 1 for start, last in ranges) > MOST_SEEDS:
        raise problem
    seeds = [seed for start, last in ranges for seed in range(start, last + 1)]
    if not seeds or len(set(seeds)) < len(seeds):
        raise problem
    return seeds


MOST_SEEDS = 100_000
