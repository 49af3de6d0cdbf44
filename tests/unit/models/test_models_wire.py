"""Calls over the wire, to a server that fails as they do: ways of asking, tries and waits, limits, several servers."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_requests import SCHEMA, client, question, questions
from raised_errors import raises_error
from townsquare.core.errors import SettingError, Unreachable
from townsquare.models import http
from townsquare.models.capabilities import Mode, fits_strict, without_lengths
from townsquare.models.client import ModelClient
from townsquare.models.contract import Outcome
from townsquare.models.http import FIRST, LONGEST, asked_wait, backoff
from townsquare.models.providers import ServedModel
from townsquare.models.servers import Limiter
from townsquare.testing.chat_server import FORMATS, Behavior, ChatServer, Fault, name_of


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backoff of milliseconds; what servers ask for is waited for in full."""
    monkeypatch.setattr("townsquare.models.http.FIRST", 0.002)


def values(opened: ModelClient, count: int = 30) -> list[Any]:
    return [reply.value for reply in opened.ask(questions(count))]


@pytest.fixture(scope="module")
def expected() -> list[Any]:
    with client("fake") as opened:
        return values(opened)


def served(opened: ModelClient) -> ServedModel:
    assert isinstance(opened.model, ServedModel)
    return opened.model


def run_only(fault: Any) -> Any:
    """A fault of the run's own requests, numbered from 0; first contact goes well."""
    count = iter(range(10**9))

    def find(number: int, body: Mapping[str, Any]) -> Fault | None:
        return None if name_of(body) == "contact" else fault(next(count), body)

    return find


# --- ways of asking ----------------------------------------------------------------------------------------

LADDER = [
    (FORMATS, (), Mode.SCHEMA),
    ({"json_object", "tools"}, (), Mode.OBJECT),
    ({"tools"}, (), Mode.TOOL),
    ((), (), Mode.TEXT),
    (FORMATS, {"json_schema"}, Mode.OBJECT),  # takes the schema and forgets it
    (FORMATS, {"json_schema", "json_object"}, Mode.OBJECT),  # obeys the prompt
]


@pytest.mark.parametrize(("formats", "ignored", "mode"), LADDER)
@pytest.mark.parametrize("thinking", ["", "tags", "field"])
def test_each_rung_gives_the_same_answers(
    formats: Any, ignored: Any, mode: Mode, thinking: str, expected: list[Any]
) -> None:
    behavior = Behavior(formats=frozenset(formats), ignored=frozenset(ignored), thinking=thinking)
    with ChatServer(behavior) as server, client("server/m", None, server.url) as opened:
        assert values(opened) == expected
        assert served(opened).backend.endpoints.all[0].capabilities.mode is mode
        contact = server.seen.requests - 30
        assert contact == (mode + 1 if mode is not Mode.TEXT else 5)  # each rung once, and never again
        values(opened)
        assert server.seen.requests == contact + 30


def test_a_schema_that_a_server_refuses_is_asked_for_on_a_lower_rung_from_then_on(expected: list[Any]) -> None:
    def refuse(number: int, body: Mapping[str, Any]) -> Fault | None:
        wanted = body.get("response_format", {}).get("json_schema", {}).get("schema")
        return Fault(400, "maxLength is not supported") if wanted and "maxLength" in str(wanted) else None

    with ChatServer(Behavior(fault=run_only(refuse))) as server, client("server/m", None, server.url) as opened:
        opened.ask(questions(1))
        opened.ask(questions(30))
        assert server.seen.statuses[400] == 1
        assert served(opened).backend.endpoints.all[0].capabilities.by_name == {"reply": Mode.LOOSE_SCHEMA}


def test_parameters_that_a_server_does_not_take_are_left_out_and_noted() -> None:
    refused = frozenset({"max_tokens", "temperature", "seed"})
    with ChatServer(Behavior(refused=refused)) as server, client("server/m", None, server.url) as opened:
        assert all(reply.ok for reply in opened.ask(questions(5)))
        assert "max_completion_tokens" in server.seen.last
        assert not refused & set(server.seen.last)
        notes = " ".join(served(opened).notes)
        assert "temperature is not accepted" in notes
        assert "seed is not accepted" in notes


def test_schemas_for_strict_servers() -> None:
    assert fits_strict(SCHEMA)
    assert not fits_strict({"type": "object", "properties": {"a": {}}, "required": []})
    schema = {"type": "object", "properties": {"maxLength": {"type": "string", "maxLength": 3}}}
    assert without_lengths(schema) == {"type": "object", "properties": {"maxLength": {"type": "string"}}}


