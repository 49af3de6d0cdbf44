"""Agents that act by chance, as people do on average: a logit for each kind of action on each row they are shown.

Each kind has its own draw by (agent, root), so that a kind that is added or switched off changes no other. What agents
write comes from the scenario's argument bank, in line with their stance, and declares the stance of the entry; where a
post takes no stance, or the scenario has no bank, comments are neutral lines without one. This is a statistical
stand-in for people, not a model of their minds: its weak points are listed in ``docs/policies.md``, and how it was
fitted to people in ``docs/policy-fit.md``. It is fitted to one sitting of a survey, in which every participant judges
every post; the policy `propensity` is fitted to feeds.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from townsquare.core.actions import ROW_KINDS, SPECS, WORDS, ActionKind, On
from townsquare.core.array_types import Bool, Float
from townsquare.core.coded_rows import CodedRows
from townsquare.core.draws import StageDraws
from townsquare.core.schema import NONE
from townsquare.core.threads import in_parts
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.policies.reading_kernels import Readers, rate_notes, read
from townsquare.simulation.policies.statistical_kernels import (
    COEFFICIENTS,
    Kinds,
    Rows,
    choose_kinds,
    choose_writers,
    kinds_by_slot,
    label_sums,
    laid_out,
)
from townsquare.simulation.policies.statistical_params import Params
from townsquare.simulation.policies.text_features import FEATURES, feature_table
from townsquare.simulation.policies.writing import choices, posts_of, texts_of
from townsquare.simulation.views import ProposedActions, Views, propose


def decide(views: Views, draws: StageDraws, params: Params) -> ProposedActions:
    """Propose what every agent does: its post first, then row by row, kinds in the order of ``ROW_KINDS``."""
    shown, posts = CodedRows.of(views.rows), posts_of(views, _appeal(views, params))
    seen = read(posts, *(shown.per_root[name] for name in ("root", "likes", "verdict", "note")))
    a_bit_each = np.min_scalar_type((1 << len(ROW_KINDS)) - 1)
    bits, counts = np.empty(shown.n, a_bit_each), np.empty(views.agents.size, np.int64)
    rows = Rows(shown.index, *(np.ascontiguousarray(shown[name]) for name in Rows._fields[1:]))
    readers = Readers(views.agents, views.indptr, views.activity, views.stance)
    kinds = _kinds(views, draws, params)
    wide = (0,) * kinds.slot_kinds.shape[1]
    in_parts(choose_kinds, views.agents.shape[0], readers, rows, posts, seen, kinds, wide, bits, counts)
    position, row, kind = choices(views, bits, counts, _writers(views, draws, params).view(np.int8))
    text, declared = texts_of(views, draws, params, (position, row, kind))
    helpful, rated = np.full(row.size, NONE, np.int8), np.flatnonzero(kind == ActionKind.RATE_NOTE)
    coefficients = params.helpful_distance, params.helpful_doubt, params.helpful_band
    code, base = shown.index[row[rated]], draws.base("helpful")
    helpful[rated] = rate_notes(readers, position[rated], posts, seen, code, coefficients, np.zeros(rated.size), base)
    return propose(views, views.agents[position], kind, row, text=text, helpful=helpful, declared=declared)


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


def _appeal(views: Views, params: Params) -> Float:
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


def _writers(views: Views, draws: StageDraws, params: Params) -> Bool:
    """Return who writes a post: chance 1 - exp(-rate x activity)."""
    writes = np.zeros(views.agents.size, np.bool_)
    if ActionKind.POST in views.allowed and views.bank.text.size:
        agents, base = views.agents, draws.base("post")
        in_parts(choose_writers, agents.shape[0], agents, views.activity, params.posts_per_step, base, writes)
    return writes


POLICY = Policy("statistical", Params, decide)
