"""``model``: a language model takes arguments out of messages, then judges side, strength and category of each.

Two questions a message, as in the Belief Engine (seeds, ``belief-engine``, Table A10): distillation, classification.
Both at temperature 0 unless set otherwise, so that what is found in a message depends on the message alone. A message
whose calls fail makes no claim, and the calls say why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from townsquare.beliefs.evidence.contract import Extractor, Found, Topics
from townsquare.core.files import clean
from townsquare.models.contract import Asker, Request, needed, object_schema
from townsquare.models.prompts.filling import filled, quoted
from townsquare.settings.base import MemberParams, setting

MESSAGE, CLAIM, TAG = 4000, 300, 40  # characters
PERCENT = 100  # whole numbers: grammars of servers keep to their bounds, and not to those of fractions
SIDES = {"for": 1, "against": -1}


class Params(MemberParams):
    """Settings of the requests."""

    extract_temperature: float = setting(0.0, "temperature of the language model that extracts claims", ge=0, le=2)
    most_claims: int = setting(8, "maximum claims per text", ge=1, le=32)


class _Distilled(NamedTuple):
    message: int
    proposition: int
    claim: str
    snippet: str


_Row = tuple[int, int, int, float, str, str, str]


def extract(messages: Sequence[str], topics: Topics, params: Params, asker: Asker | None = None) -> Found:
    """Return claims of n messages, in their order; see :class:`townsquare.beliefs.evidence.contract.Extractor`."""
    asker = needed(asker)
    return Found.of(_classified(_distilled(messages, topics, params, asker), topics, params, asker))


def _distilled(messages: Sequence[str], topics: Topics, params: Params, asker: Asker) -> list[_Distilled]:
    numbers = list(range(1, len(topics.statements) + 1))
    words = {"type": "string", "maxLength": CLAIM}
    schema = _list_of("claims", params.most_claims, {"topic": {"enum": numbers}, "claim": words, "snippet": words})
    named = "\n".join(f"{number}. {quoted(text)}" for number, text in zip(numbers, topics.statements, strict=True))
    prompts = [filled("distil", topics=named, message=quoted(text[:MESSAGE])) for text in messages]
    asked = [_request("distil", prompt, schema, params) for prompt in prompts]
    out = []
    for message, (text, reply) in enumerate(zip(messages, asker.ask(asked), strict=True)):
        for entry in reply.value["claims"] if reply.ok else ():
            claim = clean(str(entry["claim"])).strip()
            snippet = clean(str(entry["snippet"])).strip()
            if claim:
                out.append(_Distilled(message, entry["topic"] - 1, claim, snippet if snippet in text else ""))
    return out


def _classified(distilled: list[_Distilled], topics: Topics, params: Params, asker: Asker) -> list[_Row]:
    """Return a row of :class:`Found` for each claim that takes a side."""
    groups: dict[tuple[int, int], list[_Distilled]] = {}
    for claim in distilled:
        groups.setdefault((claim.message, claim.proposition), []).append(claim)
    asked = []
    for (_, proposition), claims in groups.items():
        lines = "\n".join(quoted({"number": k, "argument": claim.claim}) for k, claim in enumerate(claims, 1))
        prompt = filled("classify", statement=quoted(topics.statements[proposition]), claims=lines)
        verdict = {
            "number": {"enum": list(range(1, len(claims) + 1))},
            "side": {"enum": [*SIDES, "neither"]},
            "strength": {"type": "integer", "minimum": 0, "maximum": PERCENT},
            "category": {"type": "string", "maxLength": TAG},
        }
        asked.append(_request("classify", prompt, _list_of("judged", len(claims), verdict), params))
    judged: dict[_Distilled, _Row] = {}
    for claims, reply in zip(groups.values(), asker.ask(asked), strict=True):
        for entry in reply.value["judged"] if reply.ok else ():
            claim = claims[entry["number"] - 1]
            if entry["side"] in SIDES:
                tag = " ".join(clean(str(entry["category"])).split())
                side, strength = SIDES[entry["side"]], int(entry["strength"]) / PERCENT
                row = (claim.message, claim.proposition, side, strength, claim.claim, claim.snippet, tag)
                judged.setdefault(claim, row)
    return [judged[claim] for claim in dict.fromkeys(distilled) if claim in judged]


def _request(purpose: str, prompt: str, schema: dict[str, Any], params: Params) -> Request:
    return Request.of(purpose, prompt, schema, temperature=params.extract_temperature, max_tokens=1024)


def _list_of(name: str, most: int, entry: dict[str, Any]) -> dict[str, Any]:
    items = object_schema(**entry)
    return object_schema(**{name: {"type": "array", "maxItems": most, "items": items}})


def bind(asker: Asker) -> Extractor:
    """Return the extractor with a model to ask."""
    return replace(EXTRACTOR, extract=partial(extract, asker=asker))


EXTRACTOR = Extractor("model", Params, extract, bind=bind)
