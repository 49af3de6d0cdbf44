"""Names of everything that comes in several kinds.

A member of a family is one file and one line here: the name that settings use, and where its object stands. Members
are imported when they are first asked for. Order matters only for ``stance``, whose numbers are recorded
(:class:`townsquare.schema.Scorer`): append there, never insert.
"""

from __future__ import annotations

import difflib
import importlib
from typing import Any

from townsquare.errors import UnknownName

_FAMILIES: dict[str, dict[str, str]] = {
    "beliefs": {
        "exposure": "townsquare.beliefs.exposure:RULE",
        "exposure-bounded": "townsquare.beliefs.exposure_bounded:RULE",
        "bounded_confidence": "townsquare.beliefs.bounded_confidence:RULE",
        "averaging": "townsquare.beliefs.averaging:RULE",
        "no_change": "townsquare.beliefs.no_change:RULE",
    },
    "ranker": {
        "recent": "townsquare.rankers.recent:RANKER",
        "engagement": "townsquare.rankers.engagement:RANKER",
        "random": "townsquare.rankers.random:RANKER",
    },
    "policy": {
        "statistical": "townsquare.policies.statistical:POLICY",
        "blind": "townsquare.policies.blind:POLICY",
        "scripted": "townsquare.policies.scripted:POLICY",
        "silent": "townsquare.policies.silent:POLICY",
        "mix": "townsquare.policies.mix:POLICY",
    },
    "moderation": {
        "none": "townsquare.moderation.none:MODERATOR",
        "community": "townsquare.moderation.community:MODERATOR",
        "third_party": "townsquare.moderation.third_party:MODERATOR",
        "hybrid": "townsquare.moderation.hybrid:MODERATOR",
    },
    "graph": {
        "scale_free": "townsquare.graph:SCALE_FREE",
        "random": "townsquare.graph:RANDOM",
        "file": "townsquare.graph:FILE",
    },
    "extractor": {
        "given": "townsquare.evidence.given:EXTRACTOR",
    },
    "embedder": {
        "hashing": "townsquare.evidence.hashing:EMBEDDER",
    },
    "strength": {
        "constant": "townsquare.evidence.constant:JUDGE",
    },
    "stance": {
        "vader": "townsquare.stance.vader:SCORER",
    },
}


def families() -> tuple[str, ...]:
    """The families that have members."""
    return tuple(_FAMILIES)


def names(family: str) -> tuple[str, ...]:
    """The members of a family, in order of registration."""
    return tuple(_FAMILIES[family])


def get(family: str, name: str) -> Any:
    """The member ``name`` of ``family``.

    Raises
    ------
    UnknownName
        With the nearest name there is.

    >>> get("ranker", "recnt")
    Traceback (most recent call last):
    ...
    townsquare.errors.UnknownName: ranker: got 'recnt'; allowed: recent, engagement, random; did you mean 'recent'?
    """
    members = _FAMILIES[family]
    if name not in members:
        raise UnknownName(family, got=repr(name), allowed=", ".join(members), do=did_you_mean(name, members))
    module, _, attribute = members[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def register(family: str, name: str, target: str) -> None:
    """Add a member of your own: ``register("ranker", "mine", "my_module:RANKER")``.

    Raises
    ------
    UnknownName
        If there is no such family, or the name is taken by another target.
    """
    if family not in _FAMILIES:
        raise UnknownName("family", got=repr(family), allowed=", ".join(_FAMILIES))
    if _FAMILIES[family].get(name, target) != target:
        raise UnknownName(family, got=repr(name), do=f"the name is taken by {_FAMILIES[family][name]}")
    _FAMILIES[family][name] = target


def did_you_mean(got: str, allowed: object) -> str:
    """A hint with the nearest of the allowed words, or nothing."""
    near = difflib.get_close_matches(str(got), [str(word) for word in allowed], n=1)  # type: ignore[attr-defined]
    return f"did you mean {near[0]!r}?" if near else ""
