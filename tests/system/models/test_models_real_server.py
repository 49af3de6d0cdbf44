"""A real server, and OpenAI's own client as the other side of the wire format."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from chat_requests import SCHEMA, client, question, questions
from townsquare.models.capabilities import Capabilities, Mode
from townsquare.models.contract import Message, Outcome
from townsquare.models.open import open_model
from townsquare.models.providers import ServedModel
from townsquare.models.store import MemoryCalls
from townsquare.models.validate import schema_fault
from townsquare.settings.config import Model, Serving
from townsquare.testing.chat_server import Behavior, ChatServer
from townsquare.testing.model_conformance import check_model

openai = pytest.importorskip("openai", reason="needs openai: `uv pip install openai`, or the group `dev`")
MESSAGES = [{"role": "user", "content": "Here is your feed."}]
# llama.cpp keeps to a schema but for the bounds of fractional numbers, and a random model would overstep them.
WHOLE = {**SCHEMA, "properties": {**SCHEMA["properties"], "stance": {"type": "integer", "minimum": -1, "maximum": 1}}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": WHOLE}}


# --- our client against a real server ----------------------------------------------------------------------


def test_a_real_server_keeps_the_contract(model_server: str) -> None:
    model = open_model(Model(name="server/tiny", base_url=(model_server,)), Serving(concurrency=8))
    answers = check_model(model)
    outcomes = Counter(answer.outcome for answer in answers)
    assert outcomes[Outcome.OK] >= 12
    assert all(answer.tokens_in > 0 and answer.tokens_out > 0 for answer in answers)
    assert isinstance(model, ServedModel)
    assert model.backend.endpoints.all[0].capabilities.mode is Mode.SCHEMA


def test_objects_from_a_real_server_fit_and_a_draw_gives_the_same_text_at_any_concurrency(model_server: str) -> None:
    found = []
    for at_once in (1, 8):
        with client("server/tiny", MemoryCalls(), model_server, concurrency=at_once) as opened:
            replies = opened.ask(questions(24, schema=WHOLE))
            assert all(reply.ok for reply in replies), [reply.error for reply in replies if not reply.ok]
            assert opened.usage.requests == 24
            found.append([reply.text for reply in replies])
    assert found[0] == found[1]
    assert len(set(found[0])) > 10


@pytest.mark.parametrize("mode", list(Mode))
def test_every_rung_works_with_a_real_server(model_server: str, mode: Mode) -> None:
    """Random weights obey no prompt, so that other answers are mostly failures, each of them with its reason."""
    model = open_model(Model(name="server/tiny", base_url=(model_server,)), Serving(concurrency=8))
    assert isinstance(model, ServedModel)
    model.backend.endpoints.all[0].capabilities = Capabilities(mode)
    for answer in check_model(model, [question(i, schema=WHOLE, max_tokens=300) for i in range(4)]):
        assert answer.outcome in (Outcome.OK, Outcome.INVALID, Outcome.TRUNCATED)
        if mode is Mode.SCHEMA:
            assert answer.outcome is Outcome.OK, answer.error


def test_a_prompt_that_is_too_long_for_a_real_server_is_a_cut_context(model_server: str) -> None:
    asked = question(1, messages=(Message("user", "the tax " * 20_000),))
    with client("server/tiny", MemoryCalls(), model_server) as opened:
        (reply,) = opened.ask([asked])
        assert reply.outcome is Outcome.TRUNCATED
        assert "longer than the server takes" in reply.error
        assert opened.taken()[0].tries == 1


# --- OpenAI's client against our server, and against the real one ------------------------------------------


def complete(url: str, **given: Any) -> Any:
    with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        return client.chat.completions.create(model="m", messages=MESSAGES, **given)


def test_openais_client_reads_our_server() -> None:
    with ChatServer() as server:
        plain = complete(server.url, max_tokens=40)
        assert plain.choices[0].message.content
        assert plain.usage.total_tokens == plain.usage.prompt_tokens + plain.usage.completion_tokens
        shaped = complete(server.url, response_format=FORMAT, seed=3)
        assert schema_fault(WHOLE, _loads(shaped.choices[0].message.content)) == ""
        assert complete(server.url, response_format=FORMAT, seed=3).choices[0].message == shaped.choices[0].message
        tool = {"type": "function", "function": {"name": "reply", "parameters": WHOLE}}
        called = (
            complete(server.url, tools=[tool], tool_choice={"type": "function", "function": {"name": "reply"}})
            .choices[0]
            .message.tool_calls[0]
        )
        assert schema_fault(WHOLE, _loads(called.function.arguments)) == ""
        with openai.OpenAI(base_url=server.url, api_key="none") as client:
            assert [model.id for model in client.models.list()] == ["any"]


@pytest.mark.parametrize(
    ("behavior", "error"),
    [
        (Behavior(key="right"), openai.AuthenticationError),
        (Behavior(models=("other",)), openai.NotFoundError),
        (Behavior(formats=frozenset()), openai.BadRequestError),
    ],
)
def test_openais_client_knows_the_errors_of_our_server(behavior: Behavior, error: type[Exception]) -> None:
    with ChatServer(behavior) as server, pytest.raises(error):
        complete(server.url, response_format=FORMAT)


def test_openais_client_and_ours_send_the_same_request() -> None:
    """What each puts into the body, for the same question, is the same but for the order of keys."""
    asked = question(1, schema=WHOLE, messages=(Message("user", MESSAGES[0]["content"]),))
    with ChatServer() as server:
        with client("server/m", None, server.url) as opened:
            (reply,) = opened.ask([asked])
        ours = server.seen.last
        given = {"max_tokens": asked.max_tokens, "temperature": 1.0, "seed": asked.draw(1), "response_format": FORMAT}
        theirs = complete(server.url, **given)
        assert server.seen.last == ours
    assert _loads(theirs.choices[0].message.content) == reply.value


def test_openais_client_and_ours_get_the_same_answer_from_a_real_server(model_server: str) -> None:
    asked = question(1, schema=WHOLE, messages=(Message("user", MESSAGES[0]["content"]),))
    with client("server/m", MemoryCalls(), model_server) as opened:
        (reply,) = opened.ask([asked])
    given = {"max_tokens": asked.max_tokens, "temperature": 1.0, "seed": asked.draw(1), "response_format": FORMAT}
    assert complete(model_server, **given).choices[0].message.content == reply.text


def test_what_our_client_leaves_open_is_closed_with_ours(model_server: str) -> None:
    model = open_model(Model(name="server/tiny", base_url=(model_server,)), Serving())

    async def ask_and_close() -> int:
        await asyncio.gather(*(model.complete(question(i), i) for i in range(4)))
        await model.close()
        return len(asyncio.all_tasks())

    assert asyncio.run(ask_and_close()) == 1


def _loads(text: str) -> Any:
    import json

    return json.loads(text)
