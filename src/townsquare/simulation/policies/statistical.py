"""Agents that act by chance, as people do on average: a logit for each kind of action on each row they are shown.

Each kind has its own draw by (agent, root), so that a kind that is added or switched off changes no other. What agents
write comes from the scenario's argument bank, in line with their stance, and declares the stance of the entry; where a
post takes no stance, or the scenario has no bank, comments are neutral lines without one. This is a statistical
stand-in for people, not a model of their minds: its weak points are listed in ``docs/policies.md``, and how it was
fitted to people in ``docs/policy-fit.md``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.core.actions import ROW_KINDS, SPECS, WORDS, ActionKind, On, kinds_where
from townsquare.core.array_types import Array
from townsquare.core.coded_rows import CodedRows, column_at
from townsquare.core.draws import StageDraws
from townsquare.core.schema import NONE
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.policies.statistical_kernels import (
    COEFFICIENTS,
    Kinds,
    Posts,
    Readers,
    Rows,
    choose_arguments,
    choose_kinds,
    choose_writers,
    kinds_by_slot,
    label_sums,
    laid_out,
    list_choices,
    rate_notes,
    read,
)
from townsquare.simulation.policies.statistical_params import Params
from townsquare.simulation.policies.text_features import FEATURES, feature_table
from townsquare.simulation.views import Bank, ProposedActions, Views, propose


def decide(views: Views, draws: StageDraws, params: Params) -> ProposedActions:
    """Propose what every agent does: its post first, then row by row, kinds in the order of ``ROW_KINDS``."""
    shown, posts = CodedRows.of(views.rows), _posts(views, params)
    seen = read(posts, *(shown.per_root[name] for name in ("root", "likes", "verdict", "note")))
    a_bit_each = np.min_scalar_type((1 << len(ROW_KINDS)) - 1)
    bits, counts = np.empty(shown.n, a_bit_each), np.empty(views.agents.size, np.int64)
    rows = Rows(shown.index, *(np.ascontiguousarray(shown[name]) for name in Rows._fields[1:]))
    readers = Readers(views.agents, views.indptr, views.activity, views.stance)
    kinds = _kinds(views, draws, params)
    wide = (0,) * kinds.slot_kinds.shape[1]
    choose_kinds(readers, rows, posts, seen, kinds, wide, bits, counts)
    position, row, kind = _choices(views, bits, counts, _writers(views, draws, params))
    text, declared = _texts(views, draws, params, position, row, kind)
    helpful, rated = np.full(row.size, NONE, np.int8), np.flatnonzero(kind == ActionKind.RATE_NOTE)
    helpful[rated] = rate_notes(
        readers, position[rated], posts, seen, shown.index[row[rated]],
        (params.helpful_distance, params.helpful_doubt, params.helpful_band), draws.base("helpful"),
    )  # fmt: skip
    return propose(views, views.agents[position], kind, row, text=text, helpful=helpful, declared=declared)


def _posts(views: Views, params: Params) -> Posts:
    return Posts(
        views.post("plausibility"), _appeal(views, params), views.post("key"), views.post("stances"),
        views.post("n_stances"), views.post_stance("proposition"), views.post_stance("stance"),
    )  # fmt: skip


def _kinds(views: Views, draws: StageDraws, params: Params) -> Kinds:
    """Coefficients and draws of the kinds in ``ROW_KINDS``."""
    names = [WORDS[kind] for kind in ROW_KINDS]
    bases = np.array([draws.base(name) for name in names])
    tastes = np.array([draws.base(f"taste:{name}", lasting=True) for name in names])
    return _coefficients(params, views.allowed)._replace(draws=bases, tastes=tastes)


@lru_cache(maxsize=16)
def _coefficients(params: Params, allowed: frozenset[ActionKind]) -> Kinds:
    """Return what of ``Kinds`` follows from settings alone, without draws: it is the same in every step."""
    of_kinds = [getattr(params, WORDS[kind]) for kind in ROW_KINDS]
    table = np.array([[getattr(of_kind, name) for of_kind in of_kinds] for name in COEFFICIENTS], np.float64)
    on_notes = np.array([SPECS[kind].on == On.NOTE for kind in ROW_KINDS])
    slot_kinds = kinds_by_slot([SPECS[kind].slots if kind in allowed else () for kind in ROW_KINDS])
    laid, labels = (laid_out(part, slot_kinds) for part in (table, label_sums(table)))
    return Kinds(table, np.empty(0), np.empty(0), on_notes, slot_kinds, laid, labels, params.attention)


def _choices(
    views: Views, bits: npt.NDArray[Any], counts: Array, writes: npt.NDArray[np.bool_]
) -> tuple[Array, Array, Array]:
    """Place of the agent, row and kind of everything that is done, agent by agent: posts before other actions."""
    at = np.r_[0, np.cumsum(counts + writes)]
    n = int(at[-1])
    out = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.uint8)
    list_choices(views.indptr, bits, writes, np.array(ROW_KINDS, np.uint8), int(ActionKind.POST), at, out)
    return out


def _appeal(views: Views, params: Params) -> npt.NDArray[np.float64]:
    """Return the appeal of the words of each post, (posts,); 0 for posts that these agents are not shown."""
    text = views.post("text")
    appeal = np.zeros(text.size)
    weights = np.array([getattr(params.appeal, name) for name in FEATURES])
    if not weights.any() or not any(getattr(params, WORDS[kind]).appeal for kind in ROW_KINDS):
        return appeal
    shown = np.zeros(text.size, np.bool_)
    shown[CodedRows.of(views.rows).per_root["root"]] = True
    posts = np.flatnonzero(shown)
    read, which = np.unique(text[posts], return_inverse=True)
    appeal[posts] = (feature_table([views.text(row) for row in read.tolist()]) @ weights)[which]
    return appeal


def _writers(views: Views, draws: StageDraws, params: Params) -> npt.NDArray[np.bool_]:
    """Return who writes a post: chance 1 - exp(-rate x activity)."""
    writes = np.zeros(views.agents.size, np.bool_)
    if ActionKind.POST in views.allowed and views.bank.text.size:
        choose_writers(views.agents, views.activity, params.posts_per_step, draws.base("post"), writes)
    return writes


def _texts(
    views: Views, draws: StageDraws, params: Params, position: Array, row: Array, kind: Array
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Return the texts that are written, and rows of the stances that they declare."""
    text = np.full(row.size, NONE, np.int32)
    bank = views.bank
    limits = {writing: getattr(views.settings, spec.writes) for writing, spec in SPECS.items() if spec.declares}
    writes = np.flatnonzero(np.isin(kind, list(limits)))
    agents = views.agents[position[writes]]
    on = row[writes] >= 0
    keys = np.zeros(writes.size, np.uint64)
    keys[on] = views.post("key")[column_at(views.rows, "root", row[writes][on])]
    proposition = _propositions(views, draws, agents, keys, row[writes])
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
    text[notes] = _line(bank.notes, draws, "note line", views, position[notes], row[notes])
    entries = entry[has]
    return text, np.column_stack([writes[has], bank.proposition[entries], bank.stance[entries], bank.strength[entries]])


