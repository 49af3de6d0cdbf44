"""What policies share: the posts that they read, and what agents write, from the argument bank or plain lines."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from townsquare.core.actions import ROW_KINDS, SPECS, ActionKind, kinds_where
from townsquare.core.array_types import Array, Bool, Float, Int32, Int64
from townsquare.core.coded_rows import column_at
from townsquare.core.draws import StageDraws
from townsquare.core.schema import NONE
from townsquare.core.threads import in_parts
from townsquare.simulation.policies.reading_kernels import Posts, choose_arguments, list_choices
from townsquare.simulation.views import Bank, Views


class WritingParams(Protocol):
    """The settings of a policy that arguments are chosen by."""

    @property
    def side(self) -> float:
        """Return the dependence of an argument's side on the stance S: for with probability (1 + side S)/2."""

    @property
    def text_width(self) -> float:
        """Return the scale of |stance of the argument - own stance| in the choice of an argument."""


def posts_of(views: Views, appeal: Array) -> Posts:
    """Return the columns of posts that kernels read; ``appeal`` (posts,) is that of their words."""
    columns = (views.post(name) for name in ("key", "stances", "n_stances"))
    stances = (views.post_stance(name) for name in ("proposition", "stance"))
    return Posts(views.post("plausibility"), appeal, *columns, *stances)


def choices(views: Views, bits: Array, counts: Array, posts: Array) -> tuple[Array, Array, Array]:
    """Place of the agent, row and kind of everything that is done, agent by agent: posts before other actions.

    ``bits`` (rows,) are kinds in the order of ``ROW_KINDS``, ``counts`` and ``posts`` (agents,) how many actions on
    rows, and how many own posts, there are.
    """
    at, kinds = np.r_[0, np.cumsum(counts + posts)], np.array(ROW_KINDS, np.uint8)
    n = int(at[-1])
    out = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.uint8)
    in_parts(list_choices, views.agents.shape[0], views.indptr, bits, posts, kinds, int(ActionKind.POST), at, out)
    return out


def texts_of(
    views: Views, draws: StageDraws, params: WritingParams, done: tuple[Array, Array, Array], argues: Bool | None = None
) -> tuple[Int32, Float]:
    """Return the texts that are written, and rows of the stances that they declare.

    ``done`` are the place of the agent, the row and the kind of each action. ``argues`` (actions,) says of own posts
    which ones take a stance, all by default; the others are left without a text.
    """
    position, row, kind = done
    text, bank = np.full(row.size, NONE, np.int32), views.bank
    limits = {writing: getattr(views.settings, spec.writes) for writing, spec in SPECS.items() if spec.declares}
    writes = np.flatnonzero(np.isin(kind, list(limits)))
    agents = views.agents[position[writes]]
    on = row[writes] >= 0
    keys = ordinals(position[writes], on)
    keys[on] = views.post("key")[column_at(views.rows, "root", row[writes][on])]
    proposition = _propositions(views, draws, agents, keys, row[writes])
    if argues is not None:
        proposition[~on & ~argues[writes]] = NONE
    entry = np.full(writes.size, NONE, np.int64)
    for writing, limit in limits.items():
        of = kind[writes] == writing
        args = position[writes[of]], agents[of], keys[of], proposition[of]
        entry[of] = _arguments(views, draws, params, *args, limit)
    has = entry >= 0
    text[writes[has]] = bank.text[entry[has]]
    plain = writes[~has & on]
    text[plain] = _line(bank.comments, draws, "comment line", views, position[plain], row[plain])
    notes = np.flatnonzero(np.isin(kind, kinds_where(lambda spec: spec.writes and not spec.declares)))
    text[notes] = views.note_texts(draws, "note line", position[notes], row[notes])
    entries = entry[has]
    return text, np.column_stack([writes[has], bank.proposition[entries], bank.stance[entries], bank.strength[entries]])


def ordinals(position: Array, on: Bool) -> npt.NDArray[np.uint64]:
    """Number the posts of each agent from 0, (n,); ``position`` ascends, posts come first; 0 where ``on`` rows.

    >>> ordinals(np.array([3, 3, 3, 5]), np.array([False, False, True, False])).tolist()
    [0, 1, 0, 0]
    """
    numbers = np.arange(position.size) - np.searchsorted(position, position)
    return np.where(on, 0, numbers).astype(np.uint64)


def _propositions(views: Views, draws: StageDraws, agents: Array, keys: Array, row: Array) -> Int64:
    """Choose what to write about: a proposition of the post, or any for an own post; -1 for none."""
    n = views.stance.shape[1]
    out = np.full(row.size, NONE, np.int64)
    if not n or not views.bank.text.size:
        return out
    own = row < 0
    out[own] = draws.integers("topic", agents[own], keys[own], n)
    root = column_at(views.rows, "root", row[~own])
    count = views.post("n_stances")[root].astype(np.int64)
    pick = draws.integers("topic", agents[~own], keys[~own], np.maximum(count, 1))
    speaks = count > 0
    chosen = np.full(root.size, NONE, np.int64)
    chosen[speaks] = views.post_stance("proposition")[(views.post("stances")[root] + pick)[speaks]]
    out[~own] = chosen
    return out


def _arguments(
    views: Views,
    draws: StageDraws,
    params: WritingParams,
    position: Array,
    agents: Array,
    keys: Array,
    proposition: Array,
    limit: int,
) -> Int64:
    """Choose an entry of the bank for each writer, with at most ``limit`` characters; -1 for none."""
    bank: Bank = views.bank
    entry = np.full(position.size, NONE, np.int64)
    if position.size and views.stance.shape[1]:
        fits = np.flatnonzero([len(views.text(row)) <= limit for row in bank.text])
        order = fits[np.argsort(bank.proposition[fits], kind="stable")]
        counts = np.bincount(bank.proposition[fits], minlength=views.stance.shape[1])
        stance = views.stance[position, np.maximum(proposition, 0)]
        in_parts(
            choose_arguments, agents.shape[0], agents, keys, stance, np.r_[0, np.cumsum(counts)], order, bank.stance,
            proposition, params.side, params.text_width, draws.base("side"), draws.base("argument"), entry,
        )  # fmt: skip
    return entry


def _line(lines: Int32, draws: StageDraws, purpose: str, views: Views, position: Array, row: Array) -> Int32:
    """Choose a neutral line for each writer, by (agent, root)."""
    if not lines.size:
        return np.full(position.size, NONE, np.int32)
    keys = views.post("key")[column_at(views.rows, "root", row)]
    return lines[draws.integers(purpose, views.agents[position], keys, lines.size)]
