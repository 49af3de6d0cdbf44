"""``llm``: a language model speaks, told its persona, its stance in words, what it holds and what was said lately.

Response generation of the Belief Engine (seeds, ``belief-engine``, Table A10) at temperature 0.7. What it says declares
no claims: an extractor reads them (``evidence.extractor``, by default ``model``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from townsquare.core.files import clean
from townsquare.debate.contract import DebateContext, DialogueLine, Speaker, Turn, Utterance
from townsquare.models.contract import Asker, Request, needed, object_schema
from townsquare.models.prompts.filling import NOTHING, filled, listed, quoted
from townsquare.settings.base import MemberParams, setting

LONGEST = 1200  # characters
NO_ANSWER = "(says nothing)"
_SCHEMA = object_schema(content={"type": "string", "maxLength": LONGEST})
SIDES = {1: "for", -1: "against"}


class Params(MemberParams):
    """How it is asked."""

    temperature: float = setting(0.7, "sampling temperature", ge=0, le=2)
    max_tokens: int = setting(512, "longest answer", ge=16, unit="tokens")


def say(turn: Turn, context: DebateContext, params: Params, asker: Asker | None = None) -> Utterance:
    """Ask for one message; a failed call gives no message, and the call records why."""
    records = [f"{SIDES[it.polarity]}, strength {it.strength:.2f}: {quoted(it.text)}" for it in turn.retrieved]
    prompt = filled(
        "debate_turn",
        statement=quoted(turn.statement),
        persona=" ".join(turn.persona.split()) or "nobody in particular",
        instruction=turn.instruction,
        evidence=listed(records),
        dialogue="\n".join(quoted_lines(turn.dialogue, turn.side)) or NOTHING,
    )
    request = Request.of("debate_turn", prompt, _SCHEMA, agent=turn.side, step=turn.round, **params.model_dump())
    (reply,) = needed(asker).ask([request])
    text = clean(str(reply.value["content"])).strip() if reply.ok else ""
    return Utterance(text, None) if text else Utterance(NO_ANSWER, ())


def quoted_lines(dialogue: Sequence[DialogueLine], side: int) -> list[str]:
    """Return the messages of a dialogue as JSON, seen from a side."""
    return [quoted({"who": "you" if line.side == side else "the other", "said": line.text}) for line in dialogue]


def bind(asker: Asker) -> Speaker:
    """Return the speaker with a language model to ask."""
    return replace(SPEAKER, say=partial(say, asker=asker))


SPEAKER = Speaker("llm", Params, say, bind=bind, declares=False)
