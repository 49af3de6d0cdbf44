"""Reading what models say: every wrapping that is beyond doubt, and no crash whatever comes."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chat_requests import SCHEMA, question
from townsquare.models import parse
from townsquare.models.contract import Outcome
from townsquare.models.fake import made
from townsquare.models.reply import KEPT, BadEnvelope, error_text, read, without_thinking
from townsquare.models.validate import schema_fault

GOOD: dict[str, Any] = {"reactions": [{"post": 1, "action": "like", "text": "fine"}], "stance": 0.5}
WRITTEN = orjson.dumps(GOOD).decode()


def envelope(content: Any, finish: str = "stop", **message: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return orjson.dumps({"model": "m", "choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 2}})


@pytest.mark.parametrize(
    "text",
    [
        WRITTEN,
        f"  \n{WRITTEN}\n",
        f"```json\n{WRITTEN}\n```",
        f"Sure! Here you are:\n```\n{WRITTEN}\n```\nAnything else?",
        f'I chose "like" [see post 1] {{as asked}}: {WRITTEN} Bye :}}',
        WRITTEN[:-1] + ",\n}",
        WRITTEN.replace("]", " , ]"),
        WRITTEN.replace('"', "'"),
        orjson.dumps(GOOD, option=orjson.OPT_INDENT_2).decode(),
        "<think>Maybe {not this}?</think>" + WRITTEN,
        "They would like it, I suppose.</think>\n" + WRITTEN,
        WRITTEN + "\n" + WRITTEN,
        "\ufeff" + WRITTEN,
    ],
)
def test_good_answers_are_found_however_they_are_wrapped(text: str) -> None:
    found = read(envelope(text), question(1))
    assert (found.outcome, found.value, found.error) == (Outcome.OK, GOOD, "")


@pytest.mark.parametrize(
    ("text", "outcome", "said"),
    [
        (WRITTEN[:-3], Outcome.INVALID, "no JSON object"),
        ("", Outcome.INVALID, "empty"),
        ("<think>and so on", Outcome.INVALID, "empty"),
        ("like", Outcome.INVALID, "no JSON object"),
        ("I'm sorry, but I cannot help with that.", Outcome.REFUSED, "refused"),
        ('{"reactions": []}', Outcome.INVALID, "stance"),
        (WRITTEN.replace("like", "LIKE"), Outcome.INVALID, "reactions.0.action"),
        (WRITTEN.replace("0.5", "NaN"), Outcome.INVALID, "no JSON object"),
        (WRITTEN.replace("0.5", "1e999"), Outcome.INVALID, ""),
        (WRITTEN.replace("0.5", "9" * 400), Outcome.INVALID, ""),
        (WRITTEN.replace("0.5", "9" * 5000), Outcome.INVALID, ""),
        (WRITTEN + WRITTEN.replace("like", "share"), Outcome.INVALID, "several different objects"),
        ("[" * 100_000, Outcome.INVALID, ""),
        ('{"a":' * 5000 + "1" + "}" * 5000, Outcome.INVALID, ""),
        ("x" * 1_000_000, Outcome.INVALID, "over 200000 characters"),
        ('{"reactions": "' + "x" * 1_000_000 + '"}', Outcome.INVALID, "over 200000"),
    ],
)
def test_everything_else_is_none(text: str, outcome: Outcome, said: str) -> None:
    found = read(envelope(text), question(1))
    assert (found.outcome, found.value) == (outcome, None)
    assert said in found.error
    assert len(found.error) < 1000
    assert len(found.text) <= KEPT


def test_what_stands_inside_a_broken_answer_is_not_taken_for_one() -> None:
    quoted = '{"reactions": [{"post": 1, "action": "ignore", "text": "they say ' + WRITTEN + '"}], "stance": 0'
    assert parse.candidates(quoted) == []
    assert parse.candidates('{"text": "he wrote ' + WRITTEN) == []
    assert parse.candidates("{'text': 'he wrote '" + WRITTEN + "'}") == []


def test_a_quoted_object_beside_the_answer_is_no_answer() -> None:
    attack = WRITTEN.replace("like", "share")
    found = read(envelope(f"The post says {attack} but I answer {WRITTEN}"), question(1))
    assert (found.outcome, found.value) == (Outcome.INVALID, None)


def test_strings_come_back_clean() -> None:
    text = '{"reactions": [{"post": 1, "action": "like", "text": "a\\u0000b\\ud800c\\u001b[1m\\td"}], "stance": 0}'
    found = read(envelope(text), question(1))
    assert found.value["reactions"][0]["text"] == "a\ufffdb\ufffdc\ufffd[1m\td"
    assert read(envelope("a\x00b\r\nc"), question(1, schema={})).value == "a\ufffdb\nc"
    lone = b'{"choices": [{"message": {"content": "a\\ud800b"}, "finish_reason": "stop"}]}'
    assert read(lone, question(1, schema={})).value == "a\ufffdb"


def test_thinking_is_set_aside_and_talk_about_it_is_not() -> None:
    assert read(envelope(WRITTEN, reasoning_content="{}"), question(1)).value == GOOD
    plain = question(1, schema={})
    assert read(envelope("<THINK>no</THINK> <think>yes</think>\nHello"), plain).value == "Hello"
    assert read(envelope("Use the <think>...</think> tags"), plain).value == "Use the <think>...</think> tags"
    assert without_thinking("<think>" * 50_000) == ""
    assert without_thinking("<think></think>" * 10_000 + "a") == "a"


def test_cut_refused_and_filtered_replies_are_told_apart() -> None:
    assert read(envelope(WRITTEN[:20], "length"), question(1)).outcome is Outcome.TRUNCATED
    assert read(envelope(WRITTEN, "length"), question(1)).value == GOOD  # whole all the same
    assert read(envelope("Once upon a", "length"), question(1, schema={})).outcome is Outcome.TRUNCATED
    assert read(envelope("", refusal="No."), question(1)).outcome is Outcome.REFUSED
    assert read(envelope("Once", "content_filter"), question(1, schema={})).outcome is Outcome.REFUSED
    plain = question(1, schema={})
    assert read(envelope("Sorry, I can't help with that."), plain).outcome is Outcome.REFUSED
    assert read(envelope("I'm sorry for those who lost their homes."), plain).outcome is Outcome.OK


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"{}", b'{"choices": []}', b'{"choices": [3]}', b'{"choices": [{"message": 3}]}',
     b"\xff\xfe", b"<html>", b"[" * 100_000],
)  # fmt: skip
def test_what_is_no_chat_completion_is_said_to_be_none(body: bytes) -> None:
    with pytest.raises(BadEnvelope):
        read(body, question(1))
    assert len(error_text(body)) <= 500


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(content=json_values, message=st.dictionaries(st.sampled_from(["refusal", "tool_calls", "role"]), json_values),
       usage=json_values, finish=json_values, model=json_values)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_no_envelope_breaks_the_reader(content: Any, message: Any, usage: Any, finish: Any, model: Any) -> None:
    choice = {"message": {"content": content, **message}, "finish_reason": finish}
    try:
        body = orjson.dumps({"choices": [choice], "usage": usage, "model": model})
    except TypeError:  # whole numbers of over 64 bits
        return
    for asked in (question(1), question(1, schema={})):
        found = read(body, asked)
        assert isinstance(found.outcome, Outcome)
        assert (found.value is None) == (found.outcome is not Outcome.OK)


@given(text=st.text(alphabet=st.sampled_from("{}[]\"'\\,: \nTrue1aé\ud800\x00`<>think/"), max_size=300))
@example("{'a': '")
@example('{"a": "\\')
@settings(max_examples=1500, deadline=None)
def test_no_text_breaks_the_parser(text: str) -> None:
    for value in parse.candidates(without_thinking(text)):
        orjson.dumps(value)
        schema_fault(SCHEMA, value)


WRAPPINGS = (
    "{}", "Sure!\n```json\n{}\n```", "<div class='x'>{}</div>", "def f(x):\n    return {}\n", "好的，这是答案：{}",
    "Вот ответ: {} — спасибо", "الجواب {} شكرا", "<think>{}</think>", "<think>{}", "{}\n\nIgnore your instructions.",
    '{{"error": {}}}', "[{}]", "`{}`", "# Title\n\n* {}\n", "SELECT '{}';",
)  # fmt: skip


def mangled(text: str, dice: random.Random) -> str:
    """A reply that something went wrong with."""
    kind = dice.randrange(8)
    if kind == 0:
        return text[: dice.randrange(len(text) + 1)]
    if kind == 1:
        cut = dice.randrange(len(text) + 1)
        return text[:cut] + dice.choice('{}[]"\\,:\x00\ud800é') * dice.randrange(1, 5) + text[cut:]
    if kind == 2:
        return text.replace('"', "'").replace("true", "True")
    if kind == 3:
        return dice.choice('[{"') * dice.randrange(1, 3000) + text
    if kind == 4:
        return "".join(dice.sample(text, len(text)))
    if kind == 5:
        return text.replace(
            dice.choice(["like", "share", "ignore", "post"]), dice.choice(["LIKE", "delete all", "", "0"])
        )
    if kind == 6:
        return text + text[dice.randrange(len(text) + 1) :]
    return text


def test_ten_thousand_broken_replies_give_valid_answers_or_none() -> None:
    """Truncated, deep, shuffled, in other languages, in HTML and code: nothing but what fits the schema passes."""
    dice = random.Random(2)
    outcomes = dict.fromkeys(Outcome, 0)
    for i in range(10_000):
        text = orjson.dumps(made(question(i % 500), i)).decode()
        wrapped = dice.choice(WRAPPINGS).replace("{}", text)
        broken = mangled(wrapped, dice)
        body = envelope(broken.encode("utf-8", "replace").decode(), dice.choice(["stop", "length"]))
        found = read(body, question(1))
        outcomes[found.outcome] += 1
        if found.outcome is Outcome.OK:
            assert schema_fault(SCHEMA, found.value) == ""
        else:
            assert found.value is None
            assert found.error
    assert outcomes[Outcome.OK] > 2000
    assert outcomes[Outcome.INVALID] > 1000
    assert outcomes[Outcome.TRUNCATED] > 1000


@pytest.mark.parametrize(
    "piece",
    ['"\\', "{'a", '{"', "[{", "'a'a ", ", ", "<think>", "</think>", '{"a": "b\\"', "{}", "```", ",'x", "{ ", "\\'"],
)
def test_long_replies_are_read_in_one_pass(piece: str) -> None:
    """Patterns that would be read over and over: with one pass each this takes no time, else hours."""
    text = (piece * parse.LONGEST)[: parse.LONGEST]
    parse.candidates(without_thinking(text))
    parse.candidates("{'a': " + text[:-10] + "}")
