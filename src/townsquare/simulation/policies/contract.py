"""What a policy takes and gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.core.draws import StageDraws
from townsquare.core.enums import Rating
from townsquare.core.member_errors import breach, call_member
from townsquare.core.schema import NONE, TABLES, ActionKind
from townsquare.models.contract import Asker
from townsquare.settings.config import MemberParams
from townsquare.simulation.views import Chosen, Views

FAMILY = "policy"
_DTYPES = {
    "agent": np.int32,
    "kind": np.uint8,
    "row": np.int64,
    "target": np.int32,
    "text": np.int32,
    "helpful": np.int8,
    "reasoning": np.int32,
}


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


@dataclass(frozen=True, slots=True)
class ChosenPolicy:
    """A policy with its parameters."""

    member: Policy
    params: Any

    def decide(self, views: Views, draws: StageDraws) -> Chosen:
        """Return what the policy decides, checked.

        Raises
        ------
        ContractError
            See :func:`check_chosen`; or the policy made a mistake.
        """
        name, decide = self.member.name, self.member.decide
        chosen = call_member(FAMILY, name, "decide", lambda: decide(views, draws, self.params))
        check_chosen(name, chosen, views)
        return chosen


def check_chosen(name: str, chosen: object, views: Views) -> None:
    """Refuse choices that name what is not there; the others are accepted or refused by
    :mod:`townsquare.simulation.actions`.

    Raises
    ------
    ContractError
        If an array has another dtype or length than :class:`townsquare.simulation.views.Chosen` says; agents do not
        ascend, or are not of the views; a row, kind, text or rating is none; ``examined`` says nothing of some rows; a
        declared stance names no action or proposition, comes twice, or lies outside [-1, 1] (strength: [0, 1], or NaN
        for none). Names the policy, the agent and the value.
    """
    if not isinstance(chosen, Chosen):
        raise breach(FAMILY, name, f"decide returned {type(chosen).__name__}", "Chosen")
    _check_columns(name, chosen)
    if (chosen.agent[1:] < chosen.agent[:-1]).any():
        raise breach(FAMILY, name, "actions of one agent apart from each other", "ascending agents")
    here = np.zeros(max(int(views.agents.max(initial=-1)), int(chosen.agent.max(initial=-1))) + 1, np.bool_)
    here[views.agents] = True
    n_rows, n_texts = int(views.indptr[-1]), views.n_texts + len(chosen.new_texts)
    checks = (
        ("agent", here[chosen.agent] & (chosen.agent >= 0), "agents of the views"),
        ("kind", chosen.kind < len(ActionKind), "of ActionKind"),
        ("row", (chosen.row >= NONE) & (chosen.row < n_rows), "-1, or a row of the agent's own feed"),
        ("text", (chosen.text >= NONE) & (chosen.text < n_texts), f"-1 to {n_texts - 1}"),
        ("reasoning", (chosen.reasoning >= NONE) & (chosen.reasoning < n_texts), f"-1 to {n_texts - 1}"),
        ("helpful", (chosen.helpful >= NONE) & (chosen.helpful < len(Rating)), "of Rating, or -1 for no rating"),
    )
    for column, good, allowed in checks:
        if not good.all():
            at = int(np.argmin(good))
            got = f"{column} {getattr(chosen, column)[at]}"
            raise breach(FAMILY, name, got, allowed, agent=int(chosen.agent[at]))
    if chosen.examined is not None:
        _check_array(name, "examined", chosen.examined, np.bool_)
        if chosen.examined.size != n_rows:
            raise breach(FAMILY, name, f"examined of {chosen.examined.size} rows", f"{n_rows}, or None for every row")
    _check_declared(name, chosen, views.stance.shape[1])


def _check_array(name: str, column: str, array: object, dtype: npt.DTypeLike) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
        kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise breach(FAMILY, name, f"{column} of {kind}", f"(n,) {np.dtype(dtype)}")


def _check_columns(name: str, chosen: Chosen) -> None:
    """Dtypes and lengths."""
    for column, dtype in _DTYPES.items():
        array = getattr(chosen, column)
        _check_array(name, column, array, dtype)
        if array.shape != chosen.agent.shape:
            raise breach(FAMILY, name, f"columns of different lengths: {column} {array.size}", f"{chosen.agent.size}")
    if not all(isinstance(text, str) for text in chosen.new_texts):
        raise breach(FAMILY, name, "new texts that are no texts", "a tuple of str")
    prompts = {column.name for column in TABLES["prompts"].recorded} - {"step"}
    lengths = {len(column) for column in chosen.told.values()}
    if chosen.told and (chosen.told.keys() != prompts or len(lengths) > 1):
        raise breach(FAMILY, name, f"told with columns {sorted(chosen.told)}", f"of one length: {sorted(prompts)}")


def _check_declared(name: str, chosen: Chosen, n_propositions: int) -> None:
    """Stances that agents declare of what they write."""
    dtypes = [str(np.asarray(column).dtype.kind) for column in chosen.declared]
    if len(dtypes) != 4 or any(kind not in kinds for kind, kinds in zip(dtypes, ("iu", "iu", "f", "f"), strict=True)):
        raise breach(FAMILY, name, f"declared stances of kinds {dtypes}", "four arrays: two of int, two of float")
    action, proposition, stance, strength = (np.asarray(column) for column in chosen.declared)
    if not action.shape == proposition.shape == stance.shape == strength.shape:
        raise breach(FAMILY, name, "declared stances of different lengths", "one of each")
    order = np.lexsort((proposition, action))
    twice = np.zeros(action.size, np.bool_)
    twice[order[1:]] = (np.diff(action[order]) == 0) & (np.diff(proposition[order]) == 0)
    checks = (
        ("action", action, (action < 0) | (action >= chosen.n), f"0 to {chosen.n - 1}"),
        ("action", action, np.r_[False, np.diff(action) < 0][: action.size], "ascending"),
        ("proposition", proposition, (proposition < 0) | (proposition >= n_propositions), f"0 to {n_propositions - 1}"),
        ("proposition", proposition, twice, "each once an action"),
        ("stance", stance, ~(np.abs(stance) <= 1), "-1 to 1"),
        ("strength", strength, (strength < 0) | (strength > 1), "0 to 1, or NaN"),
    )
    for what, values, wrong, allowed in checks:
        if wrong.any():
            at = int(np.argmax(wrong))
            agent = int(chosen.agent[action[at]]) if 0 <= action[at] < chosen.n else None
            raise breach(FAMILY, name, f"declared {what} {values[at]}", allowed, agent=agent)
