"""A population of several kinds: each agent has its policy for life, given at birth.

Membership is a lasting draw by agent, or goes by followers at the start, so that it is the same in every arm and does
not change when others join.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import model_validator

from townsquare.core import registry
from townsquare.core.array_types import Array, Bool, Int16, Int64
from townsquare.core.draws import StageDraws
from townsquare.core.errors import SettingError
from townsquare.core.schema import NONE
from townsquare.models.contract import Asker, bound
from townsquare.settings.config import MemberParams, setting
from townsquare.simulation.policies.contract import ChosenPolicy, Policy
from townsquare.simulation.views import COLUMNS, ProposedActions, Views, no_actions


class Member(MemberParams):
    """One kind of agent in the mix."""

    name: str = setting(..., "member of the family `policy`, except `mix`")
    share: float = setting(..., "share of the agents, relative to the other members", gt=0)
    params: dict[str, Any] = setting(dict, "settings of the policy", params_of="policy")

    @model_validator(mode="after")
    def _is_known(self) -> Member:
        if self.name == "mix":
            raise ValueError("a mix cannot hold a mix")
        registry.get("policy", self.name).params.model_validate(self.params)
        return self


class Params(MemberParams):
    """Settings of the policy `mix`."""

    members: tuple[Member, ...] = setting(
        (Member(name="statistical", share=1.0),), "policies and their shares of the agents", min_length=1
    )
    by: Literal["draw", "followers"] = setting(
        "draw", "assignment: random, or by initial followers, with the most followed agents in the first member"
    )

    def check_change(self, before: MemberParams) -> None:
        """Refuse to begin in the middle of a run."""
        if not isinstance(before, Params):
            raise SettingError("policy.name", got="'mix'", do="each agent's member is drawn once, at the start")


def members_of(agents: npt.ArrayLike, draws: StageDraws, params: Any, followers: npt.ArrayLike | None = None) -> Int16:
    """Return the number of each agent's policy in the mix; 0 if the policy is not a mix.

    Parameters
    ----------
    agents : (n,) int
    followers : (n,) int, optional
        Initial number of followers of all agents. Agents that join later have none: by followers, they get the last
        policy.
    """
    if not isinstance(params, Params):
        return np.zeros(np.shape(agents), np.int16)
    if params.by == "followers" and followers is None:
        return np.full(np.shape(agents), len(params.members) - 1, np.int16)
    shares = np.cumsum([member.share for member in params.members])
    u = draws.uniform("member", agents, lasting=True)
    if params.by == "followers":
        order = np.lexsort((u, -np.asarray(followers, np.int64)))  # the draw decides among equals
        u[order] = (np.arange(u.size) + 0.5) / max(1, u.size)
    return np.asarray(np.searchsorted(shares[:-1], u * shares[-1], side="right"), np.int16)


def decide(
    views: Views,
    draws: StageDraws,
    params: Params,
    asker: Asker | None = None,
    instead: Mapping[str, Policy] = MappingProxyType({}),
) -> ProposedActions:
    """Let each member decide for its own agents, and join their actions by agent.

    ``instead`` are policies that take the place of members of some names, with the same settings.
    """
    parts = []
    for number, member in enumerate(params.members):
        mask = views.member == number
        if mask.any():
            policy: Policy = instead.get(member.name) or registry.get("policy", member.name)
            policy = policy if asker is None else bound(policy, asker)
            settings = policy.params.model_validate(member.params)
            parts.append(decided_for(ChosenPolicy(policy, settings), views, draws, mask))
    return together(parts, views) if parts else no_actions()


def decided_for(chosen: ChosenPolicy, views: Views, draws: StageDraws, mask: Bool) -> tuple[ProposedActions, Int64]:
    """Return what some agents of the views decide, and the rows of the views that they are shown; ``mask`` (k,)."""
    return chosen.decide(views.only(mask), draws), np.flatnonzero(np.repeat(mask, np.diff(views.indptr)))


def together(parts: list[tuple[ProposedActions, Int64]], views: Views) -> ProposedActions:
    """Join what several groups decide; rows (k,) map those of a group's views back to the whole.

    Agents in no group do nothing and look at everything.
    """
    chosen: list[ProposedActions] = []
    texts: tuple[str, ...] = ()
    done, n_texts, examined = 0, views.n_texts, np.ones(int(views.indptr[-1]), np.bool_)
    for part, keep in parts:
        row = np.full(part.n, NONE, np.int64)
        row[part.row >= 0] = keep[part.row[part.row >= 0]]
        text, reasoning = (
            np.where(column >= n_texts, column + np.int32(len(texts)), column) for column in (part.text, part.reasoning)
        )
        declared = (part.declared[0] + done, *part.declared[1:])
        if part.examined is not None:
            examined[keep] = part.examined
        chosen.append(replace(part, row=row, text=text, reasoning=reasoning, declared=declared))
        texts += part.new_texts
        done += part.n

    def joined(name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in chosen])

    order = np.argsort(joined("agent"), kind="stable")
    action, *stances = (np.concatenate(columns) for columns in zip(*(part.declared for part in chosen), strict=True))
    action = np.argsort(order)[action]  # where each stands in that order
    by_action = np.argsort(action, kind="stable")
    columns, stats = {name: joined(name)[order] for name in COLUMNS}, _prompt_stats(chosen)
    declared = (action[by_action], *(column[by_action] for column in stances))
    return ProposedActions(**columns, declared=declared, new_texts=texts, examined=examined, prompt_stats=stats)


def _prompt_stats(chosen: list[ProposedActions]) -> dict[str, Array]:
    """Return the statistics of the prompts of all members, agents ascending."""
    stats = [part.prompt_stats for part in chosen if part.prompt_stats]
    if not stats:
        return {}
    order = np.argsort(np.concatenate([part["agent"] for part in stats]), kind="stable")
    return {name: np.concatenate([part[name] for part in stats])[order] for name in stats[0]}


def _kinds(policy: Policy, params: Any) -> list[Policy]:
    """Return the policies that agents act by: the members of a mix, or the policy itself."""
    return [registry.get("policy", m.name) for m in params.members] if isinstance(params, Params) else [policy]


def reads(policy: Policy, params: Any) -> frozenset[str]:
    """Return what a policy, or any member of a mix, reads in addition to the feed (:class:`Policy`)."""
    return frozenset().union(*(member.reads for member in _kinds(policy, params)))


def asks(params: Params) -> bool:
    """Return whether any member of the mix asks a language model."""
    return any(member.bind is not None for member in _kinds(POLICY, params))


def bind(asker: Asker) -> Policy:
    """Return the mix, with a language model for those of its members that ask one."""
    return replace(POLICY, decide=partial(decide, asker=asker))


POLICY = Policy("mix", Params, decide, bind=bind, asks=asks)
