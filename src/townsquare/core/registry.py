"""The registry of all members of families, such as rankers and belief rules.

A member of a family is one file, and one line of ``members.csv``: its family, the name that settings use, and where its
object stands. Members are imported when they are first asked for. Order matters only for ``stance``, whose numbers are
recorded (:class:`townsquare.core.enums.Scorer`): append there, never insert.

Add your own members with :func:`register`, or from an installed package whose entry points of the group
``townsquare.members`` are named ``family.name`` (``ranker.mine = "my_package.rankers:MINE"``): the command line and
every process of a comparison know those members. Their code runs only after a setting or a command names them, except
that measures and sections run whenever a run is summarized or reported.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Collection
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from townsquare.core.errors import TownsquareError, UnknownName
from townsquare.core.files import package_table
from townsquare.core.former_names import FORMER_NAMES, current_name


def _bundled_members() -> dict[str, dict[str, str]]:
    """Return where the members that come with Townsquare stand: family -> name -> ``module:ATTRIBUTE``."""
    families: dict[str, dict[str, str]] = {}
    for line in package_table("core/members.csv"):
        families.setdefault(line["family"], {})[line["name"]] = line["target"]
    return families


_FAMILIES = _bundled_members()
_BUNDLED = {family: tuple(members) for family, members in _FAMILIES.items()}
ENTRY_POINTS = "townsquare.members"


def families() -> tuple[str, ...]:
    """Return the families that have members."""
    return tuple(_FAMILIES)


def names(family: str) -> tuple[str, ...]:
    """Return the members of a family, in order of registration."""
    add_installed()
    return tuple(_FAMILIES[family])


def bundled(family: str) -> tuple[str, ...]:
    """Return the members that come with Townsquare."""
    return _BUNDLED[family]


def get(family: str, name: str) -> Any:
    """Return the member ``name`` of ``family``. Where its target is a dict, the member is there by its name.

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
    name = current_name(family, name) if family in FORMER_NAMES else name
    module, _, attribute = target_of(family, name).partition(":")
    target = getattr(importlib.import_module(module), attribute)
    return target[name] if isinstance(target, dict) else target


def target_of(family: str, name: str) -> str:
    """Return where the member ``name`` of ``family`` stands, as ``module:ATTRIBUTE``; nothing is imported.

    Raises
    ------
    UnknownName
        With the nearest name there is.
    """
    add_installed()
    check_known(family, name, _FAMILIES[family])
    return _FAMILIES[family][name]


def register(family: str, name: str, target: str) -> None:
    """Add a member of your own for this process: ``register("ranker", "mine", "my_module:RANKER")``.

    Worker processes of :func:`townsquare.compare` know the member only if your script registers it outside
    ``if __name__ == "__main__":``.

    Raises
    ------
    UnknownName
        There is no such family, or another member has this name.
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
    where: str,
    name: str,
    known: Collection[str],
    kind: type[TownsquareError] = UnknownName,
    nothing: str = "none",
    do: str = "",
) -> None:
    """Refuse a name that is not known; ``nothing`` is what is allowed where no name is, ``do`` helps if none is near.

    Raises
    ------
    TownsquareError
        Of ``kind``, with the names that there are and the nearest of them.
    """
    if name not in known:
        raise kind(where, got=repr(name), allowed=", ".join(known) or nothing, do=did_you_mean(name, known) or do)


def did_you_mean(got: str, allowed: object) -> str:
    """Return a hint with the nearest of the allowed words, or nothing."""
    near = difflib.get_close_matches(str(got), [str(word) for word in allowed], n=1)  # type: ignore[attr-defined]
    return f"did you mean {near[0]!r}?" if near else ""
