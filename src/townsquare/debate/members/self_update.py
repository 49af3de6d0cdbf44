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
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from townsquare.beliefs.evidence.near import cosines
from townsquare.core.errors import SettingError
from townsquare.core.schema import Origin
from townsquare.debate.contract import Debater, Evidence, Floor, Heard, Line, Mind, Move, Seat
from townsquare.debate.members.model_judge import PERCENT, STANCE_SCHEMA
from townsquare.models.contract import Asker, Message, Request
from townsquare.models.prompts.filling import filled, listed, quoted
from townsquare.settings.base import MemberParams


class Params(MemberParams):
    """Who revises, and how."""

    reviser: Literal["embedded", "model"] = Field("embedded", description="the stand-in, or a language model")
    step: float = Field(0.03, ge=0, le=1, description="share of the way to what it heard, a message")
    records: int = Field(5, ge=1, le=100, description="records that go into a revision; `rag_self_update` only")


class Asked(NamedTuple):
    """What a revision is made from: statement, last stance in [-1, 1], message, dialogue, and records if any."""

    statement: str
    stance: float
    heard: str
    dialogue: tuple[Line, ...]
    retrieved: tuple[Evidence, ...]


Revise = Callable[[Asked, Floor, Any], float]
"""``revise(asked, floor, params)``: the new stance, in [-1, 1]."""


class SelfUpdate:
    """One agent that says of itself where it stands; with records to look at, or without."""

    def __init__(self, seat: Seat, floor: Floor, params: Params, revise: Revise, with_records: bool) -> None:
        self._floor, self._params, self._revise, self._with_records = floor, params, revise, with_records
        self._rows = list(seat.seeds)
        self._origins = [Origin.SEED] * len(seat.seeds)
        self._stance = seat.attained

    @property
    def stance(self) -> float:
        """What it last said of itself."""
        return self._stance

    def retrieve(self, heard: str, k: int) -> tuple[Evidence, ...]:
        """The records nearest to a message by cosine, the earliest of equals; none without records."""
        if not self._with_records or not self._rows or k == 0:
            return ()
        texts = [self._floor.claims[row].text for row in self._rows]
        rows = self._floor.vectors.of([heard, *texts])
        near = cosines(rows, np.zeros(len(texts), np.int64), np.arange(1, len(texts) + 1))
        return tuple(self._evidence(int(at)) for at in np.argsort(-near, kind="stable")[:k])

    def _evidence(self, at: int) -> Evidence:
        row = self._rows[at]
        claim = self._floor.claims[row]
        return Evidence(row, claim.text, claim.polarity, claim.strength, self._origins[at])

    def take(self, heard: Heard) -> tuple[Move, ...]:
        """Revise the stance after a message of the opponent, and keep its claims."""
        if heard.own:
            return ()
        statement = self._floor.bank.statement
        retrieved = self.retrieve(heard.text, self._params.records)
        asked = Asked(statement, self._stance, heard.text, heard.dialogue, retrieved)
        after = float(np.clip(self._revise(asked, self._floor, self._params), -1.0, 1.0))
        move = Move(None, -1, -1, after - self._stance)
        self._stance = after
        self._rows += heard.claims
        self._origins += [Origin.PEER] * len(heard.claims)
        return (move,)


def toward_heard(asked: Asked, floor: Floor, params: Params) -> float:
    """The stand-in: a step toward what was heard, or toward the mean of that and the records' stances.

    A message without a stance, and no records, leave the stance as it is.
    """
    stances = [float(floor.read([asked.heard])[0])]
    if asked.retrieved:
        stances.append(float(np.mean([one.polarity * one.strength for one in asked.retrieved])))
    known = [stance for stance in stances if not np.isnan(stance)]
    if not known:
        return asked.stance
    return asked.stance + params.step * (sum(known) / len(known) - asked.stance)


def by_model(asked: Asked, floor: Floor, params: Params, asker: Asker | None = None, seat: int = 0) -> float:
    """What a language model says of itself; a call that fails leaves the stance as it is."""
    if asker is None:
        raise SettingError("model", got="none", do="choose one: `--set model=ollama/llama3.2`, or `model=fake` to try")
    lines = [quoted({"who": "you" if line.seat == seat else "the other", "said": line.text}) for line in asked.dialogue]
    lines.append(quoted({"who": "the other", "latest": asked.heard}))
    sides = {1: "for", -1: "against"}
    prompt = filled(
        "self_update",
        statement=quoted(asked.statement),
        stance=f"{PERCENT * asked.stance:.0f}",
        records=listed([f"{sides[one.polarity]}: {quoted(one.text)}" for one in asked.retrieved]),
        dialogue="\n".join(lines),
    )
    request = Request(
        purpose="self_update", messages=(Message("user", prompt),), schema=STANCE_SCHEMA, name="self_update",
        max_tokens=64, agent=seat, step=floor.draws.step,
    )  # fmt: skip
    (reply,) = asker.ask([request])
    return int(reply.value["stance"]) / PERCENT if reply.ok else asked.stance


def debater(name: str, revise: Revise, *, with_records: bool, asker: Asker | None = None) -> Debater:
    """A debater that revises its stance by ``revise`` or a model; ``with_records`` gives it the nearest records."""

    def begin(seat: Seat, floor: Floor, params: Params) -> Mind:
        how = revise if params.reviser == "embedded" else partial(by_model, asker=asker, seat=seat.seat)
        return SelfUpdate(seat, floor, params, how, with_records)

    def bind(asker: Asker) -> Debater:
        return debater(name, revise, with_records=with_records, asker=asker)

    return Debater(name, Params, begin, False, bind, lambda params: bool(params.reviser == "model"))


PROMPT = debater("prompt_self_update", toward_heard, with_records=False)
RAG = debater("rag_self_update", toward_heard, with_records=True)
