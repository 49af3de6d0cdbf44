"""The client: replies in order whatever order they come in, each call recorded and asked once, nothing lost."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, replace

import pytest

from chat_requests import SCHEMA, client, question, questions
from raised_errors import raises_error
from townsquare.core.errors import ModelError, NotRecorded, SettingError
from townsquare.models.client import ModelClient
from townsquare.models.contract import Answer, Call, Message, Outcome, Request
from townsquare.models.fake import FakeModel
from townsquare.models.store import Layered, MemoryCalls
from townsquare.models.usage import Price, Prices
from townsquare.testing.chat_server import Behavior, ChatServer


class Scripted:
    """A model that counts what it is asked and may be told to wait, to err or to answer outside of its schema."""

    name, servers = "scripted", ("here",)

    def __init__(self, waits: float = 0.0, error: Exception | None = None, value: object = None) -> None:
        self.asked: Counter[int] = Counter()
        self.waits, self.error, self.value = waits, error, value
        self.closed = 0
        self.under_way = self.peak = 0

    async def complete(self, request: Request, draw: int | None) -> Answer:
        self.asked[request.agent] += 1
        self.under_way += 1
        self.peak = max(self.peak, self.under_way)
        await asyncio.sleep(self.waits * (request.agent % 7))
        self.under_way -= 1
        if self.error is not None and request.agent == 3:
            raise self.error
        value = f"reply {request.agent}" if self.value is None else self.value
        return Answer(Outcome.OK, value, str(value), "", "scripted-1", "here", 10, 2, 1)

    async def close(self) -> None:
        self.closed += 1


def without_time(calls: list[Call]) -> list[tuple[object, ...]]:
    return [astuple(replace(call, seconds=0.0)) for call in calls]


def test_replies_stand_in_the_order_of_requests() -> None:
    model = Scripted(waits=0.002)
    asked = questions(40, schema={})
    with ModelClient(model, MemoryCalls(), 1, concurrency=16) as opened:
        replies = opened.ask(asked)
        assert [reply.value for reply in replies] == [f"reply {i}" for i in range(40)]
        assert [call.agent for call in opened.taken()] == list(range(40))
        assert opened.taken() == []
    assert model.peak == 16
    assert model.closed == 1


def test_equal_requests_of_a_batch_are_asked_once() -> None:
    model = Scripted()
    asked = [question(1, schema={}), question(2, schema={}), question(1, schema={})]
    with ModelClient(model, MemoryCalls(), 1, concurrency=8) as opened:
        replies = opened.ask(asked)
        first, _, third = opened.taken()
    assert replies[0] == replies[2]
    assert model.asked == {1: 1, 2: 1}
    assert (first.tries, third.tries, third.seconds) == (1, 0, 0.0)
    assert (opened.usage.calls, opened.usage.cached) == (2, 1)


def test_at_temperature_0_agents_share_an_answer_and_each_has_a_row_of_its_own() -> None:
    model = Scripted()
    messages = (Message("user", "Is it true?"),)
    asked = [question(i, schema={}, messages=messages, temperature=0.0, turn=i) for i in range(3)]
    with ModelClient(model, MemoryCalls(), 1, concurrency=8) as opened:
        opened.ask(asked)
        assert [(call.agent, call.turn, call.tries) for call in opened.taken()] == [(0, 0, 1), (1, 1, 0), (2, 2, 0)]
    assert model.asked == {0: 1}


def test_a_recorded_call_is_never_asked_again_and_leaves_the_same_rows() -> None:
    store = MemoryCalls()
    asked = questions(60) + questions(3)
    with client("faulty/0.5", store) as first:
        replies = first.ask(asked)
        rows = first.taken()
    assert any(not reply.ok for reply in replies)
    model = Scripted(error=AssertionError("asked again"))
    model.name, model.servers = first.model.name, first.model.servers
    with ModelClient(model, store, 1, concurrency=8) as second:
        assert second.ask(asked) == replies
        assert second.taken() == rows
        assert (second.usage.calls, second.usage.cached) == (0, 63)
    assert not model.asked


def test_seed_model_and_servers_are_part_of_a_call() -> None:
    store = MemoryCalls()
    for name, servers, seed in [("a", ("x",), 1), ("b", ("x",), 1), ("a", ("y",), 1), ("a", ("x",), 2)]:
        model = Scripted()
        model.name, model.servers = name, servers
        with ModelClient(model, store, seed, concurrency=1) as opened:
            opened.ask([question(1, schema={})])
        assert model.asked == {1: 1}
    assert len(store) == 4


@pytest.mark.parametrize("name", ["fake", "faulty/0.3"])
def test_one_result_at_concurrency_1_and_256(name: str) -> None:
    asked = questions(300)
    found = []
    for at_once in (1, 256):
        with client(name, concurrency=at_once) as opened:
            found.append((opened.ask(asked), without_time(opened.taken())))
    assert found[0] == found[1]


def test_one_result_at_concurrency_1_and_256_with_replies_in_shuffled_order() -> None:
    asked = questions(150)
    found = []
    with ChatServer(Behavior(latency=0.01, spread=0.01)) as server:
        for at_once in (1, 256):
            ended: list[Call] = []
            with client("server/m", None, server.url, on_call=ended.append, concurrency=at_once) as opened:
                found.append((opened.ask(asked), without_time(opened.taken())))
            assert ([call.agent for call in ended] == list(range(150))) == (at_once == 1)
        assert server.seen.peak > 8
    assert found[0] == found[1]
    with client("fake") as opened:
        assert [reply.value for reply in opened.ask(asked)] == [reply.value for reply in found[0][0]]


def test_values_are_checked_whatever_a_model_says() -> None:
    with ModelClient(Scripted(value={"reactions": []}), MemoryCalls(), 1, concurrency=1) as opened:
        (reply,) = opened.ask([question(0)])
    assert reply.outcome is Outcome.INVALID
    assert "stance" in reply.error
    assert reply.value is None
    with ModelClient(Scripted(value=[1]), MemoryCalls(), 1, concurrency=1) as opened:
        assert opened.ask([question(0, schema={})])[0].outcome is Outcome.INVALID


def test_an_error_of_a_model_stops_the_batch_and_what_ended_is_kept() -> None:
    store = MemoryCalls()
    model = Scripted(waits=0.01, error=RuntimeError("broken"))
    with ModelClient(model, store, 1, concurrency=4) as opened:
        with pytest.raises(RuntimeError, match="broken"):
            opened.ask(questions(50, schema={}))
        assert 0 < len(store) < 49
        kept = {call.agent for call in store}
        model.error = None
        opened.ask(questions(50, schema={}))
    assert all(model.asked[agent] == 1 for agent in kept)
    assert len(store) == 50


def test_a_store_that_cannot_write_stops_the_batch() -> None:
    class Full(MemoryCalls):
        def put_all(self, calls: Sequence[Call]) -> None:
            raise ModelError("calls.db", got="no space left")

    with ModelClient(Scripted(), Full(), 1, concurrency=4) as opened, raises_error(ModelError, got="no space left"):
        opened.ask(questions(5, schema={}))


def test_ctrl_c_keeps_what_ended_and_the_client_goes_on() -> None:
    store = MemoryCalls()
    model = Scripted(waits=0.15)
    ended: list[Call] = []

    def interrupt(call: Call) -> None:
        ended.append(call)
        if len(ended) == 5:
            os.kill(os.getpid(), signal.SIGINT)

    with ModelClient(model, store, 1, concurrency=100, on_call=interrupt) as opened:
        with pytest.raises(KeyboardInterrupt):
            opened.ask(questions(100, schema={}))
        kept = {call.agent for call in store}
        assert 0 < len(kept) < 100
        replies = opened.ask(questions(100, schema={}))
    assert all(reply.ok for reply in replies)
    assert all(model.asked[agent] == 1 for agent in kept)


def test_what_is_done_meanwhile_can_end_the_wait() -> None:
    store, told = MemoryCalls(), list[int]()

    def meanwhile() -> None:
        told.append(threading.get_ident())
        if len(told) == 2:
            raise RuntimeError("no more")

    with ModelClient(Scripted(waits=0.3), store, 1, concurrency=100) as opened:
        opened.meanwhile = meanwhile
        with pytest.raises(RuntimeError, match="no more"):
            opened.ask(questions(100, schema={}))
        assert told == [threading.get_ident()] * 2
        kept = len(list(store))
        assert 0 < kept < 100
        assert len(opened.ask(questions(100, schema={}))) == 100, "it goes on with what ended"


def test_usage_counts_money_tokens_and_failures() -> None:
    prices = Prices(date="2026-01", models={"fake": Price(tokens_in=1.0, tokens_out=10.0)})
    with ModelClient(FakeModel(), MemoryCalls(), 1, concurrency=4, prices=prices) as opened:
        opened.ask(questions(10))
        usage, calls = opened.usage, opened.taken()
    assert usage.tokens_in == sum(call.tokens_in for call in calls) > 0
    assert usage.usd == pytest.approx((usage.tokens_in + 10 * usage.tokens_out) / 1e6)
    assert (usage.calls, usage.requests, usage.unpriced, usage.failures) == (10, 10, 0, {})
    with client("faulty/1") as opened:
        opened.ask(questions(20))
    assert sum(opened.usage.failures.values()) == 20
    assert opened.usage.requests > 20


def test_without_a_model_asking_says_how_to_choose_one() -> None:
    with client("none") as opened, raises_error(SettingError, do=r"--set model=.*docs/models\.md"):
        opened.ask(questions(1))
    with pytest.raises(ValueError, match="closed"):
        opened.ask(questions(1))


def test_a_branch_shares_the_past_and_can_be_replayed_by_itself() -> None:
    past, branch = MemoryCalls(), MemoryCalls()
    with client("fake", past) as opened:
        before = opened.ask(questions(10))
    with client("fake", Layered(branch, past)) as opened:
        after = opened.ask(questions(14))
        assert (opened.usage.calls, opened.usage.cached) == (4, 10)
    assert after[:10] == before
    assert (len(past), len(branch)) == (10, 14)
    with client("recorded/fake", branch) as opened:
        assert opened.ask(questions(14)) == after


def test_recorded_answers_name_what_was_never_recorded() -> None:
    with client("recorded/openai/gpt-4o-mini") as opened:
        assert opened.model.name == "openai/gpt-4o-mini"
        with raises_error(NotRecorded, where="purpose act, agent 7, step 1", got="openai/gpt-4o-mini"):
            opened.ask([question(7)])
    for wrong in ("recorded", "recorded/", "recorded/recorded/fake"):
        with raises_error(SettingError, allowed="recorded/MODEL"):
            client(wrong)


def test_schema_that_is_none_is_a_fault_of_the_caller() -> None:
    with client("fake") as opened, pytest.raises(ValueError, match="no JSON Schema"):
        opened.ask([question(1, schema={**SCHEMA, "type": "nonsense"})])
