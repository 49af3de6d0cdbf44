"""Writes the prompt of an agent that a language model acts for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from townsquare.core.actions import SPECS, WORDS, ActionKind, On
from townsquare.models.prompts.bands import (
    CONFIDENCE_BANDS,
    STANCE_BANDS,
    TEN_BINS,
    confidence_band,
    stance_band,
    ten_bins,
)
from townsquare.models.prompts.filling import NOTHING, filled, listed, quoted
from townsquare.simulation.policies.llm_feed import FeedPage
from townsquare.simulation.policies.llm_prompt_limit import (
    MEMORY_SHARE,
    PERSONA_SHARE,
    POSTED_SHARE,
    first_sentences,
    kept_lines,
)
from townsquare.simulation.policies.llm_reply import WRITTEN
from townsquare.simulation.views import Views

_NOTES = (
    "Readers keep this network accurate with notes. Where a note is offered to you, judge it first; add one of your "
    "own only where context is missing."
)
_NUDGE = "If something is new or surprising to this person, they may well react to it and pass it on."
_FLAGS = 'In the feed, "flags" is the number of readers who reported the post or comment to the moderators.'
_REASONING = 'Give a short reason for each entry, in "reasoning".'


@dataclass(frozen=True, slots=True)
class Wording:
    """The parts of the prompts that are the same for all agents of a step, by the places that they fill."""

    react: Mapping[str, object]
    post: Mapping[str, object]

    @classmethod
    def of(cls, views: Views, nudge: bool, reasoning: bool, somewhat: bool) -> Wording:
        """Word what this run allows."""
        kinds = [kind for kind, spec in SPECS.items() if spec.prompt and kind in views.allowed]
        rates = any(SPECS[kind].on == On.NOTE for kind in kinds)
        strategy = [_NOTES] if rates and ActionKind.ADD_NOTE in kinds else []
        strategy += [_FLAGS] if views.context.show_flags else []
        strategy += [_NUDGE] if nudge else []
        answers = "yes, somewhat or no" if somewhat else "yes or no"
        more = f', for rate_note also "helpful" ({answers})' if rates else ""
        why = ', "reasoning"' if reasoning else ""
        react = {
            "actions": "\n".join(f"- {WORDS[kind]} {SPECS[kind].prompt}" for kind in kinds),
            "strategy": "\n".join(strategy),
            "reasoning": _REASONING if reasoning else "",
            "fields": more + why,
            "comment_length": views.settings.comment_length,
        }
        return cls(react, {"fields": why, "post_length": min(views.settings.post_length, WRITTEN)})


class BeliefLines:
    """The beliefs of agents in words: a line for each proposition, by name, so that a reply can name its topic."""

    def __init__(self, views: Views, how: Literal["bands", "ten_bins"]) -> None:
        self._about = list(zip(views.context.names, map(quoted, views.context.statements), strict=True))
        self._bands = how == "bands"
        self._stance = stance_band(views.stance) if self._bands else ten_bins(views.stance)
        self._firm = confidence_band(views.confidence)

    def of(self, k: int) -> str:
        """Return the lines of the agent at position ``k``."""
        lines, stance, firm = [], self._stance[k].tolist(), self._firm[k].tolist()
        for (name, statement), at, sure in zip(self._about, stance, firm, strict=True):
            side = f"you are {STANCE_BANDS[at]} it" if self._bands else TEN_BINS[at]
            lines.append(f"Topic {name}, {statement}: {side}; {CONFIDENCE_BANDS[sure]}.")
        return listed(lines)


@dataclass(slots=True)
class AgentTexts:
    """What a prompt says of one agent, next to its feed and beliefs; and how many of these texts were shortened."""

    persona: str
    memories: list[str]
    reflections: list[str]
    own_posts: list[str]
    shortened: int = 0
    left_out: int = 0

    @classmethod
    def of(cls, views: Views, k: int, own: int) -> AgentTexts:
        """Return the texts of the agent at position ``k`` of the views, with its ``own`` latest posts."""
        remembered, reflections = views.memories(k)
        persona = " ".join(views.persona(k).split()) or "Somebody of whom nothing is known."
        remembered = [" ".join(text.split()) for text in remembered]
        posted = [quoted(text) for text in views.own_posts(k, own)] if own else []
        return cls(persona, remembered, [quoted(text) for text in reflections], posted)

    @property
    def length(self) -> int:
        """Characters beyond those of a prompt without these texts."""
        lists = (self.memories, self.reflections, self.own_posts)
        return len(self.persona) + sum(len(listed(lines)) - len(NOTHING) for lines in lists)

    def shorten_memories(self, limit: int) -> None:
        """Shorten memories, reflections and posts to their shares of ``limit`` characters; the most relevant stay."""
        most = int(MEMORY_SHARE * limit)
        self.reflections = self._first(self.reflections, most // 2)
        self.memories = self._first(self.memories, most - sum(len(line) + 3 for line in self.reflections))
        self.own_posts = self._first(self.own_posts, int(POSTED_SHARE * limit))

    def shorten_persona(self, limit: int) -> None:
        """Shorten the persona to its share of ``limit`` characters, by whole sentences."""
        shorter = first_sentences(self.persona, int(PERSONA_SHARE * limit))
        self.shortened += shorter != self.persona
        self.persona = shorter

    def _first(self, lines: list[str], limit: int) -> list[str]:
        first = kept_lines(lines, limit)
        self.left_out += len(lines) - len(first)
        self.shortened += sum(a != b for a, b in zip(first, lines, strict=False))
        return first


def react_prompt(texts: AgentTexts, beliefs: str, page: FeedPage, wording: Wording, writes: bool) -> str:
    """Return the question for reactions, and for a post if the agent ``writes`` one too."""
    writing = filled("react_post", **wording.post, own_posts=listed(texts.own_posts)) if writes else ""
    memories, reflections = listed(texts.memories), listed(texts.reflections)
    return filled(
        "react", **wording.react, persona=texts.persona, beliefs=beliefs, memories=memories, reflections=reflections,
        feed=page.text, shortened=_shortened(texts, page), writing=writing,
    )  # fmt: skip


def write_prompt(texts: AgentTexts, beliefs: str, page: FeedPage, wording: Wording) -> str:
    """Return the question for a post alone, for an agent with nothing to react to."""
    return filled(
        "post", **wording.post, persona=texts.persona, beliefs=beliefs, memories=listed(texts.memories),
        own_posts=listed(texts.own_posts), feed=page.text or NOTHING,
    )  # fmt: skip


def _shortened(texts: AgentTexts, page: FeedPage) -> str:
    """Return a line that says what is missing; "" if nothing is."""
    missing = ["texts that end in … go on"] if page.shortened or texts.shortened else []
    counts = ((len(page.comments_out), "comment"), (len(page.posts_out), "post"), (texts.left_out, "memory"))
    missing += [f"{n} {word if n == 1 else _PLURALS[word]} left out" for n, word in counts if n]
    return f"(To keep this short: {', '.join(missing)}.)" if missing else ""


_PLURALS = {"comment": "comments", "post": "posts", "memory": "memories"}
