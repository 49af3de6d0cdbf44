"""Whether a reply fits its JSON Schema: checked here whatever a server promised.

Each request has a schema of its own, since it names the posts that were shown; so compiling counts as much as
checking. For a schema of ten reactions jsonschema-rs compiles in 17 µs and checks in 1.4 µs; jsonschema takes 300 µs to
check, fastjsonschema 2.8 ms to compile (2 cores, 2026-11). For that of a whole feed it compiles in 100 µs and more, so
what :func:`townsquare.models.plain_fit.surely_fits` is sure of is not compiled at all: most replies fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs
import orjson

from townsquare.models.plain_fit import surely_fits

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
