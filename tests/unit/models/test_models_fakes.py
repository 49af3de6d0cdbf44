"""The models that come with Townsquare: what they answer, and that every member keeps the contract."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_requests import SCHEMA, client, question, questions
from raised_errors import raises_error
from townsquare.core import registry
from townsquare.core.errors import ContractError, SettingError
from townsquare.models.contract import Answer, Outcome, Request
from townsquare.models.fake import FakeModel, made
from townsquare.models.faulty import KINDS, fault_of
from townsquare.models.member import ModelMember, split
from townsquare.models.open import open_model
from townsquare.models.validate import schema_fault
from townsquare.settings.config import Model, Serving
from townsquare.testing.chat_server import ChatServer
from townsquare.testing.model_conformance import check_model

REST = {"faulty": "0.4", "recorded": "fake"}
OFFLINE = [name for name in registry.bundled("model") if not registry.get("model", name).network]


def opened(name: str, *urls: str, **serving: Any) -> Any:
    return open_model(Model(name=name, base_url=urls), Serving(**serving))


@pytest.mark.parametrize("name", [name for name in OFFLINE if name != "recorded"])
def test_members_without_a_network_keep_the_contract(name: str) -> None:
    whole = f"{name}/{REST[name]}" if name in REST else name
    member, rest = split(whole)
    assert member.servers(rest, Model(name=whole)) == opened(whole).servers
    check_model(opened(whole), is_function=True)


@pytest.mark.parametrize("name", [name for name in registry.bundled("model") if name not in OFFLINE])
def test_members_that_ask_servers_keep_the_contract(name: str) -> None:
    with ChatServer() as server:
        assert registry.get("model", name).network
        answers = check_model(opened(f"{name}/any", server.url), is_function=True)
        assert all(answer.outcome is Outcome.OK and answer.server == server.url for answer in answers)
        assert {answer.reported for answer in answers} == {"any fp_townsquare"}


def test_every_registered_member_is_a_member() -> None:
    for name in registry.names("model"):
        member = registry.get("model", name)
        assert isinstance(member, ModelMember)
        assert member.name == name


ECHO = """
from townsquare.models.contract import Answer, Outcome
from townsquare.models.member import ModelMember


class Echo:
    def __init__(self, name):
        self.name, self.servers = name, ("echo",)

    async def complete(self, request, draw):
        if request.schema:
            return Answer(Outcome.REFUSED, None, "", "an echo makes no objects", "echo", "echo", -1, -1, 1)
        said = request.messages[-1].content
        return Answer(Outcome.OK, said, said, "", "echo", "echo", -1, -1, 1)

    async def close(self):
        pass


