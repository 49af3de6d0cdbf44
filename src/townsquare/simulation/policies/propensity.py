"""Agents that act by lasting propensities with heavy tails: few people, and few posts, make most of the shares.

Made for feeds, and set by hand to published facts about them: what share of the rows that people examine on a platform
are shared, by whom, and how soon. The policy `statistical` is fitted to one sitting of a survey instead, in which every
participant judges every post. The two differ on purpose. When random people are asked, they share false posts less
often than true ones (0.47 to 0.92 times); in a feed, false posts are shared 1.7 times as often or more for each view,
because most of those who are shown a source of low credibility have a taste for such sources. Here both come from one
propensity; see ``docs/policies.md``.

Every draw that decides an action is kept for life by agent, post and kind, so that arms of a comparison share it.
Agents act on the first showing of a post only.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import expit, logit, ndtri

from townsquare.core.actions import ROW_KINDS, SPECS, WORDS, ActionKind
from townsquare.core.array_types import Array, Float, Int32, Int64
from townsquare.core.coded_rows import CodedRows, column_at
from townsquare.core.draws import StageDraws
from townsquare.core.schema import NONE
from townsquare.core.threads import in_parts
from townsquare.scenario.grammar import bundled_grammar
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.policies.propensity_kernels import (
    BELIEF,
    DIRECT,
    NO_LABELS,
    Drawn,
    People,
    Rows,
    Sharing,
    choose,
    count_posts,
    propensities,
    weigh,
)
from townsquare.simulation.policies.propensity_params import Params
from townsquare.simulation.policies.reading_kernels import Readers, rate_notes, read
from townsquare.simulation.policies.writing import choices, ordinals, posts_of, texts_of
from townsquare.simulation.views import ProposedActions, Views, propose

_KINDS = (
    ActionKind.LIKE, ActionKind.SHARE, ActionKind.COMMENT, ActionKind.FLAG, ActionKind.ADD_NOTE, ActionKind.RATE_NOTE,
)  # fmt: skip
_LOW = 0.5


def decide(views: Views, draws: StageDraws, params: Params) -> ProposedActions:
    """Propose what every agent does: its posts first, then row by row, kinds in the order of ``ROW_KINDS``."""
    shown, believed = CodedRows.of(views.rows), views.believed
    posts = posts_of(views, np.broadcast_to(0.0, views.post("key").shape))
    settings = _sharing(params, views.context.asked, believed is not None)
    root = shown.per_root["root"]
    seen = read(posts, root, *(shown.per_root[name] for name in ("likes", "verdict", "note")))
    age = (views.step - views.post("step")[root]) * views.context.step_hours
    weight = weigh(seen, age, draws.base("appeal", lasting=True), settings)
    low = views.agent("credibility")[views.post("author")[root]] < _LOW  # of a person it is NaN
    bases = draws.base("posting", lasting=True), draws.base("sharing", lasting=True)
    posting, sharing = propensities(views.agents, bases, params.posts_sd, params.person_sd, params.person_posts)
    readers = Readers(views.agents, views.indptr, views.activity, views.stance)
    slot, offered, first_seen = (np.ascontiguousarray(shown[name]) for name in ("slot", "offered", "first_seen"))
    rows = Rows(shown.index, slot, offered, first_seen, np.empty(0) if believed is None else believed)
    bits, counts = np.empty(shown.n, np.uint16), np.empty(views.agents.size, np.int64)
    people = People(sharing, views.agent("taste")[views.agents].astype(np.float64))
    given = (seen, weight, low), _drawn(views, draws), settings
    in_parts(choose, views.agents.shape[0], readers, people, rows, posts, *given, bits, counts)
    done = choices(views, bits, counts, _own_posts(views, draws, params, posting))
    position, row, kind = done
    text, declared, new_texts = _texts(views, draws, params, done)
    helpful, rated = np.full(row.size, NONE, np.int8), np.flatnonzero(kind == ActionKind.RATE_NOTE)
    if rated.size:
        coefficients = params.helpful_distance, params.helpful_doubt, params.helpful_band
        code, base = shown.index[row[rated]], draws.base("helpful", lasting=True)
        more = _of_note(views, draws, params, views.agents[position[rated]], shown["offered"][row[rated]])
        helpful[rated] = rate_notes(readers, position[rated], posts, seen, code, coefficients, more, base)
    agents = views.agents[position]
    return propose(views, agents, kind, row, text=text, helpful=helpful, declared=declared, new_texts=new_texts)


def _of_note(views: Views, draws: StageDraws, params: Params, agents: Array, notes: Array) -> Float:
    """Return what the note and the rater add to the log odds of helpful; 0 for notes without a quality.

    The doubt that counts is that after reading: a source lowers the plausibility of the post.
    """
    quality = views.note("quality")[notes]
    u = np.maximum(draws.uniform("lenient", agents, lasting=True), 2.0**-54)
    more = params.helpful_base + params.helpful_quality * quality + params.helpful_lenient * ndtri(u)
    sourced, before = views.note("sourced")[notes], views.post("plausibility")[views.note("post")[notes]]
    after = expit(logit(before) - params.helpful_evidence * sourced)
    more += params.helpful_source * sourced + params.helpful_doubt * (before - after)
    return np.where(np.isnan(quality), 0.0, more)


@lru_cache(maxsize=16)
def _sharing(params: Params, asked: bool, knows: bool) -> Sharing:
    """Return the settings of the chances; of people who are asked, the share is a matter of odds without a ceiling.

    ``knows`` says whether it is known how far readers believe claims.
    """
    route = {"belief": BELIEF if knows else DIRECT, "direct": DIRECT, "none": NO_LABELS}[params.label_route]
    chosen = Sharing(route, asked, *(float(getattr(params, name)) for name in Sharing._fields[2:]))
    if not asked:
        return chosen
    asked_share = chosen.rate * params.asked
    return chosen._replace(rate=asked_share, ceiling=1.0, appeal_sd=params.asked_appeal_sd, ratings=1.0)


def _drawn(views: Views, draws: StageDraws) -> Drawn:
    """Return the bases of lasting draws of each kind, and the bits of those that this run allows."""
    bases = [draws.base(WORDS[kind], lasting=True) for kind in _KINDS]
    bits = [ROW_KINDS.index(kind) if kind in views.allowed else NONE for kind in _KINDS]
    return Drawn(np.array(bases, np.uint64), np.array(bits, np.int64))


# --- own posts ---------------------------------------------------------------------------------------------


def _own_posts(views: Views, draws: StageDraws, params: Params, posting: Array) -> Int64:
    """Return how many posts each agent writes, (agents,)."""
    out = np.zeros(views.agents.size, np.int64)
    if ActionKind.POST in views.allowed and (views.bank.text.size or views.bank.everyday):
        rate = rate_of_posts(params.posts_per_session, params.posts_sd, params.most_posts)
        agents, base = views.agents, draws.base("post")
        in_parts(count_posts, agents.shape[0], agents, views.activity, posting, rate, params.most_posts, base, out)
    return out


@lru_cache(maxsize=16)
def rate_of_posts(mean: float, sd: float, most: int) -> float:
    """Return the factor on propensities with which people write ``mean`` posts in a session, each ``most`` or fewer.

    Without the limit it is the mean itself. With it, the most eager write less than they would, and all others more.

    >>> round(rate_of_posts(0.3, 0.0, 5), 3), rate_of_posts(0.3, 2.3, 5) > 0.5
    (0.3, True)
    """
    if not mean:
        return 0.0
    mean = min(mean, 0.9 * most)
    z = np.linspace(-8, 8, 3201)
    density = np.exp(-z * z / 2) / np.exp(-z * z / 2).sum()

    def written(log_rate: float) -> float:
        rates = np.exp(log_rate + sd * z - sd * sd / 2)
        chance, below, total = np.exp(-rates), np.exp(-rates), np.zeros(z.size)
        for n in range(1, most + 1):
            total += 1 - below
            chance = chance * rates / n
            below = below + chance
        return float(density @ total)

    low, high = np.log(mean) - 1, np.log(mean) + 2
    while written(high) < mean:
        high += 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if written(middle) < mean else (low, middle)
    return float(np.exp((low + high) / 2))


def _texts(
    views: Views, draws: StageDraws, params: Params, done: tuple[Array, Array, Array]
) -> tuple[Int32, Float, list[str]]:
    """Return the texts that are written, rows of the stances that they declare, and texts that are new.

    A share of own posts argues; the others are everyday lines without a stance. Arguments are worded by the grammar.
    """
    position, _, kind = done
    most = views.settings.post_length
    lines = [line for line in views.bank.everyday if len(line) <= most]
    own = np.flatnonzero(kind == ActionKind.POST)
    agents, number = views.agents[position[own]], ordinals(position[own], np.zeros(own.size, np.bool_))
    argues = np.ones(kind.size, np.bool_)
    if lines:
        argues[own] = draws.uniform("topical", agents, number) < params.posts_topical
    text, declared = texts_of(views, draws, params, done, argues)
    written: dict[int, str] = {}
    plain = text[own] == NONE
    if lines and plain.any():
        pick = draws.integers("everyday", agents[plain], number[plain], len(lines))
        written.update(zip(own[plain].tolist(), [lines[k] for k in pick.tolist()], strict=True))
    written |= _worded(views, draws, params, done, text, declared[:, 0].astype(np.int64))
    new = {words: views.n_texts + k for k, words in enumerate(dict.fromkeys(written.values()))}
    for at, words in written.items():
        text[at] = new[words]
    return text, declared, list(new)


def _worded(
    views: Views, draws: StageDraws, params: Params, done: tuple[Array, Array, Array], text: Array, says: Array
) -> dict[int, str]:
    """Return the actions of ``says`` whose arguments get a hedge, a tail or both, with their words."""
    position, row, kind = (column[says] for column in done)
    on, agents = row >= 0, views.agents[position]
    keys = ordinals(position, on)
    keys[on] = views.post("key")[column_at(views.rows, "root", row[on])]
    grammar = bundled_grammar()
    picked = []
    for name, share, n in (("hedge", params.hedges, len(grammar.hedges)), ("tail", params.tails, len(grammar.tails))):
        pick = draws.integers(name, agents, keys, n)
        picked.append(np.where(draws.uniform(f"with {name}", agents, keys) < share, pick, NONE).tolist())
    limits = {kind: getattr(views.settings, SPECS[kind].writes) for kind in (ActionKind.POST, ActionKind.COMMENT)}
    out = {}
    for k, at in enumerate(says.tolist()):
        argument = views.text(int(text[at]))
        words = grammar.worded(argument, picked[0][k], picked[1][k], limits[ActionKind(kind[k])])
        if words != argument:
            out[at] = words
    return out


POLICY = Policy("propensity", Params, decide, reads=frozenset({"believed"}))
