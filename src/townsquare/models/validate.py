"""Whether a reply fits its JSON Schema: checked here whatever a server promised.

Each request has a schema of its own, since it names the posts that were shown; so compiling counts as much as
checking. For a schema of ten reactions jsonschema-rs compiles in 17 µs and checks in 1.4 µs; jsonschema takes 300 µs to
check, fastjsonschema 2.8 ms to compile (2 cores, 2026-11). For that of a whole feed it compiles in 100 µs and more, so
what :func:`townsquare.models.validate.surely_fits` is sure of is not compiled at all: most replies fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isfinite
from typing import Any

import jsonschema_rs
import orjson

MOST_ERROR = 300


class Checker:
    """A compiled schema.

    Parameters
    ----------
    schema : mapping
        JSON Schema, draft 2020-12. References to other documents are refused.

    Raises
    ------
    ValueError
        It is no JSON Schema.

    >>> Checker({"type": "integer", "maximum": 3}).fault(4)
    'the whole: 4 is greater than the maximum of 3'
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        try:
            self._compiled = jsonschema_rs.Draft202012Validator(dict(schema), retriever=_refuse)
        except Exception as error:  # the library has errors of its own for references, of no common base
            raise ValueError(f"no JSON Schema: {_short(str(error))}") from error

    def fault(self, value: Any) -> str:
        """What is wrong with a value, in one line for the model that wrote it; "" if it fits."""
        try:
            if self._compiled.is_valid(value):
                return ""
            first = next(iter(self._compiled.iter_errors(value)))
        except (ValueError, OverflowError, RecursionError) as error:  # a number or a depth that it cannot take
            return f"the whole: {_short(str(error))}"
        path = ".".join(str(part) for part in first.instance_path) or "the whole"
        return f"{path}: {_short(first.message)}"


def fault_of(schema: Mapping[str, Any], value: Any) -> str:
    """What is wrong with a value, as :meth:`Checker.fault` says it; "" if it fits.

    >>> fault_of({"type": "integer", "maximum": 3}, 3), fault_of({"type": "integer", "maximum": 3}, 4)
    ('', 'the whole: 4 is greater than the maximum of 3')
    """
    return "" if surely_fits(schema, value) else checker(schema).fault(value)


def checker(schema: Mapping[str, Any]) -> Checker:
    """The compiled form of a schema; equal schemas are compiled once."""
    return _compiled(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS))


@lru_cache(maxsize=1024)
def _compiled(schema: bytes) -> Checker:
    return Checker(orjson.loads(schema))


def _refuse(uri: str) -> Any:
    raise ValueError(f"a reference to another document: {uri}")


def _short(text: str) -> str:
    return text if len(text) <= MOST_ERROR else text[:MOST_ERROR] + " ..."


# Whether a value fits a plain JSON Schema, without compiling it: yes for sure, or perhaps.
#
# A schema names the posts that one agent was shown, so that compiling it for one reply takes many times as long as a
# look at the reply. Known here are `type` with bounds, `properties` that allow no others, `items`, `enum` of strings
# and `anyOf`, each by itself and with rules of the right kind. Anything else is "perhaps", and for the validator.


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
