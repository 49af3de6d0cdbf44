"""Baselines without the engine: agents that revise a stance of their own accord (seeds, section 4.2, Table A10).

``prompt_self_update`` is asked for a new stance after each message of the opponent, given its last one, the message
and the dialogue. ``rag_self_update`` is also given records: the k that are nearest to the message, of all it started
with or heard. Nothing is summed, archived or resolved, and no move has its evidence.

The paper asks a language model, and so does ``reviser: model``. The embedded stand-in is no model of one: it moves a
fixed share of the way from its stance to the stance that the judge reads in the message, or, with records, to the mean
of that and of the stances of the records. The share has no source; it is small so that the course of fifteen rounds can
be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from townsquare.beliefs.evidence.near import cosines
from townsquare.core.enums import Origin
from townsquare.debate.contract import (
    ActiveRecord,
    DebateAgent,
    DebateContext,
    Debater,
    DialogueLine,
    Move,
    ReceivedMessage,
    Side,
)
from townsquare.debate.members.model_judge import PERCENT, STANCE_SCHEMA
from townsquare.debate.members.model_speaker import SIDES, quoted_lines
from townsquare.models.contract import Asker, Request, needed
from townsquare.models.prompts.filling import filled, listed, quoted
from townsquare.settings.base import MemberParams, setting


class Params(MemberParams):
    """Who revises, and how."""

    reviser: Literal["embedded", "model"] = setting("embedded", "embedded rule or language model")
    step: float = setting(0.03, "share of the way to the stance of a message, per message", ge=0, le=1)
    records: int = setting(5, "records used in a revision; `rag_self_update` only", ge=1, le=100)


class Revision(NamedTuple):
    """What a revision is made from: statement, last stance in [-1, 1], message, dialogue, and records if any."""

    statement: str
    stance: float
    message: str
    dialogue: tuple[DialogueLine, ...]
    retrieved: tuple[ActiveRecord, ...]


Revise = Callable[[Revision, DebateContext, Any], float]
"""``revise(asked, context, params)``: the new stance, in [-1, 1]."""


@dataclass(slots=True)
class SelfUpdate:
    """One agent that says of itself where it is; with records to look at, or without.

    ``rows`` are those of its claims, ``origins`` where they came from, ``stance`` what it last said of itself.
    """

    context: DebateContext
    params: Params
    revise: Revise
    with_records: bool
    rows: list[int]
    origins: list[Origin]
    stance: float

    def retrieve(self, message: str, k: int) -> tuple[ActiveRecord, ...]:
        """Return the records nearest to a message by cosine, the earliest of equals; none without records."""
        if not self.with_records or not self.rows or k == 0:
            return ()
        claims = self.context.claims
        texts = [claims[row].text for row in self.rows]
        rows = self.context.vectors.of([message, *texts])
        near = cosines(rows, np.zeros(len(texts), np.int64), np.arange(1, len(texts) + 1))
        nearest = np.argsort(-near, kind="stable")[:k]
        return tuple(ActiveRecord.of(claims, self.rows[at], self.origins[at]) for at in nearest)

    def take(self, message: ReceivedMessage) -> tuple[Move, ...]:
        """Revise the stance after a message of the opponent, and keep its claims."""
        if message.own:
            return ()
        retrieved = self.retrieve(message.text, self.params.records)
        asked = Revision(self.context.bank.statement, self.stance, message.text, message.dialogue, retrieved)
        after = float(np.clip(self.revise(asked, self.context, self.params), -1.0, 1.0))
        move = Move(None, -1, -1, after - self.stance)
        self.stance = after
        self.rows += message.claims
        self.origins += [Origin.PEER] * len(message.claims)
        return (move,)


def toward_message(asked: Revision, context: DebateContext, params: Params) -> float:
    """Move a step toward the stance of the message, or toward the mean of that and the records' stances.

    A message without a stance, and no records, leave the stance as it is.
    """
    stances = [float(context.read([asked.message])[0])]
    if asked.retrieved:
        stances.append(float(np.mean([record.polarity * record.strength for record in asked.retrieved])))
    known = [stance for stance in stances if not np.isnan(stance)]
    if not known:
        return asked.stance
    return asked.stance + params.step * (sum(known) / len(known) - asked.stance)


def by_model(
    asked: Revision, context: DebateContext, params: Params, asker: Asker | None = None, side: int = 0
) -> float:
    """Ask a language model for its stance; a failed call leaves the stance as it is."""
    lines = [*quoted_lines(asked.dialogue, side), quoted({"who": "the other", "latest": asked.message})]
    prompt = filled(
        "self_update",
        statement=quoted(asked.statement),
        stance=f"{PERCENT * asked.stance:.0f}",
        records=listed([f"{SIDES[record.polarity]}: {quoted(record.text)}" for record in asked.retrieved]),
        dialogue="\n".join(lines),
    )
    request = Request.of("self_update", prompt, STANCE_SCHEMA, max_tokens=64, agent=side, step=context.draws.step)
    (reply,) = needed(asker).ask([request])
    return int(reply.value["stance"]) / PERCENT if reply.ok else asked.stance


def debater(name: str, revise: Revise, *, with_records: bool, asker: Asker | None = None) -> Debater:
    """Make a debater that revises its stance by ``revise`` or a model, with the nearest records or without."""

    def begin(side: Side, context: DebateContext, params: Params) -> DebateAgent:
        how = revise if params.reviser == "embedded" else partial(by_model, asker=asker, side=side.number)
        rows, origins = list(side.seeds), [Origin.SEED] * len(side.seeds)
        return SelfUpdate(context, params, how, with_records, rows, origins, side.attained)

    def bind(asker: Asker) -> Debater:
        return debater(name, revise, with_records=with_records, asker=asker)

    return Debater(name, Params, begin, False, bind=bind, asks=lambda params: bool(params.reviser == "model"))


PROMPT = debater("prompt_self_update", toward_message, with_records=False)
RAG = debater("rag_self_update", toward_message, with_records=True)
