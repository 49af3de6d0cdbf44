"""What a language model is told before it acts for an agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from townsquare.policies.llm_feed import FeedPage
from townsquare.prompts.bands import CONFIDENCE_BANDS, STANCE_BANDS, TEN_BINS, confidence_band, stance_band, ten_bins
from townsquare.prompts.filling import NOTHING, filled, listed, quoted
from townsquare.schema import ActionKind
from townsquare.views import Views

ACTION_WORDS = {
    ActionKind.LIKE: "like a post (p...)",
    ActionKind.DISLIKE: "dislike a post (p...)",
    ActionKind.SHARE: "share: pass a post (p...) on to those who read you",
    ActionKind.COMMENT: "comment: answer a post (p...), with content",
    ActionKind.LIKE_COMMENT: "like_comment: like a comment (c...)",
    ActionKind.FLAG: "flag: report a post or comment (p..., c...) to the moderators",
    ActionKind.FOLLOW: "follow the one who put a post or comment (p..., c...) into your feed",
    ActionKind.UNFOLLOW: "unfollow that one",
    ActionKind.ADD_NOTE: "add_note: put a note with context under a post (p...), with content",
    ActionKind.RATE_NOTE: "rate_note: judge a note you are offered (n...), with helpful",
}
_NOTES = (
    "Readers keep this network accurate with notes. Where a note is offered to you, judge it first; add one of your "
    "own only where context is missing."
)
_NUDGE = "If something is new or surprising to this person, they may well react to it and pass it on."
_REASONING = 'Give a short reason for each entry, in "reasoning".'


@dataclass(frozen=True, slots=True)
class Wording:
    """The parts of the prompts that are the same for everybody in a step."""

    actions: str
    strategy: str
    reasoning: str
    fields: str
    write_fields: str

    @classmethod
    def of(cls, views: Views, nudge: bool, reasoning: bool) -> Wording:
        """The words for what this run allows."""
        kinds = [kind for kind in ACTION_WORDS if kind in views.allowed]
        rates = ActionKind.RATE_NOTE in kinds
        strategy = [_NOTES] if rates and ActionKind.ADD_NOTE in kinds else []
        strategy += [_NUDGE] if nudge else []
        more = ', for rate_note also "helpful" (yes or no)' if rates else ""
        why = ', "reasoning"' if reasoning else ""
        return cls(
            actions="\n".join(f"- {ACTION_WORDS[kind]}" for kind in kinds),
            strategy="\n".join(strategy),
            reasoning=_REASONING if reasoning else "",
            fields=more + why,
            write_fields=why,
        )


def beliefs_in_words(views: Views, how: Literal["bands", "ten_bins"]) -> list[str]:
    """What each agent thinks, one line a proposition; by name, so that a reply can say which topic it is about."""
    names, statements = views.about.names, views.about.statements
    firm = confidence_band(views.confidence)
    band = stance_band(views.stance) if how == "bands" else ten_bins(views.stance)
    out = []
    for stance, confidence in zip(band.tolist(), firm.tolist(), strict=True):
        lines = []
        for name, statement, at, sure in zip(names, statements, stance, confidence, strict=True):
            side = f"you are {STANCE_BANDS[at]} it" if how == "bands" else TEN_BINS[at]
            lines.append(f"Topic {name}, {quoted(statement)}: {side}; {CONFIDENCE_BANDS[sure]}.")
        out.append(listed(lines))
    return out


def react_prompt(views: Views, k: int, page: FeedPage, mind: str, wording: Wording) -> str:
    """The question for reactions of the agent at place ``k`` of the views."""
    remembered, reflections = views.memories(k)
    return filled(
        "react",
        persona=_persona(views, k),
        beliefs=mind,
        memories=listed(remembered),
        reflections=listed([quoted(text) for text in reflections]),
        feed=page.text,
        actions=wording.actions,
        strategy=wording.strategy,
        reasoning=wording.reasoning,
        comment_length=views.settings.comment_length,
        fields=wording.fields,
    )


def write_prompt(views: Views, k: int, page: FeedPage, mind: str, wording: Wording, own: int) -> str:
    """The question for a post of the agent at place ``k`` of the views."""
    remembered, _ = views.memories(k)
    return filled(
        "post",
        persona=_persona(views, k),
        beliefs=mind,
        memories=listed(remembered),
        own_posts=listed([quoted(text) for text in views.own_posts(k, own)]),
        feed=page.text or NOTHING,
        post_length=min(views.settings.post_length, 600),
        fields=wording.write_fields,
    )


def _persona(views: Views, k: int) -> str:
    return " ".join(views.persona(k).split()) or "Somebody of whom nothing is known."
