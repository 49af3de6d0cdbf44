"""Read YAML and JSON that a user gave: bounded in size, depth, values and digits."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from townsquare.core.errors import DataError, TownsquareError
from townsquare.core.files import MAX_SHOWN, bundled_folder, read_text

MAX_YAML_BYTES = 16 * 1024 * 1024
MAX_JSON_BYTES = 64 * 1024 * 1024


MAX_DEPTH = 100
MAX_VALUES = 1_000_000
MAX_DIGITS = 100
MAX_KEYS = 10_000
"""Keys of one mapping: a table belongs into CSV or JSONL."""


Lines = dict[str, int]
"""Line, from 1, of each key of a file, by its dotted path."""


_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # only parsed by: what is in C parses ten times as fast
_CONSTANTS: Mapping[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_WHOLE = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LONG_NUMBER = re.compile(rf"[0-9]{{{MAX_DIGITS}}}")


def read_yaml(path: Path, kind: type[TownsquareError] = DataError, limit: int = MAX_YAML_BYTES) -> object:
    """Return the one document of a YAML file of at most ``limit`` bytes; see :func:`parse_yaml`."""
    return parse_yaml(read_text(path, limit, kind), str(path), kind)[0]


@cache
def bundled_labels(section: str) -> dict[str, Any]:
    """Return a section of ``data/labels.yaml``: what tables, pages and messages call values of one kind."""
    return dict(read_yaml(bundled_folder() / "labels.yaml")[section])  # type: ignore[index]


def parse_yaml(text: str, where: str, kind: type[TownsquareError] = DataError) -> tuple[Any, Lines]:
    """Return the one document of a text in YAML 1.2, as plain values; and the line of each key, by its dotted path.

    Keys are texts as written. Only ``true`` and ``false`` are truth values; yes, no, on, off and dates are texts.

    Parameters
    ----------
    text : str
        Without tags, aliases (which can blow up) and repeated keys (of which one would be lost); at most 100 levels,
        1,000,000 values, 10,000 keys in one mapping and 100 digits a number.
    where : str
        The file or setting, for errors.
    kind : type of TownsquareError
        What to raise.

    Returns
    -------
    value, lines
        None for an empty text. Lines count from 1; keys inside lists have none.

    Raises
    ------
    TownsquareError
        Of ``kind``, with the line: no YAML, or what is not taken.

    >>> parse_yaml("1: no\\nfalse: 1e-3", "here")
    ({'1': 'no', 'false': 0.001}, {'1': 1, 'false': 2})
    """
    reader = _YamlReader(where, kind, text.count("\n") + 1)
    try:
        return reader.document(yaml.parse(text, Loader=_PARSER)), reader.lines
    except yaml.MarkedYAMLError as error:
        raise reader.error(error.problem or "no YAML", error.problem_mark) from None
    except (yaml.YAMLError, ValueError) as error:
        raise reader.error(f"no YAML ({_first_line(error)})") from None


class _YamlReader:
    """Values from the events of a parser: what is not taken is refused before it is built."""

    def __init__(self, where: str, kind: type[TownsquareError], last_line: int) -> None:
        self.where, self.kind, self.last_line = where, kind, last_line
        self.lines: Lines = {}
        self.n_values = 0

    def error(self, got: str, mark: Any = None, allowed: str = "plain YAML", do: str = "") -> TownsquareError:
        line = f", line {min(mark.line + 1, self.last_line)}" if mark else ""
        return self.kind(f"{self.where}{line}", got=got, allowed=allowed, do=do)

    def document(self, events: Iterator[Any]) -> object:
        value, n = None, 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                n += 1
                if n > 1:
                    raise self.error("a second document", event.start_mark, "one document")
                value = self.node(next(events), events, "", 0)
        return value

    def node(self, event: Any, events: Iterator[Any], path: str | None, depth: int) -> object:
        """Return the value that begins with an event; ``path`` is what comes before its keys, None inside a list."""
        self.n_values += 1
        if self.n_values > MAX_VALUES:
            do = "put tables into CSV or JSONL files"
            raise self.error(f"over {MAX_VALUES:,} values", event.start_mark, f"at most {MAX_VALUES:,}", do)
        if isinstance(event, yaml.AliasEvent):
            raise self.error("an alias", event.start_mark, do="write its value instead")
        if event.tag is not None:
            raise self.error(f"the tag {event.tag!r}"[:80], event.start_mark, do="leave it out")
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event)
        if depth == MAX_DEPTH:
            raise self.error(f"over {MAX_DEPTH} levels", event.start_mark, f"at most {MAX_DEPTH}, one inside the other")
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(events, path, depth + 1)
        items = []
        while not isinstance(item := next(events), yaml.SequenceEndEvent):
            items.append(self.node(item, events, None, depth + 1))
        return items

    def mapping(self, events: Iterator[Any], path: str | None, depth: int) -> dict[str, object]:
        out: dict[str, object] = {}
        while not isinstance(key := next(events), yaml.MappingEndEvent):
            mark: Any = key.start_mark
            if not isinstance(key, yaml.ScalarEvent) or key.tag is not None:
                raise self.error("a key that is no word", mark)
            if len(out) == MAX_KEYS:
                do = "put tables into CSV or JSONL files"
                raise self.error(f"over {MAX_KEYS:,} keys of one mapping", mark, f"at most {MAX_KEYS:,}", do)
            if key.value in out:
                raise self.error(f"the key {key.value[:MAX_SHOWN]!r} twice", mark, "each key once")
            if path is not None:
                self.lines[f"{path}{key.value}"] = mark.line + 1
            out[key.value] = None  # a key is known before its value is read
            out[key.value] = self.node(next(events), events, None if path is None else f"{path}{key.value}.", depth)
        return out

    def scalar(self, event: Any) -> object:
        """Return a scalar by the core schema of YAML 1.2."""
        word = event.value
        if not event.implicit[0]:  # in quotes, or a block of text
            return word
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        whole = _WHOLE.fullmatch(word)
        if not (whole or _FLOAT.fullmatch(word)):
            return word
        if len(word) > MAX_DIGITS:
            do = "round it, or put it in quotes if it is a text"
            raise self.error(f"a number of {len(word):,} digits", event.start_mark, f"at most {MAX_DIGITS} digits", do)
        return int(word, {"o": 8, "x": 16}.get(word[1:2], 10)) if whole else float(word)


def read_json(path: Path, kind: type[TownsquareError] = DataError, limit: int = MAX_JSON_BYTES) -> Any:
    """Return the value in a JSON file of at most ``limit`` bytes; see :func:`parse_json`."""
    return parse_json(read_text(path, limit, kind), str(path), kind)


def parse_json(text: str, where: str, kind: type[TownsquareError] = DataError) -> Any:
    """Return the value of a text in JSON.

    Parameters
    ----------
    text : str
        Without repeated keys; at most 100 levels and 100 digits a whole number.
    where : str
        The file, with its line, for errors.
    kind : type of TownsquareError
        What to raise.

    Raises
    ------
    TownsquareError
        Of ``kind``: no JSON, or what is not taken.

    >>> parse_json('{"a": [1, 2.5, null]}', "here")
    {'a': [1, 2.5, None]}
    """

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        value = dict(pairs)
        if len(value) < len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise kind(where, got=f"the key {twice[:MAX_SHOWN]!r} twice", allowed="each key once")
        return value

    def whole(digits: str) -> int:
        if len(digits) > MAX_DIGITS:
            raise kind(where, got=f"a number of {len(digits):,} digits", allowed=f"at most {MAX_DIGITS} digits")
        return int(digits)

    too_deep = kind(where, got=f"over {MAX_DEPTH} levels", allowed=f"at most {MAX_DEPTH}, one inside the other")
    try:
        # A function called for each number costs time: only where there may be a long one.
        value = json.loads(text, object_pairs_hook=once, parse_int=whole if _LONG_NUMBER.search(text) else None)
    except json.JSONDecodeError as error:
        line = f", line {error.lineno}" if "\n" in text.rstrip("\n") else ""
        raise kind(f"{where}{line}", got=f"invalid JSON ({error.msg})", allowed="JSON") from None
    except RecursionError:
        raise too_deep from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth_above(value, MAX_DEPTH):
        raise too_deep
    return value


def _depth_above(value: object, limit: int) -> bool:
    """Return whether lists and mappings stand more than ``limit`` levels deep in each other."""
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
            if isinstance(inner, dict | list)
        ]
    return bool(level)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def finite(value: Any) -> Any:
    """Return a value as JSON takes it: records, frames and arrays as objects and lists, undefined numbers as null.

    >>> finite({"a": [float("nan"), 1.5]})
    {'a': [None, 1.5]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    for convert in ("_asdict", "to_dicts", "tolist"):  # of a named tuple, a frame, an array
        if hasattr(value, convert):
            return finite(getattr(value, convert)())
    if is_dataclass(value):
        return {field.name: finite(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): finite(below) for key, below in value.items()}
    if isinstance(value, list | tuple):
        return [finite(below) for below in value]
    return value
