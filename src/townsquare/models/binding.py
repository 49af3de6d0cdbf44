"""Members of any family that ask a language model: they are given the door before the run begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from townsquare.models.contract import Asker

Member = TypeVar("Member")


def bound(member: Member, asker: Asker) -> Member:
    """The member, ready to ask: what its ``bind`` gives where it has one, else itself."""
    bind: Callable[[Asker], Any] | None = getattr(member, "bind", None)
    return member if bind is None else bind(asker)


def member_asks(member: Any, params: Any) -> bool:
    """Whether a member asks a language model under its settings: it says so itself, or has a ``bind`` at all.

    >>> member_asks(object(), None)
    False
    """
    if getattr(member, "bind", None) is None:
        return False
    wants: Callable[[Any], bool] | None = getattr(member, "asks", None)
    return wants is None or wants(params)
