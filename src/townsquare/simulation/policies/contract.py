"""The contract of a policy: its inputs and its output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from townsquare.core.actions import ActionKind
from townsquare.core.draws import StageDraws
from townsquare.core.enums import Rating
from townsquare.core.member_errors import breach, call_member, check_array, check_type, check_values, repeated
from townsquare.core.schema import NONE, TABLES
from townsquare.models.contract import AskingMember
from townsquare.simulation.views import COLUMNS, ProposedActions, Views

FAMILY = "policy"


@dataclass(frozen=True, slots=True)
class Policy(AskingMember):
    """A member of the family ``policy``.

    Attributes
    ----------
    decide : callable
        ``decide(views, draws, params) -> ProposedActions``. It identifies draws by agent and key of a post only, and
        changes nothing. The actions of an agent do not depend on the other agents in the views.
    reads : frozenset of str
        What the policy reads besides the feed: ``persona``, ``memory`` (by default, a run has them only if a policy
        reads them), and ``believed`` (:attr:`townsquare.simulation.views.Views.believed`).
    """

    decide: Callable[[Views, StageDraws, Any], ProposedActions]
    reads: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ChosenPolicy:
    """A policy with its parameters."""

    member: Policy
    params: Any

    def decide(self, views: Views, draws: StageDraws) -> ProposedActions:
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
        If an array has another dtype or length than :class:`townsquare.simulation.views.ProposedActions` says; agents
        do not ascend, or are not of the views; a row, kind, text or rating does not exist; ``examined`` has another
        length than the rows; a declared stance names no action or proposition, comes twice, or lies outside [-1, 1]
        (strength: [0, 1], or NaN for none). Names the policy, the agent and the value.
    """
    chosen = check_type(FAMILY, name, "decide", chosen, ProposedActions)
    _check_columns(name, chosen)
    if (chosen.agent[1:] < chosen.agent[:-1]).any():
        raise breach(FAMILY, name, "actions of one agent apart from each other", "ascending agents")
    here = np.zeros(max(int(views.agents.max(initial=-1)), int(chosen.agent.max(initial=-1))) + 1, np.bool_)
    here[views.agents] = True
    n_rows, n_texts = int(views.indptr[-1]), views.n_texts + len(chosen.new_texts)
    limits = {
        "kind": (0, len(ActionKind), "of ActionKind"),
        "row": (NONE, n_rows, "-1, or a row of the agent's own feed"),
        "text": (NONE, n_texts, f"-1 to {n_texts - 1}"),
        "reasoning": (NONE, n_texts, f"-1 to {n_texts - 1}"),
        "helpful": (NONE, len(Rating), "of Rating, or -1 for no rating"),
    }
    checks = [("agent", chosen.agent, here[chosen.agent] & (chosen.agent >= 0), "agents of the views")]
    for column, (low, high, allowed) in limits.items():
        values = getattr(chosen, column)
        checks.append((column, values, (values >= low) & (values < high), allowed))
    check_values(FAMILY, name, checks, chosen.agent)
    if chosen.examined is not None:
        entry = "one for each row, or None if all were examined"
        check_array(FAMILY, name, "examined", chosen.examined, np.bool_, (n_rows,), entry=entry)
    _check_declared(name, chosen, views.stance.shape[1])


def _check_columns(name: str, chosen: ProposedActions) -> None:
    """Dtypes and lengths."""
    check_array(FAMILY, name, "agent", chosen.agent, np.int32, (None,))
    for column, dtype in COLUMNS.items():
        check_array(FAMILY, name, column, getattr(chosen, column), dtype, (chosen.n,), entry="one for each action")
    if not all(isinstance(text, str) for text in chosen.new_texts):
        raise breach(FAMILY, name, "new texts that are no texts", "a tuple of str")
    prompts = {column.name for column in TABLES["prompts"].recorded} - {"step"}
    stats = chosen.prompt_stats
    if stats and (stats.keys() != prompts or len({len(column) for column in stats.values()}) > 1):
        raise breach(FAMILY, name, f"prompt_stats with columns {sorted(stats)}", f"of one length: {sorted(prompts)}")


def _check_declared(name: str, chosen: ProposedActions, n_propositions: int) -> None:
    """Stances that agents declare of what they write."""
    dtypes = [str(np.asarray(column).dtype.kind) for column in chosen.declared]
    if len(dtypes) != 4 or any(kind not in kinds for kind, kinds in zip(dtypes, ("iu", "iu", "f", "f"), strict=True)):
        raise breach(FAMILY, name, f"declared stances of kinds {dtypes}", "four arrays: two of int, two of float")
    action, proposition, stance, strength = (np.asarray(column) for column in chosen.declared)
    if not action.shape == proposition.shape == stance.shape == strength.shape:
        raise breach(FAMILY, name, "declared stances of different lengths", "one of each")
    there = (action >= 0) & (action < chosen.n)
    check_values(FAMILY, name, [("declared action", action, there, f"0 to {chosen.n - 1}")])
    known = (proposition >= 0) & (proposition < n_propositions)
    checks = (
        ("declared action", action, np.r_[True, np.diff(action) >= 0][: action.size], "ascending"),
        ("declared proposition", proposition, known, f"0 to {n_propositions - 1}"),
        ("declared proposition", proposition, ~repeated(action, proposition), "each once an action"),
        ("declared stance", stance, np.abs(stance) <= 1, "-1 to 1"),
        ("declared strength", strength, ~((strength < 0) | (strength > 1)), "0 to 1, or NaN"),
    )
    check_values(FAMILY, name, checks, chosen.agent[action])