MODEL = ModelMember("echo", lambda rest, model: ("echo",), lambda rest, model, serving: Echo("echo"), network=False)
"""


def test_a_member_of_your_own_is_a_file_and_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "echo_model.py").write_text(ECHO, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    registry.register("model", "echo", "echo_model:MODEL")
    check_model(opened("echo"), is_function=True)
    with client("echo") as through:
        plain, shaped = through.ask([question(1, schema={}), question(1)])
    assert plain.value == "Here is your feed, number 1."
    assert shaped.outcome is Outcome.REFUSED


class Broken(FakeModel):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def complete(self, request: Request, draw: int | None) -> Answer:
        if isinstance(self.answer, Exception):
            raise self.answer
        good = await super().complete(request, draw)
        return good._replace(**self.answer)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ConnectionError("cut"), {"got": "ConnectionError"}),
        ({"value": 3}, {"allowed": "fits the schema|text for none"}),
        ({"outcome": Outcome.REFUSED}, {"allowed": "no value"}),
        ({"outcome": Outcome.REFUSED, "value": None}, {"allowed": "what went wrong"}),
        ({"error": "something"}, {"allowed": "no error with OK"}),
        ({"text": "a\x00b"}, {"got": "control characters"}),
        ({"tries": 0}, {"allowed": "counts"}),
    ],
)
def test_the_check_catches_models_that_break_it(answer: Any, said: dict[str, str]) -> None:
    with raises_error(ContractError, **said):
        check_model(Broken(answer))


def test_the_check_catches_answers_that_depend_on_order() -> None:
    class Counting(FakeModel):
        count = 0

        async def complete(self, request: Request, draw: int | None) -> Answer:
            self.count += 1
            return await super().complete(request, self.count)

    check_model(Counting())
    with raises_error(ContractError, got="another order"):
        check_model(Counting(), is_function=True)


# --- fake --------------------------------------------------------------------------------------------------

leaves = st.sampled_from(
    [
        {"type": "boolean"},
        {"type": "null"},
        {"enum": ["a", "b", 3]},
        {"const": "x"},
        {"type": "string", "maxLength": 12},
        {"type": "string", "minLength": 30, "maxLength": 31},
        {"type": "integer", "minimum": -3, "maximum": 4},
        {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 2},
        {"type": "integer", "multipleOf": 5, "minimum": 1, "maximum": 23},
        {"type": "number", "minimum": -1, "maximum": 1},
        {"type": "number", "exclusiveMinimum": 0, "maximum": 1e-9},
        {"type": ["string", "null"], "maxLength": 5},
        {"$ref": "#/$defs/one"},
    ]
)


def _wrapped(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    arrays = st.builds(
        lambda item, low, more: {"type": "array", "items": item, "minItems": low, "maxItems": low + more},
        inner,
        st.integers(0, 2),
        st.integers(0, 4),
    )
    objects = st.builds(
        lambda parts, required: {
            "type": "object",
            "properties": parts,
            "required": sorted(parts)[:required],
            "additionalProperties": False,
        },
        st.dictionaries(st.sampled_from("pqrs"), inner, max_size=3),
        st.integers(0, 3),
    )
    unions = st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=3))
    return arrays | objects | unions


@given(schema=st.recursive(leaves, _wrapped, max_leaves=6), number=st.integers(0, 1000))
@settings(max_examples=150, deadline=None)
def test_the_fake_builds_what_a_schema_asks_for(schema: dict[str, Any], number: int) -> None:
    whole = {**schema, "$defs": {"one": {"type": "integer", "minimum": 1, "maximum": 1}}}
    asked = question(number, schema=whole)
    value = made(asked, number)
    assert schema_fault(whole, value) == "", value
    assert value == made(asked, number)


def test_the_fake_spreads_its_choices_evenly_and_writes_words() -> None:
    counts: Counter[str] = Counter()
    lengths = set()
    for i in range(600):
        value = made(question(i, schema={**SCHEMA, "minItems": 1}), i)
        counts.update(row["action"] for row in value["reactions"])
        lengths.add(len(value["reactions"]))
        assert all(row["text"].isprintable() and len(row["text"]) <= 30 for row in value["reactions"])
    assert lengths == {0, 1, 2, 3}
    total = counts.total()
    assert all(abs(count / total - 1 / 3) < 0.06 for count in counts.values()), counts
    assert made(question(1), 1) != made(question(1), 2)


def test_the_fake_owns_up_to_what_it_cannot_make() -> None:
    asked = question(1, schema={"type": "string", "pattern": "^[0-9]{7}$"})
    answer = asyncio.run(FakeModel().complete(asked, 1))
    assert answer.outcome is Outcome.INVALID
    assert "cannot make" in answer.error
    for wrong in ("fake/x", "faulty", "faulty/", "faulty/2", "faulty/nan", "faulty/-0.1"):
        with raises_error(SettingError, allowed="."):
            opened(wrong)


def test_recursive_schemas_end() -> None:
    node = {
        "type": "object",
        "properties": {
            "name": {"enum": ["n"]},
            "below": {"type": "array", "maxItems": 2, "items": {"$ref": "#/$defs/node"}},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    whole = {"$ref": "#/$defs/node", "$defs": {"node": node}}
    assert all(schema_fault(whole, made(question(i, schema=whole), i)) == "" for i in range(50))


# --- faulty ------------------------------------------------------------------------------------------------


def test_faults_come_at_the_rate_in_every_kind_and_a_higher_rate_only_adds() -> None:
    asked = questions(1500)
    low = {i for i, request in enumerate(asked) if fault_of(request, 1, 0, 0.1)}
    kinds = Counter(fault_of(request, 1, 0, 0.3) for request in asked)
    assert abs(len(low) / 1500 - 0.1) < 0.03
    assert abs((1500 - kinds.pop("")) / 1500 - 0.3) < 0.05
    assert set(kinds) == set(KINDS)
    assert low <= {i for i, request in enumerate(asked) if fault_of(request, 1, 0, 0.3)}
    assert any(fault_of(asked[i], 1, 1, 0.1) == "" for i in low)


def test_most_faults_pass_at_a_second_try_and_the_rest_say_what_they_were() -> None:
    with client("faulty/0.3") as faulty, client("fake") as fake:
        expected = fake.ask(questions(600))
        replies = faulty.ask(questions(600))
        calls = faulty.taken()
    failed = [reply for reply in replies if not reply.ok]
    assert 0.02 < len(failed) / 600 < 0.2
    assert {reply.outcome for reply in failed} >= {Outcome.REFUSED, Outcome.INVALID}
    assert all(reply.error and reply.value is None for reply in failed)
    assert all(one.value == two.value for one, two in zip(replies, expected, strict=True) if one.ok)
    assert sum(call.tries > 1 for call in calls) > 600 * 0.2
    assert max(call.tries for call in calls) <= Serving().tries
    with client("faulty/1", tries=3) as hopeless:
        replies = hopeless.ask(questions(100))
        assert not any(reply.ok for reply in replies)
        assert {call.tries for call in hopeless.taken()} <= {1, 2, 3}
        assert {reply.outcome for reply in replies} >= {
            Outcome.TIMEOUT,
            Outcome.ERROR,
            Outcome.REFUSED,
            Outcome.INVALID,
        }


def test_orders_in_a_reply_reach_nothing() -> None:
    with client("faulty/1") as through:
        for reply in through.ask(questions(200)):
            assert reply.value is None
