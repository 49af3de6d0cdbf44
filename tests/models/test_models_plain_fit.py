"""What is sure to fit a schema without compiling it does fit, and of what models are asked for most is sure."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_requests import SCHEMA, question
from townsquare.models.fake import made
from townsquare.models.validate import Checker, fault_of, surely_fits

WORDS = ("like", "p1", "p2", "é", "")
KEYS = ("action", "target", "stance")

BOUND = st.integers(0, 3)
PLAIN = st.one_of(
    st.builds(lambda least, most: {"type": "string", "minLength": least, "maxLength": most}, BOUND, BOUND),
    st.builds(lambda least, most: {"type": "integer", "minimum": -least, "maximum": most}, BOUND, BOUND),
    st.builds(lambda least: {"type": "number", "minimum": least - 0.5}, BOUND),
    st.sampled_from([{"type": "boolean"}, {"type": "null"}, {"type": ["string", "integer"]}, {"type": "integer"}]),
    st.lists(st.sampled_from([*WORDS, 1, None]), min_size=1, max_size=4).map(lambda words: {"enum": words}),
    st.sampled_from([{}, {"const": 1}, {"type": "string", "pattern": "^p"}, {"enum": ["p1"], "maxLength": 1}]),
)


def _holders(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def of(properties: dict[str, Any], required: list[str], closed: bool | None) -> dict[str, Any]:
        out: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
        return out if closed is None else out | {"additionalProperties": not closed}

    names = st.lists(st.sampled_from(KEYS), unique=True, max_size=3)
    return st.one_of(
        st.builds(of, st.dictionaries(st.sampled_from(KEYS), inner, max_size=3), names, st.sampled_from([None, True])),
        st.builds(lambda items, most: {"type": "array", "items": items, "maxItems": most}, inner, BOUND),
        st.lists(inner, min_size=1, max_size=3).map(lambda ways: {"anyOf": ways}),
        st.builds(lambda ways: {"type": "object", "anyOf": ways}, st.lists(inner, min_size=1, max_size=2)),
    )


SCHEMAS = st.recursive(PLAIN, _holders, max_leaves=6)
LEAVES = st.one_of(
    st.sampled_from([*WORDS, "\ud800", "long word", None, True, False, 1.0, 2**60, float("nan"), float("inf")]),
    st.integers(-4, 4),
    st.floats(-2, 4),
)
VALUES = st.recursive(
    LEAVES, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.sampled_from([*KEYS, "more"]), v, max_size=3)
)


def value_for(schema: Any) -> st.SearchStrategy[Any]:
    """Values that fit or nearly do, so that both are met often."""
    if "anyOf" in schema:
        return st.one_of([value_for(way) for way in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("type") == "object":
        return st.fixed_dictionaries({name: value_for(below) for name, below in schema["properties"].items()})
    if schema.get("type") == "array":
        return st.lists(value_for(schema["items"]), max_size=4)
    return LEAVES


@given(st.data(), SCHEMAS)
@settings(max_examples=400, deadline=None)
def test_what_surely_fits_does_fit(data: st.DataObject, schema: dict[str, Any]) -> None:
    value = data.draw(st.one_of(value_for(schema), VALUES))
    if surely_fits(schema, value):
        assert Checker(schema).fault(value) == ""
    assert fault_of(schema, value) == Checker(schema).fault(value)


@pytest.mark.parametrize("draw", range(20))
def test_replies_to_what_models_are_asked_for_need_no_compiling(draw: int) -> None:
    whole = {**SCHEMA, "properties": {**SCHEMA["properties"], "post": {"enum": ["p1", "p2"]}}}
    del whole["properties"]["reactions"]
    schema = {"type": "array", "maxItems": 3, "items": {"anyOf": [{**whole, "required": ["post", "stance"]}]}}
    assert surely_fits(schema, made(question(draw, schema=schema), draw))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object", "properties": {"a": {"type": "boolean"}}}, {"a": True}),  # allows others, of any kind
        ({"type": "object", "properties": {}, "required": [["a"]], "additionalProperties": False}, {}),
        ({"type": "integer", "maximum": True}, 0),
        ({"type": "integer", "maximum": "3"}, 3),
        ({"type": "array", "items": True}, [1]),
        ({"type": "array"}, [1]),
        ({"type": ["string"]}, "a"),
        ({"type": "string", "format": "date"}, "a"),
        ({"enum": [1, "a"]}, 1),
        ({"type": "integer"}, True),
        ({"type": "integer"}, 2**53 + 1),
        ({"type": "string"}, "\udc00"),
        (True, 1),
    ],
)
def test_what_is_not_plain_is_left_to_the_validator(schema: Any, value: Any) -> None:
    assert not surely_fits(schema, value)
