"""The contract of follow graphs.

A follow is directed: the follower sees the posts of the followed account. Every graph is a pure function of its
settings, random draws and, if it uses them, people. It has no follow of oneself and no follow twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from townsquare.core.array_types import Int32
from townsquare.core.draws import StageDraws
from townsquare.core.errors import SettingError
from townsquare.scenario.population.sample import People
from townsquare.settings.base import FamilyMember

MAX_FOLLOWS = 2**31 - 1
FOLLOWS_AT_BIRTH = 10  # where a graph has no number for it, as a file has not


class Edges(NamedTuple):
    """Follows: ``follower`` (e,) int32 sees the posts of ``followed`` (e,) int32; both are rows of agents."""

    follower: Int32
    followed: Int32


class Build(Protocol):
    """The function of a member that makes a graph."""

    def __call__(
        self,
        n: int,
        params: Any,
        draws: StageDraws,
        *,
        folder: Path | None = None,
        names: Sequence[str] = (),
        people: People | None = None,
    ) -> Edges:
        """Return follows among agents 0 to ``n`` - 1.

        Relative paths are looked up in ``folder`` first. ``names`` are the names of the agents in the file of follows,
        if they have names; ``people`` are the agents, for graphs that depend on traits or stances. Raises
        ``SettingError`` or ``DataError``.
        """


@dataclass(frozen=True, slots=True)
class GraphKind(FamilyMember):
    """A member of the family ``graph``.

    Attributes
    ----------
    name : str
        The value of ``graph.kind``.
    params : type of MemberParams
        Its settings.
    build : Build
        The function that makes the graph.
    follows_at_birth : callable
        ``follows_at_birth(params, n)``: the number of accounts that an agent follows when it joins a run that started
        with ``n`` agents.
    """

    build: Build
    follows_at_birth: Callable[[Any, int], int] = lambda params, n: FOLLOWS_AT_BIRTH


def check_size(where: str, follows: float, got: str) -> None:
    """Raise ``SettingError`` for a graph of more follows than its arrays can count."""
    if follows > MAX_FOLLOWS:
        allowed = f"settings that give at most {MAX_FOLLOWS:,} follows"
        raise SettingError(where, got=f"{got}, so {follows:,.0f} follows", allowed=allowed)
