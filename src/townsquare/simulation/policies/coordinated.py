"""Coordinated accounts: they push some sources, some accounts or one side, whatever they believe themselves.

Meant as one member of a ``mix``, so that the group is drawn for life. Its members act on what they are shown: rows of
the sources and accounts to be amplified, and rows that take the side. They also write for the side, in one step all
with the same argument if ``together`` is on. They can rate notes too: attack or praise those on promoted rows.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from townsquare.core.actions import ActionKind
from townsquare.core.array_types import Array, Bool, Byte, Int64
from townsquare.core.draws import StageDraws
from townsquare.core.enums import Rating, Slot
from townsquare.core.schema import NONE
from townsquare.settings.config import MemberParams, Share, setting
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.views import ProposedActions, Views, propose

_ON_ROWS = (ActionKind.LIKE, ActionKind.SHARE, ActionKind.COMMENT, ActionKind.FOLLOW)


class Params(MemberParams):
    """Settings of the policy `coordinated`."""

    sources: tuple[str, ...] = setting((), "names of promoted sources", names="sources")
    accounts: tuple[int, ...] = setting((), "numbers of promoted agents", names="agents")
    proposition: int | None = setting(
        None, "number, from 0, of the proposition whose `side` is promoted; unset: none", ge=0, names="propositions"
    )
    side: Literal["for", "against"] = setting("for", "promoted side")
    like: Share = setting(0.9, "probability of liking a promoted row")
    share: Share = setting(0.5, "probability of sharing a promoted row")
    comment: Share = setting(0.2, "probability of commenting on a promoted row, with an argument of the side")
    follow: Share = setting(0.5, "probability of following the author of a promoted row, if not followed yet")
    posts_per_step: Share = setting(0.5, "probability that an agent online posts an argument in a step")
    notes: Literal["ignore", "attack", "praise"] = setting(
        "ignore", "ratings of notes on promoted rows: none, all not helpful, or all helpful"
    )
    cover: Share = setting(
        0.0, "unless `notes` is `ignore`: probability of rating a note on other rows helpful, for a rating record"
    )
    notes_from: int = setting(1, "first step in which notes on promoted rows are rated", ge=1, unit="step")
    together: bool = setting(True, "all agents of this policy write the same argument in a step")


def decide(views: Views, draws: StageDraws, params: Params) -> ProposedActions:
    """Propose posts first, then row by row likes, shares, comments and follows."""
    rows, kinds = _on_rows(views, draws, params)
    rated, rating = _ratings(views, draws, params)
    rows, kinds = np.r_[rows, rated], np.r_[kinds, np.full(rated.size, ActionKind.RATE_NOTE, np.uint8)]
    writers = _writers(views, draws, params)
    position = np.r_[writers, np.searchsorted(views.indptr, rows, side="right") - 1]
    row = np.r_[np.full(writers.size, NONE, np.int64), rows]
    kind = np.r_[np.full(writers.size, ActionKind.POST, np.uint8), kinds]
    order = np.argsort(position, kind="stable")
    position, row, kind = position[order], row[order], kind[order]
    helpful = np.r_[np.full(order.size - rated.size, NONE, np.int8), rating][order]
    entry = _arguments(views, draws, params, views.agents[position])
    writes = np.flatnonzero((kind == ActionKind.POST) | (kind == ActionKind.COMMENT))
    text, bank, written = np.full(row.size, NONE, np.int32), views.bank, entry[writes]
    text[writes] = bank.text[written]
    declared = np.column_stack([writes, bank.proposition[written], bank.stance[written], bank.strength[written]])
    return propose(views, views.agents[position], kind, row, text=text, helpful=helpful, declared=declared)


def _amplified(views: Views, params: Params) -> Bool:
    """Return which rows are by the amplified sources or accounts, or take the side."""
    root, wrote, names = np.asarray(views.rows["root"]), views.post("author"), views.agent("name")
    wanted = np.zeros(names.size, np.bool_)
    wanted[[agent for agent in params.accounts if agent < names.size]] = True
    if params.sources:
        wanted |= np.isin(names, [row for row in set(names[names >= 0].tolist()) if views.text(row) in params.sources])
    by = wanted[wrote[root]] | wanted[np.asarray(views.rows["author"])]
    return np.asarray(by | _takes_side(views, params, root))


def _takes_side(views: Views, params: Params, root: Array) -> Bool:
    out = np.zeros(root.size, np.bool_)
    if params.proposition is None:
        return out
    at, which = views.stances_of(root)
    proposition, stance = views.post_stance("proposition")[at], views.post_stance("stance")[at]
    out[which[(proposition == params.proposition) & (stance * _sign(params) > 0)]] = True
    return out


def _sign(params: Params) -> int:
    return 1 if params.side == "for" else -1


def _on_rows(views: Views, draws: StageDraws, params: Params) -> tuple[Int64, Byte]:
    """Return (row, kind) of every action on a row, in feed order."""
    slot = np.asarray(views.rows["slot"])
    rows = np.flatnonzero(_amplified(views, params) & (slot != Slot.COMMENT))
    agents = np.repeat(views.agents, np.diff(views.indptr))[rows]
    keys = views.post("key")[np.asarray(views.rows["root"])[rows]]
    has_words = _entries(views, params).size > 0
    done = np.zeros((rows.size, len(_ON_ROWS)), np.bool_)
    for column, kind in enumerate(_ON_ROWS):
        if kind in views.allowed and (has_words or kind != ActionKind.COMMENT):
            chance = getattr(params, kind.name.lower())
            done[:, column] = draws.uniform(f"coordinated:{kind.name}", agents, keys) < chance
    done[:, _ON_ROWS.index(ActionKind.FOLLOW)] &= slot[rows] == Slot.OTHER
    at, which = np.nonzero(done)
    return rows[at], np.array(_ON_ROWS, np.uint8)[which]


def _ratings(views: Views, draws: StageDraws, params: Params) -> tuple[Int64, npt.NDArray[np.int8]]:
    """Return the rows whose notes are rated, and their ratings."""
    offered = np.asarray(views.rows["offered"])
    if ActionKind.RATE_NOTE not in views.allowed or params.notes == "ignore" or not (offered >= 0).any():
        return np.empty(0, np.int64), np.empty(0, np.int8)
    target = _amplified(views, params)
    agents = np.repeat(views.agents, np.diff(views.indptr))
    keys = views.post("key")[np.asarray(views.rows["root"])]
    covers = draws.uniform("coordinated:cover", agents, keys, lasting=True) < params.cover
    rows = np.flatnonzero((offered >= 0) & np.where(target, views.step >= params.notes_from, covers))
    against = target[rows] & (params.notes == "attack")
    return rows, np.where(against, Rating.NOT_HELPFUL, Rating.HELPFUL).astype(np.int8)


def _entries(views: Views, params: Params) -> Int64:
    """Return entries of the argument bank for the side; of any proposition and either side where none is set."""
    bank = views.bank
    if params.proposition is None:
        return np.arange(bank.text.size)
    return np.flatnonzero((bank.proposition == params.proposition) & (bank.stance * _sign(params) > 0))


def _writers(views: Views, draws: StageDraws, params: Params) -> Int64:
    """Return the positions of the agents that post."""
    if ActionKind.POST not in views.allowed or not _entries(views, params).size:
        return np.empty(0, np.int64)
    return np.flatnonzero(draws.uniform("coordinated:POST", views.agents) < params.posts_per_step)


def _arguments(views: Views, draws: StageDraws, params: Params, agents: Array) -> Int64:
    """Return the argument of each agent in this step: one draw for all of them, or one for each."""
    entries = _entries(views, params)
    if not entries.size:
        return np.zeros(agents.size, np.int64)
    who = np.zeros(agents.size, np.int64) if params.together else agents
    return np.asarray(entries[draws.integers("coordinated:argument", who, 0, entries.size)], np.int64)


POLICY = Policy("coordinated", Params, decide)
"""The member; see :class:`townsquare.simulation.policies.contract.Policy`."""
