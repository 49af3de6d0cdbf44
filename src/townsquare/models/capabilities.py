"""Capabilities of a server: how to request JSON, and which parameters it accepts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import orjson

from townsquare.models.contract import Message, Request

_LENGTHS = frozenset({"minLength", "maxLength"})
INSTRUCTION = "Answer with one JSON object and nothing else. It must fit this JSON Schema:\n"
"""Before the schema, where it is in the prompt."""
_HOLDERS = (dict, list, tuple)
_SAMPLING = ("temperature", "seed")
_NOT_TAKEN = re.compile("unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not (?:allowed|permitted)|extra ")


class Mode(IntEnum):
    """Ways of requesting JSON, strictest first."""

    SCHEMA = 0
    """``response_format`` with the JSON Schema."""
    LOOSE_SCHEMA = 1
    """The same without the lengths of strings, which some servers refuse."""
    OBJECT = 2
    """``response_format: json_object``; the schema is in the prompt."""
    TOOL = 3
    """A function that must be called."""
    TEXT = 4
    """Plain text; the schema is in the prompt and a tolerant parser reads the reply."""


@dataclass
class Capabilities:
    """Known capabilities of a server.

    Attributes
    ----------
    mode : Mode or None
        The best rung that it honors; None before the first contact.
    by_name : dict of str to Mode
        Lower rungs, for schemas of which it refused more.
    tokens_key : str
        What it calls the longest answer.
    dropped : set of str
        Parameters that it does not take.
    """

    mode: Mode | None = None
    by_name: dict[str, Mode] = field(default_factory=dict)
    tokens_key: str = "max_tokens"
    dropped: set[str] = field(default_factory=set)

    def mode_for(self, request: Request) -> Mode:
        """Return how to ask for this request's object."""
        return max(self.mode or Mode.SCHEMA, self.by_name.get(request.name, Mode.SCHEMA))

    def body(
        self, model: str, request: Request, messages: Sequence[Message], draw: int | None, mode: Mode
    ) -> dict[str, Any]:
        """Return the body of a request for chat completions."""
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            self.tokens_key: request.max_tokens,
            "temperature": request.temperature,
        }
        if draw is not None:
            body["seed"] = draw
        for key in self.dropped:
            body.pop(key, None)
        if request.schema:
            _ask_for_object(body, request, mode)
        return body

    def is_outdated(self, body: Mapping[str, Any]) -> bool:
        """Return whether a body was made before something was learned of its parameters."""
        return self.tokens_key not in body or not self.dropped.isdisjoint(body)

    def learn(self, text: str, body: Mapping[str, Any]) -> str:
        """Learn about parameters from a refusal; return what was learned, or "".

        >>> Capabilities().learn("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", {})
        'max_completion_tokens instead of max_tokens'
        >>> Capabilities().learn("The prompt speaks of temperature.", {"temperature": 0.3})
        ''
        """
        low = text.lower()
        if self.tokens_key == "max_tokens" and "max_completion_tokens" in low:
            self.tokens_key = "max_completion_tokens"
            return "max_completion_tokens instead of max_tokens"
        for key in _SAMPLING if _NOT_TAKEN.search(low) else ():
            if key in body and key not in self.dropped and re.search(rf"\b{key}\b", low):
                self.dropped.add(key)
                return f"{key} is not accepted; the server's default applies"
        return ""


def _ask_for_object(body: dict[str, Any], request: Request, mode: Mode) -> None:
    schema = request.schema
    match mode:
        case Mode.SCHEMA | Mode.LOOSE_SCHEMA:
            sent = schema if mode is Mode.SCHEMA else without_lengths(schema)
            wanted = {"name": request.name, "schema": sent, "strict": fits_strict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        case Mode.OBJECT:
            body["response_format"] = {"type": "json_object"}
            _instruct(body, schema)
        case Mode.TOOL:
            function = {"name": request.name, "description": "Give the answer.", "parameters": schema}
            body["tools"] = [{"type": "function", "function": function}]
            body["tool_choice"] = {"type": "function", "function": {"name": request.name}}
        case Mode.TEXT:
            _instruct(body, schema)


def _instruct(body: dict[str, Any], schema: Mapping[str, Any]) -> None:
    text = INSTRUCTION + orjson.dumps(schema).decode()
    messages = body["messages"]
    last = messages[-1] if messages else {"role": "user", "content": ""}
    body["messages"] = [*messages[:-1], {**last, "content": f"{last['content']}\n\n{text}".lstrip()}]


def fits_strict(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema keeps the rules of OpenAI's ``strict``: every property required, no others allowed.

    >>> fits_strict({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False})
    True
    """
    left: list[Any] = [schema]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            properties = item.get("properties")
            if isinstance(properties, dict) and not (
                item.get("additionalProperties") is False and set(item.get("required", ())) == set(properties)
            ):
                return False
            item = item.values()
        left += [below for below in item if isinstance(below, _HOLDERS)]
    return True


def without_lengths(schema: Any) -> Any:
    """Return a schema without the lengths of its strings; properties that happen to be named so stay."""
    if isinstance(schema, Mapping):
        is_string = schema.get("type") == "string"
        return {k: without_lengths(v) for k, v in schema.items() if not (is_string and k in _LENGTHS)}
    return [without_lengths(below) for below in schema] if isinstance(schema, list | tuple) else schema
