"""Requests to language models, their replies, and the record of each call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from townsquare.core.enums import CallOutcome
from townsquare.core.errors import SettingError
from townsquare.settings.base import FamilyMember

FREE_TEXT: Mapping[str, Any] = {}
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode


Outcome = CallOutcome
"""How a call ended. All but ``OK`` give no answer."""


def object_schema(**properties: Any) -> dict[str, Any]:
    """Return the JSON Schema of an object with these properties, all of them required, and no others.

    >>> object_schema(sure={"type": "boolean"})["required"]
    ['sure']
    """
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


class Message(NamedTuple):
    """One message of a conversation: ``role`` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Request:
    """One question to a language model.

    Attributes
    ----------
    purpose : str
        The purpose: ``react``, ``fact_check``, ``distil``, ...; calls are counted by purpose.
    messages : tuple of Message
        The conversation, with the question last.
    schema : mapping
        JSON Schema of the expected object, every list and string bounded; ``FREE_TEXT`` for plain text.
    name : str
        Name of the schema, which servers require.
    temperature : float
        0 or more. At 0, the call has no seed; above 0, its seed follows from seed, purpose, agent, step and turn.
    max_tokens : int
        Maximum length of the answer.
    agent, step, turn : int
        The agent that asks (-1 for none), the step, and the number of the question of this agent and step.
    """

    purpose: str
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] = field(default_factory=lambda: FREE_TEXT)
    name: str = "reply"
    temperature: float = 0.0
    max_tokens: int = 512
    agent: int = -1
    step: int = 0
    turn: int = 0

    @classmethod
    def of(cls, purpose: str, prompt: str, schema: Mapping[str, Any] = FREE_TEXT, **how: Any) -> Request:
        """Return a request with one message of the user; ``how`` sets other fields. A schema gets the purpose as name.

        >>> Request.of("act", "Like or ignore?", {"enum": ["like", "ignore"]}, agent=3).name
        'act'
        """
        name = purpose if schema else "reply"
        return cls(purpose=purpose, messages=(Message("user", prompt),), schema=schema, name=name, **how)

    @property
    def content(self) -> dict[str, Any]:
        """Everything that the server receives besides the seed, as values for JSON."""
        messages, schema = [message._asdict() for message in self.messages], dict(self.schema)
        limits = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return {"messages": messages, "schema": schema, "name": self.name, **limits}

    def draw(self, seed: int) -> int | None:
        """Return the 31-bit draw of a sampled call from (seed, purpose, agent, step, turn); None at temperature 0.

        >>> asked = Request(purpose="act", messages=(), temperature=1.0, agent=3, step=2)
        >>> asked.draw(7) == asked.draw(7), asked.draw(7) == asked.draw(8)
        (True, False)
        """
        if self.temperature <= 0:
            return None
        text = f"{seed}/{self.purpose}/{self.agent}/{self.step}/{self.turn}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1

    def identity(self, model: str, servers: Sequence[str], seed: int) -> str:
        """Return the identity of the call: SHA-256 (hexadecimal) of content, model, set of servers and draw."""
        whole = {"request": self.content, "model": model, "servers": sorted(servers), "draw": self.draw(seed)}
        return hashlib.sha256(_canonical(whole).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to one request.

    Attributes
    ----------
    outcome : Outcome
        How the call ended; all values but ``OK`` mean that there is no answer.
    value : object
        The checked JSON object, or the text if the request has no schema; None unless ``outcome`` is ``OK``.
    text : str
        The reply without the model's reasoning; limited in length, untrusted.
    error : str
        The error; "" for none.
    identity : str
        The identity of the call (:meth:`Request.identity`).
    """

    outcome: Outcome
    value: Any
    text: str
    error: str
    identity: str

    @property
    def ok(self) -> bool:
        """Whether there is an answer to use."""
        return self.outcome is Outcome.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call, recorded when it ends, also if it fails. Token counts are -1 if the server gave none."""

    identity: str
    purpose: str
    agent: int
    step: int
    turn: int
    request: str  # JSON of Request.content
    outcome: Outcome
    text: str
    value: str  # JSON of what was checked; "" unless OK
    error: str
    model: str  # as asked for
    reported: str  # as the server named it
    server: str
    tokens_in: int
    tokens_out: int
    seconds: float
    tries: int
    """Number of requests sent for the call, retries included; 0 if an equal earlier request sent them."""


class CallStore(Protocol):
    """Storage of calls, in memory or in a database. Use from one thread at a time."""

    def get_all(self, identities: Sequence[str]) -> Mapping[str, Call]:
        """Return those of these calls that are recorded, by identity."""

    def put_all(self, calls: Sequence[Call]) -> None:
        """Record calls on disk before returning. A recorded call is never replaced."""

    def close(self) -> None:
        """Close the store."""


class Answer(NamedTuple):
    """What a model member gives for one request, before it is recorded; as in :class:`Call`."""

    outcome: Outcome
    value: Any
    text: str
    error: str
    reported: str
    server: str
    tokens_in: int
    tokens_out: int
    tries: int


class ChatModel(Protocol):
    """A language model, from the family ``model``: real servers, or one of the fakes that come with Townsquare.

    ``complete`` may be called thousands of times at once. It does not raise errors of servers: errors, timeouts,
    refusals and invalid replies are outcomes. If the outcome is ``OK``, ``value`` must fit the schema of the request;
    the client checks this.
    """

    @property
    def name(self) -> str:
        """The name of the model in requests, such as ``openai/gpt-4o-mini``."""

    @property
    def servers(self) -> tuple[str, ...]:
        """Base URLs, without keys; of a fake, its name."""

    async def complete(self, request: Request, draw: int | None) -> Answer:
        """Answer one request."""

    async def close(self) -> None:
        """Close connections."""


class Asker(Protocol):
    """The client that members use to ask a language model."""

    def ask(self, requests: Iterable[Request]) -> list[Reply]:
        """Return one reply per request, in the order of the requests.

        If ``requests`` is a generator, it may run in another thread while the caller waits.
        """


# Members of any family that call a language model get the client before the run begins.


@dataclass(frozen=True, slots=True)
class AskingMember(FamilyMember):
    """A member of a family that may ask a language model.

    Attributes
    ----------
    name : str
        As in the registry.
    params : type of MemberParams
        Its settings, in its own file.
    bind : callable, optional
        ``bind(asker)`` gives the same member with a language model to ask; it works only then.
    asks : callable, optional
        ``asks(params)``: whether it asks one under these settings; always, where ``bind`` is there and this is not.
    """

    bind: Callable[[Asker], Any] | None = field(default=None, kw_only=True)
    asks: Callable[[Any], bool] | None = field(default=None, kw_only=True)


Member = TypeVar("Member")


def bound(member: Member, asker: Asker) -> Member:
    """Return the member bound to a client if it has ``bind``, else the member itself."""
    bind: Callable[[Asker], Any] | None = getattr(member, "bind", None)
    return member if bind is None else bind(asker)


def needed(asker: Asker | None) -> Asker:
    """Return the client; refuse None.

    Raises
    ------
    SettingError
        There is none.
    """
    if asker is None:
        raise SettingError("model", got="none", do="choose one: `--set model=ollama/llama3.2`, or `model=fake` to try")
    return asker


def member_asks(member: Any, params: Any) -> bool:
    """Return whether a member calls a language model under its settings.

    >>> member_asks(object(), None)
    False
    """
    if getattr(member, "bind", None) is None:
        return False
    wants: Callable[[Any], bool] | None = getattr(member, "asks", None)
    return wants is None or wants(params)
