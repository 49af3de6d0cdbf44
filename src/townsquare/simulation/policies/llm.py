"""Agents that a language model speaks for: what they post, and how they react to their feeds.

MOSAIC's two questions (appendices I.1, I.2), in our words: reactions, of everybody who is online, and a post, of those
whose draw says so; both are in one prompt, since a second one would repeat the first. Whatever is written comes with
a declared stance, and stance and confidence are there in words (SimSwarm's bands, or the Belief Engine's ten bins).
The prompt is the same in all arms but for the actions that only a moderation strategy has. What other people wrote
is in it as quoted data, and a reply can only name what was shown. How long it may be is a setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from townsquare.core.actions import ActionKind, On, kinds_where
from townsquare.core.draws import StageDraws
from townsquare.models.contract import Asker, Message, Request, needed
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.policies.llm_feed import FeedPage, FeedPages, Row, fits
from townsquare.simulation.policies.llm_params import Params
from townsquare.simulation.policies.llm_prompt import AgentTexts, BeliefLines, Wording, react_prompt, write_prompt
from townsquare.simulation.policies.llm_prompt_limit import character_limit, tokens_of, too_small
from townsquare.simulation.policies.llm_reply import Replies, post_schema, react_schema
from townsquare.simulation.views import ProposedActions, Views

REACT, POST = 0, 1
SHORTENED_LINE = 120
"""Characters of the line that says what was shortened, at most."""
NO_FEED = FeedPage("", {}, {}, [], [])
_NO_FEED = frozenset(kinds_where(lambda spec: spec.on == On.NOTHING))


PROMPT_STATS = ("agent", "tokens", "shown", "shortened", "memories_out", "comments_out", "posts_out")
"""Columns of the table prompts but for the step."""


class Pending(NamedTuple):
    """The parts of a question that its answer needs: thousands are asked at once, and prompts are long."""

    position: int
    turn: int
    targets: Mapping[str, int]  # id on the page -> row of Views.rows
    truncated: tuple[int, ...]  # rows of Views.rows that did not fit into the prompt
    prompt_stats: tuple[int, ...]  # in the order of PROMPT_STATS


class Questions:
    """Iterates over the questions of a step, in the order of agents; each is made when it is requested.

    An agent gets one question: how it reacts to its feed and, if its draw says so, for a post in the same reply. An
    agent without anything to react to is asked for the post alone. Long prompts are shortened in the order that
    :mod:`townsquare.simulation.policies.llm_prompt_limit` gives.
    """

    def __init__(self, views: Views, draws: StageDraws, params: Params) -> None:
        self._views, self._params, self._limit = views, params, character_limit(params)
        self._wording = Wording.of(views, params.nudge, params.reasoning, params.somewhat)
        self._kinds = sorted(views.allowed - _NO_FEED)
        self._empty: dict[tuple[bool, bool], int] = {}
        may_write = ActionKind.POST in views.allowed
        self._writes = may_write & (draws.uniform("asked", views.agents) < params.posts_per_step)

    def __iter__(self) -> Iterator[tuple[Request, Pending]]:
        views = self._views
        pages, beliefs = FeedPages(views, self._params.text_shown), BeliefLines(views, self._params.beliefs_as)
        for k in range(views.agents.size):
            rows, writes = pages.rows(k), bool(self._writes[k])
            if (rows and self._kinds) or writes:
                texts = AgentTexts.of(views, k, self._params.own_posts if writes else 0)
                yield self._question(k, pages, rows, texts, beliefs.of(k))

    def _question(
        self, k: int, pages: FeedPages, rows: list[Row], texts: AgentTexts, beliefs: str
    ) -> tuple[Request, Pending]:
        views, params, limit = self._views, self._params, self._limit
        writes = bool(self._writes[k])
        bare = self._bare(texts, beliefs, bool(rows), writes)
        if limit is not None:
            for shorten in (texts.shorten_memories, texts.shorten_persona):
                if not fits(rows, limit - bare):
                    shorten(limit)
                    bare = self._bare(texts, beliefs, bool(rows), writes)
        page = pages.page(rows, None if limit is None else limit - bare)
        if limit is not None and (bare > limit or (rows and not page.ids)):
            raise too_small(params, bare)
        names, settings, reacts = views.context.names, views.settings, bool(page.ids and self._kinds)
        prompt, model = self._prompt(texts, beliefs, page, reacts, writes), views.context.model
        if reacts:
            schema = react_schema(page, self._kinds, names, settings, params, writes)
        else:
            schema = post_schema(names, settings, params)
        agent, turn, purpose = int(views.agents[k]), REACT if reacts else POST, "react" if reacts else "post"
        request = Request(
            purpose=purpose, messages=(Message("user", prompt),), schema=schema, name=purpose, agent=agent,
            temperature=model.temperature, max_tokens=model.max_tokens, step=views.step, turn=turn,
        )  # fmt: skip
        stats = (
            agent, tokens_of(len(prompt), params), len(page.ids), page.shortened + texts.shortened, texts.left_out,
            len(page.comments_out), len(page.posts_out),
        )  # fmt: skip
        return request, Pending(k, turn, page.ids | page.notes, (*page.comments_out, *page.posts_out), stats)

    def _bare(self, texts: AgentTexts, beliefs: str, reads: bool, writes: bool) -> int:
        """Return characters of the prompt without the feed."""
        which = (reads and bool(self._kinds), writes)
        if which not in self._empty:
            nothing = AgentTexts("", [], [], [])
            empty = self._prompt(nothing, "", NO_FEED, which[0], writes)
            self._empty[which] = len(empty) + (SHORTENED_LINE if which[0] else 0)
        return self._empty[which] + len(beliefs) + texts.length

    def _prompt(self, texts: AgentTexts, beliefs: str, page: FeedPage, reacts: bool, writes: bool) -> str:
        if reacts:
            return react_prompt(texts, beliefs, page, self._wording, writes)
        return write_prompt(texts, beliefs, page, self._wording)


def decide(views: Views, draws: StageDraws, params: Params, asker: Asker | None = None) -> ProposedActions:
    """Ask the model for each agent; without a usable answer an agent does nothing, and its call says why."""
    asker = needed(asker)
    asked: list[Pending] = []

    def requests() -> Iterator[Request]:
        for request, pending in Questions(views, draws, params):
            asked.append(pending)
            yield request

    answers = asker.ask(requests())
    replies = Replies(views, params)
    for pending, reply in zip(asked, answers, strict=True):
        if not reply.ok:
            continue
        if pending.turn == POST:
            replies.add_post(pending.position, reply.value)
        else:
            replies.add_reactions(pending.position, pending.targets, reply.value)
    examined = np.ones(int(views.indptr[-1]), np.bool_)
    examined[[row for pending in asked for row in pending.truncated]] = False
    stats = np.array([pending.prompt_stats for pending in asked], np.int32).reshape(-1, len(PROMPT_STATS)).T.copy()
    return replace(replies.chosen(), examined=examined, prompt_stats=dict(zip(PROMPT_STATS, stats, strict=True)))


def bind(asker: Asker) -> Policy:
    """Return the policy with a model to ask."""
    return replace(POLICY, decide=partial(decide, asker=asker))


POLICY = Policy("llm", Params, decide, reads=frozenset({"persona", "memory"}), bind=bind)
