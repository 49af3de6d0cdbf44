"""What a policy takes and gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from townsquare.config import MemberParams
from townsquare.draws import StageDraws
from townsquare.errors import ContractError
from townsquare.models.contract import Asker
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
    reads : frozenset of str
        What it reads beside the feed: ``persona``, ``memory``. A run that nobody reads them in has neither.
    bind : callable, optional
        ``bind(asker)`` gives the same policy with a language model to ask; it decides only then.
    """

    name: str
    params: type[MemberParams]
    decide: Callable[[Views, StageDraws, Any], Chosen]
    reads: frozenset[str] = frozenset()
    bind: Callable[[Asker], Policy] | None = None


def check_chosen(chosen: Chosen, n_propositions: int) -> None:
    """Refuse choices that cannot be read row by row; what can is accepted or refused by :mod:`townsquare.actions`.

    Raises
    ------
    ContractError
        If the arrays differ in length, agents do not ascend, a row is acted on and unread, or a declared stance
        names no action or proposition, comes twice, or lies outside [-1, 1] (strength: [0, 1], or NaN for none).
    """
    columns = (chosen.kind, chosen.row, chosen.target, chosen.text, chosen.helpful, chosen.reasoning)
    if any(column.shape != chosen.agent.shape for column in columns):
        raise ContractError("policy", got="columns of different lengths", allowed="one entry an action in each")
    if (chosen.agent[1:] < chosen.agent[:-1]).any():
        raise ContractError("policy", got="actions of one agent apart from each other", allowed="ascending agents")
    if chosen.unread.size and np.isin(chosen.row, chosen.unread).any():
        raise ContractError("policy", got="an action on a row that was not read", allowed="rows that were")
    action, proposition, stance, strength = chosen.declared
    if not action.shape == proposition.shape == stance.shape == strength.shape:
        raise ContractError("policy", got="declared stances of different lengths", allowed="one of each")
    order = np.lexsort((proposition, action))
    twice = (np.diff(action[order]) == 0) & (np.diff(proposition[order]) == 0)
    checks = (
        ("declared action", (action < 0) | (action >= chosen.n), f"0 to {chosen.n - 1}"),
        ("declared action", np.diff(action) < 0, "ascending"),
        ("declared proposition", (proposition < 0) | (proposition >= n_propositions), f"0 to {n_propositions - 1}"),
        ("declared proposition", twice, "each once an action"),
        ("declared stance", ~(np.abs(stance) <= 1), "-1 to 1"),
        ("declared strength", (strength < 0) | (strength > 1), "0 to 1, or NaN"),
    )
    for what, wrong, allowed in checks:
        if wrong.any():
            raise ContractError("policy", got=f"{what} outside its range", allowed=allowed)
