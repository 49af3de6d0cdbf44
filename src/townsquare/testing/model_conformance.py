"""Conformance check of language models, for anyone's model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from townsquare.core.errors import ContractError
from townsquare.core.files import clean
from townsquare.models.contract import Answer, ChatModel, Message, Outcome, Request, object_schema
from townsquare.models.validate import schema_fault

SEED = 1
MOST_TEXT = 20_000
_REACTION = object_schema(
    post={"type": "integer", "minimum": 1, "maximum": 4},
    action={"enum": ["like", "share", "ignore"]},
    text={"anyOf": [{"type": "string", "maxLength": 40}, {"type": "null"}]},
)
SCHEMAS: tuple[Mapping[str, Any], ...] = (
    {},
    object_schema(verdict={"enum": ["true", "false", "unverified"]}, sure={"type": "boolean"}),
    object_schema(reactions={"type": "array", "maxItems": 3, "items": _REACTION}),
)


def requests(count: int = 24) -> list[Request]:
    """Return questions of every kind: plain text and objects, sampled and not."""
    return [
        Request(
            purpose="conformance", schema=SCHEMAS[i % len(SCHEMAS)], temperature=0.0 if i % 2 else 1.0,
            messages=(Message("system", "You take part in a test."), Message("user", f"Question {i}: what now?")),
            max_tokens=200, agent=i, step=1,
        )
        for i in range(count)
    ]  # fmt: skip


def check_model(model: ChatModel, asked: Sequence[Request] | None = None, *, is_function: bool = False) -> list[Answer]:
    """Raise if a language model breaks its contract; closes it.

    Checked: it has a name and servers; many requests at once are all answered, none by an exception; a value is there
    if and only if the outcome is OK, and then fits the schema, or is text; a failure says what went wrong; texts are
    bounded and hold no control characters; counts are in range.

    Parameters
    ----------
    model : ChatModel
        Opened, not yet asked.
    asked : sequence of Request, optional
        Instead of :func:`requests`.
    is_function : bool
        Check also that answers are a function of the request: the same one by one, in another order.

    Returns
    -------
    list of Answer
        In the order of the requests.

    Raises
    ------
    ContractError
        For the first thing that broke.
    """
    return asyncio.run(_check(model, list(asked or requests()), is_function))


async def _check(model: ChatModel, asked: list[Request], is_function: bool) -> list[Answer]:
    name = model.name
    if not name or not model.servers or not all(isinstance(server, str) for server in model.servers):
        got, allowed = f"servers {model.servers!r}", "a name and a tuple of servers"
        raise ContractError(f"model {name!r}", got=got, allowed=allowed)
    try:
        calls = (model.complete(request, request.draw(SEED)) for request in asked)
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        answers = [_check_answer(name, request, answer) for request, answer in zip(asked, outcomes, strict=True)]
        if is_function:
            again = [await model.complete(request, request.draw(SEED)) for request in reversed(asked)]
            if [answer[:4] for answer in reversed(again)] != [answer[:4] for answer in answers]:
                raise ContractError(f"model {name}", got="other answers, or another order", allowed="the same ones")
    finally:
        await model.close()
        await model.close()
    return answers


def _check_answer(name: str, request: Request, answer: object) -> Answer:
    def broken(got: str, allowed: str) -> ContractError:
        return ContractError(f"model {name}, {request.messages[-1].content!r}", got=got, allowed=allowed)

    if isinstance(answer, BaseException):
        raise broken(f"{type(answer).__name__}: {answer}", "an outcome, whatever servers do") from answer
    if not isinstance(answer, Answer) or not isinstance(answer.outcome, Outcome):
        raise broken(repr(answer)[:200], "an Answer with an Outcome")
    if answer.outcome is Outcome.OK:
        fault = schema_fault(request.schema, answer.value) if request.schema else ""
        if fault or not (request.schema or isinstance(answer.value, str)):
            raise broken(fault or type(answer.value).__name__, "a value that fits the schema, or text for none")
        if answer.error:
            raise broken(f"the error {answer.error!r}", "no error with OK")
    elif answer.value is not None or not answer.error:
        raise broken(f"{answer.outcome.name} with {answer.value!r}, {answer.error!r}", "no value, and what went wrong")
    if len(answer.text) > MOST_TEXT or clean(answer.text) != answer.text:
        raise broken("a text that is too long or holds control characters", f"clean text of {MOST_TEXT} at most")
    if answer.tries < 1 or min(answer.tokens_in, answer.tokens_out) < -1:
        raise broken(f"tries {answer.tries}, tokens {answer.tokens_in} {answer.tokens_out}", "counts; tokens may be -1")
    return answer
