"""Extract JSON from the text of a model, in time linear in its length.

Read are: JSON as it should be; JSON in a code fence or amid talk; with trailing commas; with single quotes or the words
``True``, ``False``, ``None`` of Python where they are beyond doubt. What is cut off is never completed: half an answer
is none. Strings come back without control characters and lone surrogates.
"""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import Any

import orjson

from townsquare.core.files import clean

LONGEST = 200_000
"""Characters of a reply that are looked at; longer ones are refused."""
DEEPEST = 64
"""Levels of nesting."""
MOST_CANDIDATES = 8
"""Objects in one reply that are looked at."""
MOST_STARTS = 64
"""Brackets in one reply that are looked at."""

# A bracket that opens JSON, or one in the talk around it.
_OPENING = re.compile(r"""(?P<json>\{\s*+["'}]|\[\s*+[\[{"'\]])|[{\[]""")

# A string, closed or cut off; or a bracket. It always matches what it starts on, so that no text is read twice.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
_REPAIRED = re.compile(
    r"""(?P<double>"(?:[^"\\]|\\.)*+(?:"|\\?\Z))  # a string as it should be, or cut off
      | (?P<single>(?<=[{\[,:\s])'[^'\\]*(?:(?:\\.|(?<=\w)'(?=\w))[^'\\]*)*')(?=\s*[,:}\]])
      | ,(?=\s*[}\]])                             # a trailing comma
      | \b(?P<word>True|False|None)\b
    """,
    re.VERBOSE | re.DOTALL,
)
_SUSPECT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]|\\u|\\[bfr]")
_HOLDERS = (dict, list)
_WORDS = {"True": "true", "False": "false", "None": "null"}


def strict(text: str) -> list[Any]:
    """Return the value of a text that is only JSON, in a list; an empty list otherwise.

    >>> strict('{"a": 1}'), strict("{'a': 1}")
    ([{'a': 1}], [])
    """
    if len(text) > LONGEST:
        return []
    values = _load(text)
    return values if values and _is_sound(values[0]) else []


def candidates(text: str) -> list[Any]:
    """Return every JSON object or array that the text may mean, outermost ones only, first ones first; at most eight.

    None at all if one of them is cut off or broken: what stands inside it may be a quotation, and is not searched for
    something that can be read.

    >>> candidates('Sure! ```json\\n{"action": "like",}\\n``` Hope it helps.')
    [{'action': 'like'}]
    >>> candidates("{'ok': True, 'text': 'it\\'s fine'}")
    [{'ok': True, 'text': "it's fine"}]
    >>> candidates('{"action": "li')
    []
    """
    if whole := strict(text):
        return whole
    if len(text) > LONGEST:
        return []
    values: list[Any] = []
    at = 0
    for _ in range(MOST_STARTS):
        opening = _OPENING.search(text, at)
        if opening is None or len(values) == MOST_CANDIDATES:
            break
        at = _closing(text, opening.start())
        value = [] if at < 0 else _read(text[opening.start() : at])
        if not value and opening["json"]:
            return []
        values += value
        at = at if at > 0 else opening.end()
    return values


def _read(piece: str) -> list[Any]:
    value = _load(piece) or _load(_REPAIRED.sub(_repair, piece))
    return value if value and _is_sound(value[0]) else []


def _load(text: str) -> list[Any]:
    try:
        value = orjson.loads(text)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return _load_cleaned(text)
    return [_cleaned(value)] if _SUSPECT.search(text) else [value]


def _load_cleaned(text: str) -> list[Any]:
    """Load JSON with raw line ends or lone surrogates, which orjson refuses; surrogates are replaced."""
    if not _SUSPECT.search(text) and "\n" not in text and "\t" not in text:
        return []
    try:
        return [_cleaned(json.loads(text, strict=False, parse_constant=_refuse))]
    except (ValueError, RecursionError):
        return []


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _cleaned(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return clean(value)
    if depth > DEEPEST:
        return value
    if isinstance(value, dict):
        return {clean(key): _cleaned(below, depth + 1) for key, below in value.items()}
    return [_cleaned(below, depth + 1) for below in value] if isinstance(value, list) else value


def _is_sound(value: Any) -> bool:
    """Return whether it nests no deeper than allowed and every whole number fits 64 bits, as JSON elsewhere needs."""
    level = [value]
    for _ in range(DEEPEST):
        if any(isinstance(item, int) and not -(2**63) <= item < 2**63 for item in level):
            return False
        lists = [above.values() if isinstance(above, dict) else above for above in level if isinstance(above, _HOLDERS)]
        level = list(chain.from_iterable(lists))
        if not level:
            return True
    return False


def _closing(text: str, opening: int) -> int:
    """Just behind the bracket that closes the one at ``opening``; -1 if none does, or if it nests too deep."""
    depth = 0
    for token in _TOKEN.finditer(text, opening):
        mark = token.group()
        if mark in "{[":
            depth += 1
            if depth > DEEPEST:
                return -1
        elif mark in "}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return -1


def _repair(match: re.Match[str]) -> str:
    if match["double"] is not None:
        return match["double"]
    if match["single"] is not None:
        return json.dumps(match["single"][1:-1].replace("\\'", "'"), ensure_ascii=False)
    return _WORDS[match["word"]] if match["word"] is not None else ""