def test_a_reply_that_does_not_fit_goes_back_once_with_the_error() -> None:
    bodies: list[Mapping[str, Any]] = []

    def first_is_wrong(number: int, body: Mapping[str, Any]) -> Fault | None:
        bodies.append(body)
        return Fault(text='{"reactions": []}') if number == 0 else None

    with ChatServer(Behavior(fault=run_only(first_is_wrong))) as server, client("server/m", None, server.url) as opened:
        (reply,) = opened.ask([question(1)])
        (call,) = opened.taken()
    assert reply.ok
    assert call.tries == 2
    assert [message["role"] for message in bodies[1]["messages"]] == ["system", "user", "assistant", "user"]
    assert bodies[1]["messages"][2]["content"] == '{"reactions": []}'
    assert '"stance" is a required property' in bodies[1]["messages"][3]["content"]

    behavior = Behavior(fault=run_only(lambda number, body: Fault(text="no")))
    with ChatServer(behavior) as server, client("server/m", None, server.url) as opened:
        (reply,) = opened.ask([question(1)])
        assert reply.outcome is Outcome.INVALID
        assert opened.taken()[0].tries == 2
        assert opened.usage.tokens_in > 0


def test_tokens_are_estimated_where_a_server_counts_none() -> None:
    with ChatServer(Behavior(usage=False)) as server, client("server/m", None, server.url) as opened:
        opened.ask(questions(2))
        assert {call.tokens_in for call in opened.taken()} == {-1}
        assert opened.usage.estimated == 2
        assert opened.usage.tokens > 0


# --- tries and waits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        Fault(500, "it fell over"),
        Fault(502, body=b"<html>Bad gateway</html>"),
        Fault(429, "slow down", retry_after="0"),
        Fault(drop=True),
        Fault(body=b'{"choices": [{"mess'),
        Fault(body=b"[" * 9_000_000),
    ],
)
def test_what_may_pass_is_tried_again(fault: Fault, expected: list[Any]) -> None:
    behavior = Behavior(fault=run_only(lambda number, body: fault if number < 20 else None))
    with ChatServer(behavior) as server, client("server/m", None, server.url, tries=40) as opened:
        assert values(opened) == expected
        assert opened.usage.requests == 50


def test_a_server_that_never_answers_is_a_timeout_and_one_that_always_fails_an_error() -> None:
    behavior = Behavior(fault=run_only(lambda number, body: Fault(hang=True)))
    with ChatServer(behavior) as server, client("server/m", None, server.url, timeout=0.3, tries=2) as opened:
        (reply,) = opened.ask([question(1)])
        assert (reply.outcome, reply.error) == (Outcome.TIMEOUT, "no answer within 0.3 s")
        assert opened.taken()[0].tries == 2
    behavior = Behavior(fault=run_only(lambda number, body: Fault(503, "overloaded")))
    with ChatServer(behavior) as server, client("server/m", None, server.url, tries=3) as opened:
        (reply,) = opened.ask([question(1)])
        assert (reply.outcome, reply.error) == (Outcome.ERROR, "HTTP 503: overloaded")
        assert opened.taken()[0].tries == 3


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (Fault(403, "no"), Outcome.ERROR),
        (Fault(429, "You exceeded your current quota: insufficient_quota"), Outcome.ERROR),
        (Fault(400, "This model's maximum context length is 8192 tokens"), Outcome.TRUNCATED),
        (Fault(400, "content_policy_violation"), Outcome.REFUSED),
        (Fault(429, "come back tomorrow", retry_after="86400"), Outcome.ERROR),
        (Fault(308, "elsewhere"), Outcome.ERROR),
    ],
)
def test_what_cannot_pass_is_not_tried_again(fault: Fault, outcome: Outcome) -> None:
    behavior = Behavior(fault=run_only(lambda number, body: fault))
    with ChatServer(behavior) as server, client("server/m", None, server.url) as opened:
        (reply,) = opened.ask([question(1)])
        assert reply.outcome is outcome
        assert fault.text in reply.error
        assert server.seen.requests == 2


def test_retry_after_is_honored() -> None:
    came: list[float] = []

    def busy_once(number: int, body: Mapping[str, Any]) -> Fault | None:
        came.append(time.monotonic())
        return Fault(429, "slow down", retry_after="0.4") if number == 0 else None

    with ChatServer(Behavior(fault=run_only(busy_once))) as server, client("server/m", None, server.url) as opened:
        assert opened.ask([question(1)])[0].ok
    assert came[1] - came[0] >= 0.4


