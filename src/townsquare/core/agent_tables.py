"""Tables of what agents are told they are, what they remember, and what language models were asked for them."""

from __future__ import annotations

from townsquare.core.actions import ActionKind
from townsquare.core.columns import AGENT, STEP, Column, table
from townsquare.core.enums import CallOutcome, MemoryKind

_C = Column

TABLES = (
    table(
        "personas",
        "who an agent is in words, where members that read it take part",
        AGENT,
        _C("text", "i4", "row of texts: the persona, untrusted"),
        kept=True,
    ),
    table(
        "agent_memories",
        "what agents remember: what they did, with its content, and what they made of it",
        _C("memory", "i4", "row of agent_memories"),
        AGENT,
        STEP,
        _C("kind", "u1", "interaction or reflection", words=MemoryKind),
        _C("action", "u1", "the kind of action that is remembered; `ignore` for a reflection", words=ActionKind),
        _C("post", "i4", "row of posts: the root that it is about; -1 for none"),
        _C("text", "i4", "row of texts"),
        _C("importance", "f8", "0 to 1"),
        _C("decay", "f8", "decay at the last access, 0 to 1; 1 when it is made", current=True),
        _C("accessed", "i4", "the step of the last access", "step", current=True),
        kept=True,
    ),
    table(
        "memory_accesses",
        "what restarts the clock of a memory: it was recalled, or its post was met again in an action",
        STEP,
        _C("memory", "i4", "row of agent_memories"),
        _C("decay", "f8", "decay from here on, 0 to 1: as it had come to be when recalled, 1 when met again"),
    ),
    table(
        "prompts",
        "what agents that a language model speaks for were told in a step, and what was shortened to keep it short",
        STEP,
        AGENT,
        _C(
            "tokens",
            "i4",
            "tokens of the prompt as they are counted beforehand: characters / `policy.characters_per_token`",
            "tokens",
        ),
        _C("shown", "i4", "rows of the feed that stand in it: its exposures", "count"),
        _C("shortened", "i4", "texts that were cut: of the feed, of memories, the persona", "count"),
        _C("memories_out", "i4", "memories, reflections and own posts that were left out", "count"),
        _C("comments_out", "i4", "comments of the feed that were left out, and so are no exposures", "count"),
        _C("posts_out", "i4", "posts of the feed that were left out, and so are no exposures", "count"),
    ),
    table(
        "model_calls",
        "what language models were asked in a step, in the order of asking; requests and replies stand in calls.db",
        STEP,
        _C("call", "i4", "order in the step, from 0"),
        _C("identity", "str", "SHA-256 of request, model, servers and draw: the row of calls.db"),
        _C("purpose", "str", "what it was for"),
        AGENT,
        _C("turn", "i4", "which of the agent's questions of the step it was, from 0"),
        _C("outcome", "u1", "how it ended", words=CallOutcome),
        _C("reply", "str", "SHA-256 of what was said, hexadecimal; empty for nothing"),
        _C("error", "str", "what went wrong; empty if nothing did", hashed=False),
        _C("model", "str", "the model as the server named it", hashed=False),
        _C("server", "str", "which server answered", hashed=False),
        _C("tokens_in", "i4", "tokens of the request; -1 where the server did not say", "tokens", hashed=False),
        _C("tokens_out", "i4", "tokens of the reply, likewise", "tokens", hashed=False),
        _C("seconds", "f8", "wall time", "s", hashed=False),
        _C("tries", "i4", "requests sent for it", "count", hashed=False),
    ),
)
