"""Names of everything that comes in several kinds.

A member of a family is one file and one word here: the name that settings use, and where its object stands. Members
are imported when they are first asked for. Order matters only for ``stance``, whose numbers are recorded
(:class:`townsquare.core.schema.Scorer`): append there, never insert.

Members of your own come in by :func:`register`, or from an installed package whose entry points of the group
``townsquare.members`` are named ``family.name`` (``ranker.mine = "my_package.rankers:MINE"``): those are known to the
command line and to every process of a comparison. No code of theirs runs before a setting names them.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Collection
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from townsquare.core.errors import TownsquareError, UnknownName


def _members(package: str, attribute: str, words: str) -> dict[str, str]:
    """Return where the members of a family stand, by name.

    A word is a name whose module in ``package`` is called so too, or ``name=module``, or ``name=module:ATTRIBUTE``.

    >>> _members("a.b", "RULE", "one two=other three=other:THREE")
    {'one': 'a.b.one:RULE', 'two': 'a.b.other:RULE', 'three': 'a.b.other:THREE'}
    """
    found = {}
    for word in words.split():
        name, _, target = word.partition("=")
        module, _, own = (target or name).partition(":")
        found[name] = f"{package}.{module}:{own or attribute}"
    return found


_FAMILIES: dict[str, dict[str, str]] = {
    "beliefs": _members(
        "townsquare.beliefs",
        "RULE",
        "exposure exposure-bounded=exposure_bounded bounded_confidence averaging no_change log_odds social_log_odds",
    ),
    "ranker": _members("townsquare.simulation.feed.rankers", "RANKER", "recent engagement random hot oldest"),
    "policy": _members(
        "townsquare.simulation.policies", "POLICY", "statistical blind scripted silent llm mix coordinated"
    ),
    "moderation": _members("townsquare.simulation.moderation", "MODERATOR", "none community third_party hybrid"),
    "graph": _members(
        "townsquare.scenario.graphs",
        "GRAPH",
        "scale_free=scale_free:SCALE_FREE random=random:RANDOM small_world=small_world:SMALL_WORLD block=block:BLOCK "
        "file=file:FILE given=given:GIVEN",
    ),
    "extractor": _members("townsquare.beliefs.evidence", "EXTRACTOR", "given embedded=extract model=model_extractor"),
    "embedder": _members("townsquare.beliefs.evidence", "EMBEDDER", "hashing given=given_vectors"),
    "strength": _members("townsquare.beliefs.evidence", "JUDGE", "constant embedded=strength transformer"),
    "speaker": _members(
        "townsquare.debate.members", "SPEAKER", "bank=bank_speaker scripted=scripted_speaker llm=model_speaker"
    ),
    "debater": _members(
        "townsquare.debate.members",
        "DEBATER",
        "belief_engine prompt_self_update=self_update:PROMPT rag_self_update=self_update:RAG",
    ),
    "stance_judge": _members(
        "townsquare.debate.members", "JUDGE", "bank=bank_judge embedded=polarity_judge model=model_judge"
    ),
    "model": _members(
        "townsquare.models",
        "MODEL",
        "fake faulty recorded openai=providers:OPENAI ollama=providers:OLLAMA vllm=providers:VLLM "
        "sglang=providers:SGLANG server=providers:SERVER",
    ),
    "stance": _members("townsquare.beliefs.stance", "SCORER", "vader"),
}
_BUNDLED = {family: tuple(members) for family, members in _FAMILIES.items()}
ENTRY_POINTS = "townsquare.members"


def families() -> tuple[str, ...]:
    """The families that have members."""
    return tuple(_FAMILIES)


def names(family: str) -> tuple[str, ...]:
    """The members of a family, in order of registration."""
    add_installed()
    return tuple(_FAMILIES[family])


def bundled(family: str) -> tuple[str, ...]:
    """The members that come with Townsquare."""
    return _BUNDLED[family]


def get(family: str, name: str) -> Any:
    """The member ``name`` of ``family``.

    Raises
    ------
    UnknownName
        With the nearest name there is.

    >>> try:
    ...     get("ranker", "recnt")
    ... except UnknownName as error:
    ...     print(error.do)
    did you mean 'recent'?
    """
    add_installed()
    members = _FAMILIES[family]
    check_known(family, name, members)
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


@cache
def add_installed() -> None:
    """Register the entry points of installed packages, once; imports none of them.

    Raises
    ------
    UnknownName
        An entry point is not named ``family.name``, or takes a name that is taken; says of which package.
    """
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: (point.name, point.value)):
        package = point.dist.name if point.dist else "an installed package"
        where = f"entry point {point.name!r} of {package}"
        family, _, name = point.name.partition(".")
        if not name or family not in _FAMILIES:
            allowed = "family.name, with a family of " + ", ".join(_FAMILIES)
            raise UnknownName(where, allowed=allowed, do="correct or uninstall that package")
        if _FAMILIES[family].get(name, point.value) != point.value:
            raise UnknownName(where, got=f"a name taken by {_FAMILIES[family][name]}", do="rename or uninstall it")
        _FAMILIES[family][name] = point.value


def check_known(
    where: str, name: str, known: Collection[str], kind: type[TownsquareError] = UnknownName, nothing: str = "none"
) -> None:
    """Refuse a name that is not known; ``nothing`` is what is allowed where no name is.

    Raises
    ------
    TownsquareError
        Of ``kind``, with the names that there are and the nearest of them.
    """
    if name not in known:
        raise kind(where, got=repr(name), allowed=", ".join(known) or nothing, do=did_you_mean(name, known))


def did_you_mean(got: str, allowed: object) -> str:
    """A hint with the nearest of the allowed words, or nothing."""
    near = difflib.get_close_matches(str(got), [str(word) for word in allowed], n=1)  # type: ignore[attr-defined]
    return f"did you mean {near[0]!r}?" if near else ""
