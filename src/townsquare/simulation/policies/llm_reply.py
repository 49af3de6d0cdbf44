"""Turns the checked replies of a language model into proposed actions: on rows that were shown, of kinds allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from townsquare.core.actions import SPECS, WORDS, ActionKind, Length, On, Tie
from townsquare.core.enums import Rating
from townsquare.core.files import clean
from townsquare.core.schema import NONE
from townsquare.models.contract import object_schema
from townsquare.settings.config import Actions as ActionSettings
from townsquare.simulation.policies.llm_feed import FeedPage
from townsquare.simulation.policies.llm_params import Params
from townsquare.simulation.views import ProposedActions, Views, no_actions, propose

WRITTEN = 600  # characters of a post or note that a model is asked for at most
REASON = 300
TENTHS = 10  # a stance of 1 in a reply
RATED = {"yes": Rating.HELPFUL, "somewhat": Rating.SOMEWHAT, "no": Rating.NOT_HELPFUL}
"""What an agent may answer of a note."""
_KINDS = {word: kind for kind, word in WORDS.items()}


def _stance(names: tuple[str, ...]) -> dict[str, Any]:
    # Whole numbers: grammars of servers keep to their bounds, and not to those of fractions.
    return {"about": {"enum": [*names, "none"]}, "stance": {"type": "integer", "minimum": -TENTHS, "maximum": TENTHS}}


def react_schema(
    page: FeedPage,
    kinds: list[ActionKind],
    names: tuple[str, ...],
    settings: ActionSettings,
    params: Params,
    writes: bool,
) -> dict[str, Any]:
    """Return the JSON Schema of a reply to a feed: lists and texts are bounded, targets fit their actions.

    It holds a post too where the agent ``writes`` one.
    """
    groups: dict[tuple[On, Tie, Length, bool], list[ActionKind]] = {}
    for kind in kinds:
        spec = SPECS[kind]
        groups.setdefault((spec.on, spec.tie, spec.writes, spec.declares), []).append(kind)
    there = [group for group in groups.values() if _targets(group[0], page)]
    entries = [_branch(group, page, names, settings, params) for group in there]
    post = {"post": post_schema(names, settings, params)} if writes else {}
    actions = {"type": "array", "maxItems": params.max_actions, "items": {"anyOf": entries}}
    return object_schema(actions=actions, **post)


def _targets(kind: ActionKind, page: FeedPage) -> list[str]:
    """Return ids of what the page shows that an action of this kind can be done to."""
    match SPECS[kind].on, SPECS[kind].tie:
        case On.POST, _:
            return page.ids_of("p")
        case On.COMMENT, _:
            return page.ids_of("c")
        case On.NOTE, _:
            return [*page.notes]
        case On.AUTHOR, Tie.STARTS:
            return page.strangers
        case On.AUTHOR, Tie.ENDS:
            return page.friends
        case On.AUTHOR, _:
            return [*page.strangers, *page.friends]
    return [*page.ids]


def _branch(
    kinds: list[ActionKind], page: FeedPage, names: tuple[str, ...], settings: ActionSettings, params: Params
) -> dict[str, Any]:
    """Return entries of kinds of action that have the same targets and fields."""
    spec, more = SPECS[kinds[0]], dict[str, Any]()
    if spec.writes:
        longest = min(settings.post_length, WRITTEN) if spec.writes == Length.POST else settings.comment_length
        more = {"content": {"type": "string", "maxLength": longest}}
    more |= _stance(names) if spec.declares else {}
    if spec.on == On.NOTE:
        more["helpful"] = {"enum": [word for word in RATED if params.somewhat or word != "somewhat"]}
    more |= _reason(params)
    action, target = {"enum": [WORDS[kind] for kind in kinds]}, {"enum": _targets(kinds[0], page)}
    return object_schema(action=action, target=target, **more)


def post_schema(names: tuple[str, ...], settings: ActionSettings, params: Params) -> dict[str, Any]:
    """Return the JSON Schema of a post."""
    content = {"type": "string", "maxLength": min(settings.post_length, WRITTEN)}
    return object_schema(content=content, **_stance(names), **_reason(params))


def _reason(params: Params) -> dict[str, Any]:
    return {"reasoning": {"type": "string", "maxLength": REASON}} if params.reasoning else {}


class Replies:
    """Collects the choices of all agents, in the order of agents."""

    def __init__(self, views: Views, params: Params) -> None:
        self._views, self._params = views, params
        self._rows: list[tuple[int, int, int, int, int, int]] = []
        self._declared: list[tuple[int, int, float, float]] = []
        self._texts: dict[str, int] = {}

    def add_post(self, position: int, value: dict[str, Any]) -> None:
        """Add a post by the agent at ``position``; a post without content is ignored."""
        if str(value["content"]).strip():
            self._add(position, ActionKind.POST, NONE, value, helpful=-1)

    def add_reactions(self, position: int, targets: Mapping[str, int], value: dict[str, Any]) -> None:
        """Add the reactions of the agent at ``position``, in order; one that does not fit its target is refused later.

        ``targets`` are the ids on its page, and the rows of ``Views.rows`` that they represent.
        """
        for entry in value["actions"]:
            kind, target = _KINDS[entry["action"]], str(entry["target"])
            row = targets.get(target, NONE)
            if row < 0:
                continue  # cannot be: the schema holds the ids
            helpful = RATED.get(str(entry.get("helpful", "")), NONE)
            self._add(position, kind, row, entry, helpful=helpful)
        if "post" in value:
            self.add_post(position, value["post"])

    def chosen(self) -> ProposedActions:
        """Return all proposed actions."""
        if not self._rows:
            return no_actions()
        agent, kind, row, text, helpful, reasoning = zip(*self._rows, strict=True)
        return propose(
            self._views, agent, kind, row, text=text, helpful=helpful, reasoning=reasoning,
            declared=self._declared, new_texts=tuple(self._texts),
        )  # fmt: skip

    def _add(self, position: int, kind: ActionKind, row: int, entry: dict[str, Any], helpful: int) -> None:
        content = clean(str(entry["content"])).strip() if SPECS[kind].writes else ""
        reason = clean(str(entry.get("reasoning", ""))).strip() if self._params.reasoning else ""
        if content and entry.get("about", "none") != "none":
            about = self._views.context.names.index(entry["about"])
            self._declared.append((len(self._rows), about, int(entry["stance"]) / TENTHS, np.nan))
        agent = int(self._views.agents[position])
        self._rows.append((agent, int(kind), row, self._text(content), helpful, self._text(reason)))

    def _text(self, text: str) -> int:
        return self._views.n_texts + self._texts.setdefault(text, len(self._texts)) if text else NONE
