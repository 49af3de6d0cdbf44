"""Parameters of the policy `llm`."""

from __future__ import annotations

from typing import Literal

from townsquare.settings.config import MemberParams, Share, setting


class Params(MemberParams):
    """Settings of the policy `llm`; which model answers is in the section `model`."""

    reasoning: bool = setting(False, "ask for a short explanation of each action, and record it")
    nudge: bool = setting(False, "invite agents to share surprising posts, as MOSAIC does without moderation")
    beliefs_as: Literal["bands", "ten_bins"] = setting("bands", "words for a stance: bands, or ten bins")
    posts_per_step: Share = setting(0.2, "probability that an agent online is asked for a post in a step")
    own_posts: int = setting(3, "number of latest own posts in the prompt that asks for a post", ge=0, le=50)
    somewhat: bool = setting(False, "allow agents to rate a note somewhat helpful")
    max_actions: int = setting(8, "maximum actions in one reply", ge=1, le=100)
    text_shown: int = setting(400, "maximum length of a text in a feed", ge=20, le=10000, unit="characters")
    prompt_tokens: int | None = setting(
        1500, "maximum length of a prompt; texts, memories and comments are shortened to fit, see docs/llm-agents.md; "
        "unset: no limit", ge=100, le=1_000_000, unit="tokens",
    )  # fmt: skip
    characters_per_token: float = setting(4.0, "characters counted as one token for `prompt_tokens`", ge=0.5, le=20)
