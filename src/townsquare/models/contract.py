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
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


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
        What it is for: ``act``, ``fact_check``, ``distil``, ...; calls are counted by it.
    messages : tuple of Message
    schema : mapping
        JSON Schema of the object that is wanted, every list and string bounded; ``FREE_TEXT`` for plain text.
    name : str
        Name of the schema, as servers want one.
    temperature : float
        0 or more. At 0 an answer depends on the request alone; above 0, also on a seed of the call.
    max_tokens : int
        Longest answer.
    agent, step, turn : int
        Who asks, when, and which of its questions this is; -1 for no agent.
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
        """Return a question in one message of the user; a schema has the name of the purpose. Takes any other field.

        >>> Request.of("act", "Like or ignore?", {"enum": ["like", "ignore"]}, agent=3).name
        'act'
        """
        name = purpose if schema else "reply"
        return cls(purpose=purpose, messages=(Message("user", prompt),), schema=schema, name=name, **how)

    @property
    def content(self) -> dict[str, Any]:
        """Everything the server receives, in JSON-able values; nothing else may change an answer."""
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
        """Return which call this is: SHA-256 over content, model, set of servers and draw, 64 hexadecimal digits.

        Two servers never share an answer; the order in which they are named, and how many calls are under way, change
        nothing.
        """
        whole = {"request": self.content, "model": model, "servers": sorted(servers), "draw": self.draw(seed)}
        return hashlib.sha256(_canonical(whole).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one request.

    Attributes
    ----------
    outcome : Outcome
    value : object
        The checked JSON object, or the text where plain text was wanted; None unless ``outcome`` is ``OK``.
    text : str
        The reply without the model's reasoning; limited in length, untrusted.
    error : str
        What went wrong; "" if nothing did.
    identity : str
        Of the call (:meth:`Request.identity`).
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
    """One call as it is recorded when it ends, failures too. Token counts are -1 where the server gave none."""

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
    """Requests that were sent for it, the first one included; 0 where another request had paid for it."""


class CallStore(Protocol):
    """Storage of calls, in memory or in a database. Use from one thread at a time."""

    def get_all(self, identities: Sequence[str]) -> Mapping[str, Call]:
        """Return the recorded ones of these calls, by identity."""

    def put_all(self, calls: Sequence[Call]) -> None:
        """Record calls durably before returning. A recorded call is never replaced."""

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
    """A member of the family ``model`` at work: real servers, or one of the fakes that come with Townsquare.

    ``complete`` may be called thousands of times at once. It does not raise for what servers do: errors, timeouts,
    refusals and nonsense come back as outcomes. ``value`` must fit the request's schema where the outcome is ``OK``;
    the client checks it again.
    """

    @property
    def name(self) -> str:
        """The model as it is asked for, such as ``openai/gpt-4o-mini``."""

    @property
    def servers(self) -> tuple[str, ...]:
        """Base URLs, without keys; of a fake, its name."""

    async def complete(self, request: Request, draw: int | None) -> Answer:
        """Answer one request."""

    async def close(self) -> None:
        """Close connections."""


class Asker(Protocol):
    """The client as seen by stages of a run."""

    def ask(self, requests: Iterable[Request]) -> list[Reply]:
        """Return one reply a request, in their order, regardless of the order in which they came back.

        Requests of a generator may be combined in another thread, one after the other, while the caller waits.
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
