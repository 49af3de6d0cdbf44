"""Whether a value fits a plain JSON Schema, without compiling it: yes for sure, or perhaps.

A schema names the posts that one agent was shown, so that compiling it for one reply takes many times as long as a look
at the reply. Known here are ``type`` with bounds, ``properties`` that allow no others, ``items``, ``enum`` of strings
and ``anyOf``, each by itself and with rules of the right kind. Anything else is "perhaps", and for the validator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

EXACT = 2**53
"""Whole numbers up to here are the same in every reading of JSON."""


def surely_fits(schema: Any, value: Any) -> bool:
    """True only if a value fits a schema (draft 2020-12); False says nothing.

    >>> schema = {"type": "array", "maxItems": 2, "items": {"enum": ["p1", "p2"]}}
    >>> surely_fits(schema, ["p2"]), surely_fits(schema, ["p3"]), surely_fits({"const": 1}, 1)
    (True, False, False)
    """
    try:
        return _fits(schema, value)
    except (TypeError, RecursionError):  # a rule of the wrong kind, such as a list for a name; nested too deep
        return False


def _fits(schema: Any, value: Any) -> bool:
    if type(schema) is not dict:
        return False
    if "anyOf" in schema:
        ways = schema["anyOf"]
        return len(schema) == 1 and type(ways) is list and any(_fits(way, value) for way in ways)
    if "enum" in schema:
        words = schema["enum"]
        return len(schema) == 1 and type(words) is list and type(value) is str and value in words
    rule = _RULES.get(schema.get("type"))
    return rule is not None and schema.keys() <= rule[0] and rule[1](schema, value)


def _object(schema: Mapping[str, Any], value: Any) -> bool:
    properties, required = schema.get("properties"), schema.get("required", [])
    if type(value) is not dict or type(properties) is not dict or type(required) is not list:
        return False
    if schema.get("additionalProperties") is not False or not value.keys() >= set(required):
        return False
    return all(name in properties and _fits(properties[name], below) for name, below in value.items())


def _array(schema: Mapping[str, Any], value: Any) -> bool:
    if type(value) is not list or not _within(schema.get("minItems", 0), len(value), schema.get("maxItems", EXACT)):
        return False
    return all(_fits(schema.get("items"), below) for below in value)


def _string(schema: Mapping[str, Any], value: Any) -> bool:
    if type(value) is not str or not _within(schema.get("minLength", 0), len(value), schema.get("maxLength", EXACT)):
        return False
    return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)  # lone surrogates are no text


def _integer(schema: Mapping[str, Any], value: Any) -> bool:
    return type(value) is int and _number(schema, value)


def _number(schema: Mapping[str, Any], value: Any) -> bool:
    if type(value) is float:
        is_known = isfinite(value)
    else:
        is_known = type(value) is int and -EXACT <= value <= EXACT
    return is_known and _within(schema.get("minimum", -EXACT), value, schema.get("maximum", EXACT))


def _boolean(schema: Mapping[str, Any], value: Any) -> bool:
    return type(value) is bool


def _within(least: Any, value: float, most: Any) -> bool:
    """Whether it lies between bounds, which are numbers."""
    return type(least) in _NUMBERS and type(most) in _NUMBERS and least <= value <= most


_NUMBERS = (int, float)
_Rule = tuple[frozenset[str], Callable[[Mapping[str, Any], Any], bool]]
_RULES: Mapping[Any, _Rule] = {
    "object": (frozenset({"type", "properties", "required", "additionalProperties"}), _object),
    "array": (frozenset({"type", "items", "minItems", "maxItems"}), _array),
    "string": (frozenset({"type", "minLength", "maxLength"}), _string),
    "integer": (frozenset({"type", "minimum", "maximum"}), _integer),
    "number": (frozenset({"type", "minimum", "maximum"}), _number),
    "boolean": (frozenset({"type"}), _boolean),
}
