"""Questions to language models, and clients to ask them through, for tests."""

from __future__ import annotations

from typing import Any

from townsquare.models.client import ModelClient, OnCall
from townsquare.models.contract import CallStore, Message, Request
from townsquare.models.open import client_of
from townsquare.models.store import MemoryCalls
from townsquare.settings.config import Config

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reactions": {
            "type": "array",
            "maxItems": 3,
            "items": {
                "type": "object",
                "properties": {
                    "post": {"enum": [1, 2, 3]},
                    "action": {"enum": ["like", "share", "ignore"]},
                    "text": {"type": "string", "maxLength": 30},
                },
                "required": ["post", "action", "text"],
                "additionalProperties": False,
            },
        },
        "stance": {"type": "number", "minimum": -1, "maximum": 1},
    },
    "required": ["reactions", "stance"],
    "additionalProperties": False,
}


def question(i: int, **given: Any) -> Request:
    """The i-th question; about an object unless ``schema`` says otherwise."""
    messages = (Message("system", "You are a person."), Message("user", f"Here is your feed, number {i}."))
    fields = {"purpose": "act", "messages": messages, "schema": SCHEMA, "agent": i, "step": 1, "temperature": 1.0}
    return Request(**{**fields, **given})


def questions(count: int, **given: Any) -> list[Request]:
    """Several."""
    return [question(i, **given) for i in range(count)]


def client(
    name: str = "fake",
    store: CallStore | None = None,
    *urls: str,
    seed: int = 1,
    on_call: OnCall | None = None,
    **serving: Any,
) -> ModelClient:
    """A client to a model, by name and the servers that have it."""
    config = Config.model_validate({"model": {"name": name, "base_url": urls}, "serving": serving})
    return client_of(config, MemoryCalls() if store is None else store, seed, on_call=on_call)
