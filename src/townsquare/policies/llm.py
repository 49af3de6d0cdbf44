"""Agents that a language model speaks for: what they post, and how they react to their feeds.

MOSAIC's two questions (appendices I.1, I.2), in our words: reactions, of everybody who is online, and a post, of those
whose draw says so. Both ask for a declared stance in the same reply, and both show stance and confidence in words
(SimSwarm's bands, or the Belief Engine's ten bins). The prompt is the same in all arms but for the actions that only a
moderation strategy has. What other people wrote stands in it as quoted data, and a reply can only name what was shown.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from pydantic import Field

from townsquare.config import MemberParams
from townsquare.draws import StageDraws
from townsquare.errors import SettingError
from townsquare.models.contract import Asker, Message, Request
from townsquare.policies.contract import Policy
from townsquare.policies.llm_feed import FeedPage, feed_pages
from townsquare.policies.llm_prompt import Wording, beliefs_in_words, react_prompt, write_prompt
from townsquare.policies.llm_reply import Replies, post_schema, react_schema
from townsquare.schema import ActionKind
from townsquare.views import Chosen, Views

REACT, POST = 0, 1
_NO_FEED = (ActionKind.POST, ActionKind.IGNORE)


class Params(MemberParams):
    """Settings of the policy `llm`; which model answers stands in the section `model`."""

    reasoning: bool = Field(False, description="each action comes with a short explanation, which is recorded")
    nudge: bool = Field(
        False, description="invite agents to pass on what is surprising, as MOSAIC does where nothing is moderated"
    )
    beliefs_as: Literal["bands", "ten_bins"] = Field("bands", description="how a stance is put into words")
    posts_per_step: float = Field(0.2, ge=0, le=1, description="chance that an agent is asked for a post in a step")
    own_posts: int = Field(3, ge=0, le=50, description="own latest posts that it is shown before it writes")
    max_actions: int = Field(8, ge=1, le=100, description="actions in one reply at most")
    text_shown: int = Field(
        400, ge=20, le=10000, description="of each text in a feed at most", json_schema_extra={"unit": "characters"}
    )


def requests(views: Views, draws: StageDraws, params: Params) -> tuple[list[Request], list[FeedPage]]:
    """Every question of a step, in the order of agents, and the page of the feed that each was shown."""
    pages = feed_pages(views, params.text_shown)
    minds = beliefs_in_words(views, params.beliefs_as)
    writes = (ActionKind.POST in views.allowed) & (draws.uniform("asked", views.agents) < params.posts_per_step)
    wording = Wording.of(views, params.nudge, params.reasoning)
    kinds = sorted(views.allowed - set(_NO_FEED))
    asked: list[Request] = []
    shown: list[FeedPage] = []
    for k, (page, mind) in enumerate(zip(pages, minds, strict=True)):
        if page.ids and kinds:
            prompt = react_prompt(views, k, page, mind, wording)
            schema = react_schema(page, kinds, views.about.names, views.settings, params)
            asked.append(_request(views, k, REACT, "react", prompt, schema))
            shown.append(page)
        if writes[k]:
            prompt = write_prompt(views, k, page, mind, wording, params.own_posts)
            schema = post_schema(views.about.names, views.settings, params)
            asked.append(_request(views, k, POST, "post", prompt, schema))
            shown.append(page)
    return asked, shown


def _request(views: Views, k: int, turn: int, purpose: str, prompt: str, schema: dict[str, Any]) -> Request:
    return Request(
        purpose=purpose,
        messages=(Message("user", prompt),),
        schema=schema,
        name=purpose,
        temperature=views.about.model.temperature,
        max_tokens=views.about.model.max_tokens,
        agent=int(views.agents[k]),
        step=views.step,
        turn=turn,
    )


def decide(views: Views, draws: StageDraws, params: Params, asker: Asker | None = None) -> Chosen:
    """What the model answers for each agent; one without a usable answer is silent, and its call says why."""
    if asker is None:
        raise SettingError("model", got="none", do="choose one: `--set model=ollama/llama3.2`, or `model=fake` to try")
    asked, shown = requests(views, draws, params)
    replies = Replies(views, params)
    for request, page, reply in zip(asked, shown, asker.ask(asked), strict=True):
        if not reply.ok:
            continue
        place = int(np.searchsorted(views.agents, request.agent))
        if request.turn == POST:
            replies.add_post(place, reply.value)
        else:
            replies.add_reactions(place, page, reply.value)
    return replies.chosen()


def bind(asker: Asker) -> Policy:
    """The policy with a model to ask."""
    return replace(POLICY, decide=partial(decide, asker=asker))


POLICY = Policy("llm", Params, decide, reads=frozenset({"persona", "memory"}), bind=bind)
