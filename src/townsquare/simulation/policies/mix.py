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
from pydantic import Field, model_validator

from townsquare.core import registry
from townsquare.core.draws import StageDraws
from townsquare.core.errors import SettingError
from townsquare.models.contract import Asker, bound
from townsquare.settings.config import MemberParams
from townsquare.simulation.policies.contract import Policy, decided
from townsquare.simulation.views import Chosen, Views, nothing_chosen

Array = npt.NDArray[Any]


class Member(MemberParams):
    """One kind of agent in the mix."""

    name: str = Field(description="member of the family `policy`, but `mix`")
    share: float = Field(gt=0, description="its share of the agents, relative to the others'")
    params: dict[str, Any] = Field(
        default_factory=dict, description="its settings", json_schema_extra={"params_of": "policy"}
    )

    @model_validator(mode="after")
    def _is_known(self) -> Member:
        if self.name == "mix":
            raise ValueError("a mix cannot hold a mix")
        registry.get("policy", self.name).params.model_validate(self.params)
        return self


class Params(MemberParams):
    """Settings of the policy `mix`."""

    members: tuple[Member, ...] = Field(
        (Member(name="statistical", share=1.0),),
        min_length=1,
        description="policies, each with its share of the agents",
    )
    by: Literal["draw", "followers"] = Field(
        "draw",
        description="who gets which: by chance; or by followers at the start, the first member those who have most",
    )

    def check_change(self, before: MemberParams) -> None:
        """Refuse to begin in the middle of a run."""
        if not isinstance(before, Params):
            raise SettingError("policy.name", got="'mix'", do="members are drawn for life, at the start")


def members_of(
    agents: npt.ArrayLike, draws: StageDraws, params: Any, followers: npt.ArrayLike | None = None
) -> npt.NDArray[np.int16]:
    """Number of the member that each agent belongs to; 0 where the policy is no mix.

    Parameters
    ----------
    agents : (n,) int
    followers : (n,) int, optional
        Of everybody at the start. Those who join later have none yet: by followers, they belong to the last member.
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
) -> Chosen:
    """Each member decides for its own agents; the choices are put together by agent.

    ``instead`` are policies that take the place of members of some names, with the same settings.
    """
    parts = []
    for number, member in enumerate(params.members):
        mask = views.member == number
        if mask.any():
            policy: Policy = instead.get(member.name) or registry.get("policy", member.name)
            policy = policy if asker is None else bound(policy, asker)
            settings = policy.params.model_validate(member.params)
            keep = np.flatnonzero(np.repeat(mask, np.diff(views.indptr)))
            parts.append((decided(policy, views.only(mask), draws, settings), keep))
    return _together(parts, views.n_texts) if parts else nothing_chosen()


def _together(parts: list[tuple[Chosen, npt.NDArray[np.int64]]], n_texts: int) -> Chosen:
    """One choice from several; ``keep`` maps rows of a part's views back to the whole."""
    chosen = [part for part, _ in parts]
    row: list[Array] = []
    text: list[Array] = []
    reasoning: list[Array] = []
    action: list[Array] = []
    texts: tuple[str, ...] = ()
    done = 0
    for part, keep in parts:
        row.append(np.where(part.row >= 0, keep[np.maximum(part.row, 0)] if keep.size else -1, -1))
        for column, out in ((part.text, text), (part.reasoning, reasoning)):
            out.append(np.where(column >= n_texts, column + len(texts), column))
        action.append(part.declared[0] + done)
        texts += part.new_texts
        done += part.n
    order = np.argsort(np.concatenate([part.agent for part in chosen]), kind="stable")
    place = np.empty(done, np.int64)
    place[order] = np.arange(done)
    declared = place[np.concatenate(action)]
    by_action = np.argsort(declared, kind="stable")

    def joined(columns: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.concatenate(columns)[order]

    return Chosen(
        agent=joined([part.agent for part in chosen]),
        kind=joined([part.kind for part in chosen]),
        row=joined(row),
        target=joined([part.target for part in chosen]),
        text=joined(text).astype(np.int32),
        helpful=joined([part.helpful for part in chosen]),
        reasoning=joined(reasoning).astype(np.int32),
        declared=(
            declared[by_action],
            *(np.concatenate([part.declared[k] for part in chosen])[by_action] for k in (1, 2, 3)),
        ),
        new_texts=texts,
        unread=np.sort(np.concatenate([keep[part.unread] for part, keep in parts])),
        told=_told(chosen),
    )


def _told(chosen: list[Chosen]) -> dict[str, Array]:
    """What agents of all members were told, agents ascending."""
    told = [part.told for part in chosen if part.told]
    if not told:
        return {}
    order = np.argsort(np.concatenate([one["agent"] for one in told]), kind="stable")
    return {name: np.concatenate([one[name] for one in told])[order] for name in told[0]}


def reads(policy: Policy, params: Any) -> frozenset[str]:
    """What a policy reads beside the feed (:class:`Policy`); of a mix, what any of its members does."""
    if not isinstance(params, Params):
        return policy.reads
    of_members = (registry.get("policy", member.name).reads for member in params.members)
    return frozenset().union(*of_members)


def asks(policy: Policy, params: Any) -> bool:
    """Whether a policy, or any member of a mix, asks a language model."""
    if not isinstance(params, Params):
        return policy.bind is not None
    return any(registry.get("policy", member.name).bind is not None for member in params.members)


def bind(asker: Asker) -> Policy:
    """The mix, with a language model for those of its members that ask one."""
    return replace(POLICY, decide=partial(decide, asker=asker))


POLICY = Policy("mix", Params, decide, bind=bind)
