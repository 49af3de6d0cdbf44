"""Parse responses of servers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from townsquare.core.files import clean
from townsquare.models import parse
from townsquare.models.contract import Outcome, Request
from townsquare.models.validate import schema_fault

KEPT = 20_000
"""Characters of a reply that are recorded."""
_NAME = 200
_REFUSAL = re.compile(
    r"\W*(?:(?:i['’]?m sorry|i am sorry|sorry|i apologi[sz]e)\b[^.!?]{0,40}?\b(?:can(?:no|['’])t|unable|not able)\b"
    r"|i (?:can(?:no|['’])t|won['’]t) (?:help|assist|comply|do that|participate|engage|create|provide|fulfil)"
    r"|i(?:['’]m| am) (?:unable|not able) to (?:help|assist|comply|do|create|provide|fulfil|engage)"
    r"|as an ai\b)",
    re.IGNORECASE,
)


class ParsedReply(NamedTuple):
    """A response, read."""

    outcome: Outcome
    value: Any
    text: str
    error: str
    reported: str = ""
    tokens_in: int = -1
    tokens_out: int = -1
    is_reply: bool = False
    is_call: bool = False  # of a function

    @property
    def may_ask_again(self) -> bool:
        """Whether the reply itself is at fault, so that the model may be told and answer once more."""
        return self.is_reply and self.outcome in (Outcome.INVALID, Outcome.TRUNCATED)


class BadEnvelope(ValueError):
    """The response is no chat completion: cut off on its way, or not from such a server."""


def read(body: bytes, request: Request) -> ParsedReply:
    """Read a response with status 200.

    Raises
    ------
    BadEnvelope
        It is no chat completion.
    """
    envelope = _envelope(body)
    choice = envelope["choices"][0]
    message = choice.get("message") or {}
    usage = _mapping(envelope.get("usage"))
    tokens_in, tokens_out = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    finish, refusal = choice.get("finish_reason"), message.get("refusal")
    reply = without_thinking(_text_of(message))
    is_call = bool(message.get("tool_calls"))
    text = clean(reply[:KEPT])
    if refusal:
        outcome, value, error = Outcome.REFUSED, None, "the model refused: " + clean(str(refusal))[:500]
    elif finish == "content_filter":
        outcome, value, error = Outcome.REFUSED, None, "the server's content filter blocked the reply"
    elif request.schema:
        outcome, value, error = _object(reply, request, finish == "length")
    else:
        outcome, value, error = _plain(reply, text, finish == "length")
    return ParsedReply(outcome, value, text, error, _reported(envelope), tokens_in, tokens_out, True, is_call)


def _envelope(body: bytes) -> dict[str, Any]:
    try:
        envelope = _loads(body)
    except (ValueError, RecursionError) as error:
        raise BadEnvelope(f"the response is no JSON: {error}") from error
    choices = envelope.get("choices") if isinstance(envelope, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise BadEnvelope(f"the response holds no choices: {error_text(body)[:200]}")
    if not isinstance(choices[0].get("message") or {}, dict):
        raise BadEnvelope("the response holds no message")
    return dict(envelope)


def _loads(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return json.loads(body)  # takes lone surrogates, which some servers let through


def _object(reply: str, request: Request, is_cut: bool) -> tuple[Outcome, Any, str]:
    values = parse.candidates(reply)
    faults = [(schema_fault(request.schema, value), value) for value in values]
    fitting = [value for fault, value in faults if not fault]
    if fitting and all(value == fitting[0] for value in fitting):
        return Outcome.OK, fitting[0], ""
    if is_cut:
        return Outcome.TRUNCATED, None, f"the reply was cut off at {request.max_tokens} tokens"
    if fitting:
        return Outcome.INVALID, None, "the reply contains several different objects; give one"
    if values:
        return Outcome.INVALID, None, faults[0][0]
    if _REFUSAL.match(reply):
        return Outcome.REFUSED, None, "the model refused"
    if len(reply) > parse.LONGEST:
        return Outcome.INVALID, None, f"the reply has over {parse.LONGEST} characters"
    return Outcome.INVALID, None, "the reply is no JSON object" if reply.strip() else "the reply is empty"


def _plain(reply: str, text: str, is_cut: bool) -> tuple[Outcome, Any, str]:
    if is_cut:
        return Outcome.TRUNCATED, None, "the reply was cut off at the longest length that was asked for"
    if not reply.strip():
        return Outcome.INVALID, None, "the reply is empty"
    if len(reply) > KEPT:
        return Outcome.INVALID, None, f"the reply has over {KEPT} characters"
    if len(reply) < 400 and _REFUSAL.match(reply):
        return Outcome.REFUSED, None, "the model refused"
    return Outcome.OK, text.strip(), ""


def _text_of(message: Mapping[str, Any]) -> str:
    """Return what was said: the arguments of a function where one was called, else the content, as text or in parts."""
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        arguments = _mapping(_mapping(calls[0]).get("function")).get("arguments")
        return arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(_mapping(part).get("text", "")) for part in content if _mapping(part).get("type") == "text")
    return content if isinstance(content, str) else ""


def _reported(envelope: Mapping[str, Any]) -> str:
    words = [envelope.get("model"), envelope.get("system_fingerprint")]
    return clean(" ".join(word for word in words if isinstance(word, str)))[:_NAME]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40 else -1


def failed(outcome: Outcome, error: str) -> ParsedReply:
    """Return a question that no reply came to."""
    return ParsedReply(outcome, None, "", error)


def error_text(body: bytes) -> str:
    """Return what an error response says, in one short line."""
    try:
        envelope = _loads(body)
    except (ValueError, RecursionError):
        envelope = None
    error = envelope.get("error", envelope.get("message", envelope)) if isinstance(envelope, dict) else None
    if isinstance(error, dict):
        parts = [error.get("message"), error.get("code"), error.get("param")]
        text = "; ".join(str(part) for part in parts if part)
    else:
        text = str(error) if error else body[:1000].decode("utf-8", "replace")
    return " ".join(clean(text).split())[:500]


# Thinking of reasoning models, removed from their text.


_TAGS = ("think", "thinking", "thought", "reasoning", "seed:think")
_BEGINS = re.compile(rf"\s*<({'|'.join(_TAGS)})>", re.IGNORECASE)
_ENDS = {tag: re.compile(rf"</{tag}>\s*", re.IGNORECASE) for tag in _TAGS}
_OPENS = {tag: re.compile(rf"<{tag}>", re.IGNORECASE) for tag in _TAGS}


def without_thinking(text: str) -> str:
    """Return the text after the thinking; "" if the thinking never ends.

    Only what leads the text is thinking: templates may open it in the prompt, so that only its end is seen. A tag later
    on, inside an answer, is part of the answer.

    >>> without_thinking("<think>They want a like.</think> {}"), without_thinking("They want ... </think>{}")
    ('{}', '{}')
    >>> without_thinking("<think>They want"), without_thinking('{"text": "use <think>x</think> tags"}')
    ('', '{"text": "use <think>x</think> tags"}')
    """
    at = 0
    while begins := _BEGINS.match(text, at):
        ends = _ENDS[begins[1].lower()].search(text, begins.end())
        if ends is None:
            return ""
        at = ends.end()
    return text[at:] if at else _after_unopened(text)


def _after_unopened(text: str) -> str:
    if "</" not in text or text.lstrip().startswith(("{", "[", "`")):
        return text
    for tag in _TAGS:
        ends = _ENDS[tag].search(text)
        if ends and not _OPENS[tag].search(text):
            return text[ends.end() :]
    return text
