"""What a policy takes and gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from townsquare.config import MemberParams
from townsquare.draws import StageDraws
from townsquare.views import Chosen, Views


@dataclass(frozen=True, slots=True)
class Policy:
    """A member of the family ``policy``.

    Attributes
    ----------
    name : str
        As in the registry.
    params : type of MemberParams
        Its settings, in its own file.
    decide : callable
        ``decide(views, draws, params) -> Chosen``. It may draw by (agent, key of a post) only, changes nothing, and
        gives the same agent the same choice whoever else is in the views.
    """

    name: str
    params: type[MemberParams]
    decide: Callable[[Views, StageDraws, Any], Chosen]