def test_retry_after_as_a_date_and_waits() -> None:
    now = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    later = format_datetime(now + timedelta(seconds=90), usegmt=True)
    assert asked_wait(later, None, now) == 90
    assert asked_wait(format_datetime(now - timedelta(hours=1)), None, now) == 0
    assert asked_wait("7", "250", now) == 0.25
    for text in (None, "", "soon", "-3", "nan", "inf", "Mon, 99 Foo 2026"):
        assert asked_wait(text, None, now) is None


@given(tries=st.integers(1, 1000), asked=st.none() | st.floats(0, 1000), seed=st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_waits_are_spread_bounded_and_never_shorter_than_asked(tries: int, asked: float | None, seed: int) -> None:
    wait = backoff(tries, asked, random.Random(seed))
    if asked is None:
        assert 0 <= wait <= min(LONGEST, FIRST * 2 ** min(tries - 1, 30))
    else:
        assert asked <= wait <= asked + 1


# --- first contact -----------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_server_that_is_not_there_stops_the_run_and_says_what_to_do() -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    with client("vllm/some-model", None, url) as opened, pytest.raises(Unreachable) as raised:
        opened.ask(questions(40))
    assert url in str(raised.value)
    assert "start the server" in str(raised.value)
    assert "model vllm/some-model" in str(raised.value)


@pytest.mark.parametrize(
    ("behavior", "said"),
    [(Behavior(models=("other",)), "does not exist"), (Behavior(key="right"), "HTTP 401")],
)
def test_a_wrong_model_or_key_stops_the_run(behavior: Behavior, said: str) -> None:
    with ChatServer(behavior) as server, client("server/m", None, server.url) as opened:
        with raises_error(Unreachable, got=said):
            opened.ask(questions(5))
        assert server.seen.requests <= 5
        server.behavior = Behavior()
        served(opened).backend.endpoints.all[0].not_before = 0.0  # the time for which it is left aside is over
        assert opened.ask(questions(1))[0].ok


def test_one_server_of_two_may_be_down_at_first_contact(expected: list[Any]) -> None:
    with ChatServer() as server:
        url = f"http://127.0.0.1:{free_port()}/v1"
        with client("server/m", None, url, server.url) as opened:
            assert values(opened) == expected


def test_a_server_that_swallows_requests_holds_nobody_up(expected: list[Any]) -> None:
    """At first contact one server answers and one never does: the run goes on with the one at once."""
    with (
        ChatServer(Behavior(fault=lambda number, body: Fault(hang=True))) as silent,
        ChatServer() as server,
        client("server/m", None, silent.url, server.url, timeout=3600) as opened,
    ):
        assert values(opened) == expected
        assert {call.server for call in opened.taken()} == {server.url}
        assert silent.seen.requests == 1


# --- several servers, and how much each is given -----------------------------------------------------------


def test_the_least_loaded_server_gets_the_next_call(expected: list[Any]) -> None:
    with ChatServer(Behavior(latency=0.2)) as slow, ChatServer(Behavior(latency=0.01)) as fast:
        with client("server/m", None, slow.url, fast.url, concurrency=4) as opened:
            opened.ask(questions(120))
            servers = {call.server for call in opened.taken()}
        assert servers == {slow.url, fast.url}
        assert fast.seen.requests > 2 * slow.seen.requests
        assert max(slow.seen.peak, fast.seen.peak) <= 4


def test_a_failing_server_is_helped_out_by_another(expected: list[Any]) -> None:
    behavior = Behavior(fault=run_only(lambda number, body: Fault(500, "broken")))
    with (
        ChatServer(behavior) as broken,
        ChatServer() as sound,
        client("server/m", None, broken.url, sound.url) as opened,
    ):
        assert values(opened) == expected
        assert {call.server for call in opened.taken()} == {sound.url}


def test_each_server_has_a_limit_of_its_own(expected: list[Any]) -> None:
    with (
        ChatServer(Behavior(latency=0.05)) as one,
        ChatServer(Behavior(latency=0.05)) as other,
        client("server/m", None, one.url, other.url, limits=(2, 9)) as opened,
    ):
        assert values(opened) == expected
        opened.ask(questions(150))
        peaks = (one.seen.peak, other.seen.peak)
    assert peaks == (2, 9)
    with raises_error(SettingError, where=r"serving\.limits", got="3 for 2 servers"):
        client("server/m", None, one.url, other.url, limits=(2, 9, 1))


def _settle(opened: ModelClient) -> None:
    """Have all servers met: until then, one that has is the only one there is."""
    opened.ask([question(10_000)])
    assert isinstance(opened.model, ServedModel)
    while any(one.capabilities.mode is None for one in opened.model.backend.endpoints.all):
        time.sleep(0.01)
    opened.taken()


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_a_server_that_fails_at_once_does_not_draw_all_calls(status: int) -> None:
    """It always looks idle: one that is broken, whose key has ended, or which was started again with another model."""
    turned = Behavior(fault=run_only(lambda number, body: Fault(status, "not here")))
    with (
        ChatServer(turned) as away,
        ChatServer(Behavior(latency=0.02)) as sound,
        client("server/m", None, away.url, sound.url, concurrency=8) as opened,
    ):
        _settle(opened)
        assert all(reply.ok for reply in opened.ask(questions(400)))
        assert away.seen.statuses[status] < 60
        assert {call.server for call in opened.taken()} == {sound.url}
        assert "response_format" in sound.seen.last
        assert sound.seen.last["response_format"]["type"] == "json_schema"


def test_a_server_that_works_again_is_asked_again() -> None:
    behavior = Behavior(fault=run_only(lambda number, body: Fault(500, "broken") if number < 8 else None))
    with (
        ChatServer(behavior) as heals,
        ChatServer(Behavior(latency=0.1)) as sound,
        client("server/m", None, heals.url, sound.url, concurrency=4) as opened,
    ):
        for first in range(0, 6000, 200):
            replies = opened.ask([question(first + i) for i in range(200)])
            assert all(reply.ok for reply in replies)
            if any(call.server == heals.url for call in opened.taken()):
                break
        else:
            pytest.fail("it was never asked again")


def test_all_servers_failing_is_as_with_one() -> None:
    faults = [Behavior(fault=run_only(lambda number, body: Fault(500, "broken"))) for _ in range(2)]
    with (
        ChatServer(faults[0]) as one,
        ChatServer(faults[1]) as other,
        client("server/m", None, one.url, other.url, tries=3) as opened,
    ):
        replies = opened.ask(questions(40))
    assert {reply.outcome for reply in replies} == {Outcome.ERROR}
    assert one.seen.statuses[500] + other.seen.statuses[500] == 120


def test_a_server_that_asks_for_a_pause_gets_no_calls_meanwhile(expected: list[Any]) -> None:
    fault = run_only(lambda number, body: Fault(429, "later", retry_after="300"))
    with ChatServer(Behavior(fault=fault)) as paused, ChatServer(Behavior(latency=0.02)) as other:
        with client("server/m", None, paused.url, other.url, concurrency=2) as opened:
            assert values(opened) == expected
        assert paused.seen.statuses[429] <= 2


def test_calls_adapt_to_what_a_server_takes(expected: list[Any]) -> None:
    behavior = Behavior(slots=8, latency=0.02)
    with ChatServer(behavior) as server, client("server/m", None, server.url, concurrency=64, tries=50) as opened:
        assert all(reply.ok for reply in opened.ask(questions(300)))
        limit = served(opened).backend.endpoints.all[0].limiter.now
        turned_away = server.seen.statuses[429]
    assert limit < 40
    assert turned_away < 250


def test_the_limit_falls_by_half_grows_back_and_heeds_latency() -> None:
    limiter = Limiter(100, timeout=10.0)
    limiter.crowded(sent=0.0, now=1.0)
    for i in range(50):
        limiter.crowded(sent=0.5, now=1.0 + i / 100)  # of the same crowded moment
    assert limiter.now == 50
    for _ in range(10):
        limiter.went_well(sent=2.0, now=3.0)
    assert limiter.now == 50
    for i in range(6000):
        limiter.went_well(sent=2.0 + i, now=3.0 + i)
    assert limiter.now == 100
    limiter.went_well(sent=9000.0, now=9006.0)
    assert limiter.now == 80
    for i in range(200):
        limiter.crowded(sent=10_000.0 + i, now=10_000.5 + i)
    assert limiter.now == 1
    limiter.went_well(sent=20_000.0, now=20_001.0)
    assert limiter.now >= 1


def test_many_files_may_be_open() -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    low = min(soft, 200) if soft != resource.RLIM_INFINITY else 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (low, hard))
    try:
        http.allow_files(300)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(300, hard if hard > 0 else 300)
        http.allow_files(10)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= min(300, hard if hard > 0 else 300)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
def test_two_thousand_calls_in_flight() -> None:
    with ChatServer(Behavior(latency=6.0)) as server, client("server/m", None, server.url, concurrency=2000) as opened:
        replies = opened.ask(questions(2000, schema={}))
        assert all(reply.ok for reply in replies)
        assert server.seen.peak > 1000


def test_servers_take_part_in_the_identity_in_any_order() -> None:
    asked = replace(question(1))
    assert asked.identity("m", ["a", "b"], 1) == asked.identity("m", ["b", "a"], 1) != asked.identity("m", ["a"], 1)
