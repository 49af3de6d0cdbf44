"""What a language model is told before it acts for an agent."""

from __future__ import annotations

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
from townsquare.simulation.policies.llm_reply import WRITTEN
from townsquare.simulation.policies.llm_room import (
    MEMORY_SHARE,
    PERSONA_SHARE,
    POSTED_SHARE,
    first_sentences,
    kept_lines,
)
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
    """The parts of the prompts that are the same for everybody in a step."""

    actions: str
    strategy: str
    reasoning: str
    fields: str
    write_fields: str
    comment_length: int
    post_length: int

    @classmethod
    def of(cls, views: Views, nudge: bool, reasoning: bool, somewhat: bool) -> Wording:
        """The words for what this run allows."""
        kinds = [kind for kind, spec in SPECS.items() if spec.prompt and kind in views.allowed]
        rates = any(SPECS[kind].on == On.NOTE for kind in kinds)
        strategy = [_NOTES] if rates and ActionKind.ADD_NOTE in kinds else []
        strategy += [_FLAGS] if views.about.show_flags else []
        strategy += [_NUDGE] if nudge else []
        answers = "yes, somewhat or no" if somewhat else "yes or no"
        more = f', for rate_note also "helpful" ({answers})' if rates else ""
        why = ', "reasoning"' if reasoning else ""
        return cls(
            actions="\n".join(f"- {WORDS[kind]} {SPECS[kind].prompt}" for kind in kinds),
            strategy="\n".join(strategy),
            reasoning=_REASONING if reasoning else "",
            fields=more + why,
            write_fields=why,
            comment_length=views.settings.comment_length,
            post_length=min(views.settings.post_length, WRITTEN),
        )


class Minds:
    """What agents think, one line a proposition; by name, so that a reply can say which topic it is about."""

    def __init__(self, views: Views, how: Literal["bands", "ten_bins"]) -> None:
        self._about = [
            (name, quoted(text)) for name, text in zip(views.about.names, views.about.statements, strict=True)
        ]
        self._bands = how == "bands"
        self._stance = stance_band(views.stance) if self._bands else ten_bins(views.stance)
        self._firm = confidence_band(views.confidence)

    def of(self, k: int) -> str:
        """Those of the agent at place ``k``."""
        lines = []
        for (name, statement), at, sure in zip(
            self._about, self._stance[k].tolist(), self._firm[k].tolist(), strict=True
        ):
            side = f"you are {STANCE_BANDS[at]} it" if self._bands else TEN_BINS[at]
            lines.append(f"Topic {name}, {statement}: {side}; {CONFIDENCE_BANDS[sure]}.")
        return listed(lines)


@dataclass(slots=True)
class Told:
    """What one agent is told beside its feed: texts that can be shortened, and how many of them were."""

    persona: str
    memories: list[str]
    reflections: list[str]
    own_posts: list[str]
    shortened: int = 0
    left_out: int = 0

    @classmethod
    def of(cls, views: Views, k: int, own: int) -> Told:
        """All of it, of the agent at place ``k`` of the views, with its ``own`` latest posts."""
        remembered, reflections = views.memories(k)
        persona = " ".join(views.persona(k).split()) or "Somebody of whom nothing is known."
        remembered = [" ".join(text.split()) for text in remembered]
        posted = [quoted(text) for text in views.own_posts(k, own)] if own else []
        return cls(persona, remembered, [quoted(text) for text in reflections], posted)

    @property
    def length(self) -> int:
        """Characters that it takes beyond a prompt in which all of it is empty."""
        lists = (self.memories, self.reflections, self.own_posts)
        return len(self.persona) + sum(len(listed(lines)) - len(NOTHING) for lines in lists)

    def shorten_memories(self, room: int) -> None:
        """To shares of a whole of ``room`` characters: what was made of memories first, then the most relevant ones."""
        most = int(MEMORY_SHARE * room)
        self.reflections = self._kept(self.reflections, most // 2)
        self.memories = self._kept(self.memories, most - sum(len(line) + 3 for line in self.reflections))
        self.own_posts = self._kept(self.own_posts, int(POSTED_SHARE * room))

    def shorten_persona(self, room: int) -> None:
        """To its share of a whole of ``room`` characters, by whole sentences."""
        shorter = first_sentences(self.persona, int(PERSONA_SHARE * room))
        self.shortened += shorter != self.persona
        self.persona = shorter

    def _kept(self, lines: list[str], room: int) -> list[str]:
        kept = kept_lines(lines, room)
        self.left_out += len(lines) - len(kept)
        self.shortened += sum(a != b for a, b in zip(kept, lines, strict=False))
        return kept


def react_prompt(told: Told, mind: str, page: FeedPage, wording: Wording, writes: bool) -> str:
    """The question for reactions, and for a post where the agent ``writes`` one too."""
    return filled(
        "react",
        persona=told.persona,
        beliefs=mind,
        memories=listed(told.memories),
        reflections=listed(told.reflections),
        feed=page.text,
        shortened=_shortened(told, page),
        actions=wording.actions,
        strategy=wording.strategy,
        reasoning=wording.reasoning,
        writing=_writing(told, wording) if writes else "",
        comment_length=wording.comment_length,
        fields=wording.fields,
    )


def write_prompt(told: Told, mind: str, page: FeedPage, wording: Wording) -> str:
    """The question for a post alone, of an agent that has nothing to react to."""
    return filled(
        "post",
        persona=told.persona,
        beliefs=mind,
        memories=listed(told.memories),
        own_posts=listed(told.own_posts),
        feed=page.text or NOTHING,
        post_length=wording.post_length,
        fields=wording.write_fields,
    )


def _writing(told: Told, wording: Wording) -> str:
    own = listed(told.own_posts)
    return filled("react_post", own_posts=own, post_length=wording.post_length, fields=wording.write_fields)


def _shortened(told: Told, page: FeedPage) -> str:
    """One line that says what is missing; "" if nothing is."""
    said = ["texts that end in … go on"] if page.shortened or told.shortened else []
    counts = ((len(page.comments_out), "comment"), (len(page.posts_out), "post"), (told.left_out, "memory"))
    said += [f"{n} {word if n == 1 else _PLURALS[word]} left out" for n, word in counts if n]
    return f"(To keep this short: {', '.join(said)}.)" if said else ""


_PLURALS = {"comment": "comments", "post": "posts", "memory": "memories"}
