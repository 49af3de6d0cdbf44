"""Agents that follow a script: for tests, demonstrations and coordinated accounts.

A script is a list of lines, each with a step, an agent and an action::

    - {step: 1, agent: 3, action: like, rank: 0}
    - {step: 2, agent: 3, action: comment, rank: 1, text: "Not so fast.", stance: {0: -0.4}}
    - {step: 2, agent: 4, action: follow, rank: 0}

``rank`` is the position in the feed of the agent; an action on a rank that its feed does not reach is refused
as not shown. ``post: 17`` names a post instead and is refused in the same way where it is not in the feed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from townsquare.core.actions import SPECS, ActionKind, On
from townsquare.core.draws import StageDraws
from townsquare.core.enums import Rating, Slot
from townsquare.core.errors import SettingError
from townsquare.core.schema import NONE
from townsquare.settings.base import ActionName
from townsquare.settings.config import MemberParams, setting
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.views import ProposedActions, Views, no_actions, propose

_RATINGS = {None: NONE, True: Rating.HELPFUL, False: Rating.NOT_HELPFUL, "somewhat": Rating.SOMEWHAT}
Stance = Annotated[float, Field(ge=-1, le=1)]


class ScriptedAction(MemberParams):
    """One action of a script."""

    step: int = setting(..., "step of the action; skipped if the agent is then offline", ge=1)
    agent: int = setting(..., "number of the agent, from 0", ge=0, names="agents")
    action: ActionName = setting(..., "kind of action")
    rank: int | None = setting(
        None, "post acted on, by its rank in the agent's feed, from 0; `like_comment`: first comment under it", ge=0
    )
    post: int | None = setting(None, "post acted on, by its number in `ts_posts`, instead of a rank", ge=0)
    text: str | None = setting(None, "text of a post, comment or note", max_length=100_000)
    stance: dict[int, Stance] = setting(dict, "declared stance by number of the proposition, from 0")
    helpful: bool | Literal["somewhat"] | None = setting(None, "rating of a note")


class Params(MemberParams):
    """Settings of the policy `scripted`."""

    script: tuple[ScriptedAction, ...] = setting(
        (), "scripted actions, in any order; those of an agent and step keep their order"
    )


def decide(views: Views, draws: StageDraws, params: Params) -> ProposedActions:
    """Propose the scripted actions of this step whose agents are online.

    Raises
    ------
    SettingError
        If a line declares a stance toward a proposition that the scenario does not have.
    """
    online = {int(agent): position for position, agent in enumerate(views.agents)}
    lines = [line for line in params.script if line.step == views.step and line.agent in online]
    if not lines:
        return no_actions()
    _check_propositions(lines, views.stance.shape[1])
    lines.sort(key=lambda line: line.agent)
    return _chosen(views, lines, [_row(views, line, online[line.agent]) for line in lines])


def _check_propositions(lines: Sequence[ScriptedAction], n_propositions: int) -> None:
    for line in lines:
        for number in line.stance:
            if not 0 <= number < n_propositions:
                where = f"policy.script, step {line.step}, agent {line.agent}, stance"
                raise SettingError(where, got=str(number), allowed=f"a proposition from 0 to {n_propositions - 1}")


def _row(views: Views, line: ScriptedAction, position: int) -> int:
    """Return the row of the views that a line acts on; -1 if it is not there."""
    lo, hi = int(views.indptr[position]), int(views.indptr[position + 1])
    rank, slot, post = (np.asarray(views.rows[name])[lo:hi] for name in ("rank", "slot", "post"))
    if line.post is not None:
        hits = np.flatnonzero(post == line.post)
    elif line.rank is not None:
        wanted = (slot == Slot.COMMENT) == (SPECS[ActionKind[line.action.upper()]].on == On.COMMENT)
        hits = np.flatnonzero((rank == line.rank) & wanted)
    else:
        hits = np.empty(0, np.int64)
    return lo + int(hits[0]) if hits.size else NONE


def _chosen(views: Views, lines: Sequence[ScriptedAction], rows: Sequence[int]) -> ProposedActions:
    texts = [line.text for line in lines if line.text is not None]
    number = views.n_texts + np.cumsum([line.text is not None for line in lines]) - 1
    kind, row = [ActionKind[line.action.upper()] for line in lines], np.array(rows, np.int64)
    missing = [NONE if line.post is None else line.post for line in lines]
    target = np.where(row >= 0, views.targets(row, np.array(kind)), missing)
    text = np.where([line.text is None for line in lines], NONE, number)
    declared = [(k, p, s, np.nan) for k, line in enumerate(lines) for p, s in sorted(line.stance.items())]
    return propose(
        views, [line.agent for line in lines], kind, row, target=target, text=text,
        helpful=[_RATINGS[line.helpful] for line in lines], declared=declared, new_texts=texts,
    )  # fmt: skip


POLICY = Policy("scripted", Params, decide)