def _propositions(views: Views, draws: StageDraws, agents: Array, keys: Array, row: Array) -> npt.NDArray[np.int64]:
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
    params: Params,
    position: Array,
    agents: Array,
    keys: Array,
    proposition: Array,
    limit: int,
) -> npt.NDArray[np.int64]:
    """Choose an entry of the bank for each writer, with at most ``limit`` characters; -1 for none."""
    bank: Bank = views.bank
    entry = np.full(position.size, NONE, np.int64)
    if position.size and views.stance.shape[1]:
        fits = np.flatnonzero([len(views.text(row)) <= limit for row in bank.text])
        order = fits[np.argsort(bank.proposition[fits], kind="stable")]
        counts = np.bincount(bank.proposition[fits], minlength=views.stance.shape[1])
        stance = views.stance[position, np.maximum(proposition, 0)]
        choose_arguments(
            agents, keys, stance, np.r_[0, np.cumsum(counts)], order, bank.stance, proposition,
            params.side, params.text_width, draws.base("side"), draws.base("argument"), entry,
        )  # fmt: skip
    return entry


def _line(
    lines: npt.NDArray[np.int32], draws: StageDraws, purpose: str, views: Views, position: Array, row: Array
) -> npt.NDArray[np.int32]:
    """Choose a neutral line for each writer, by (agent, root)."""
    if not lines.size:
        return np.full(position.size, NONE, np.int32)
    keys = views.post("key")[column_at(views.rows, "root", row)]
    return lines[draws.integers(purpose, views.agents[position], keys, lines.size)]


POLICY = Policy("statistical", Params, decide)
