"""``fake``: answers that are a pure function of the request. For tests, forecasts and trying out a set-up; no network.

An object is built from the request's JSON Schema by hashing: every choice comes from SHA-256 over the content of the
request, its draw and where in the object it stands, so choices are spread evenly over enum values, members of unions
and numbers. Texts are a few plain words and say nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from townsquare.core.errors import SettingError
from townsquare.core.files import bundled_folder
from townsquare.models.contract import Answer, ChatModel, Outcome, Request
from townsquare.models.member import ModelMember
from townsquare.models.usage import estimate
from townsquare.models.validate import schema_fault
from townsquare.settings.config import Model, Serving

NAME = "fake"
WORDS = (bundled_folder() / "fake_words.txt").read_text(encoding="utf-8").split()
SHORTEST, LONGEST = 3, 14
MOST_ITEMS = 3
DEEPEST = 12
_SPAN = 1000.0


class FakeModel:
    """The model behind ``fake``. It never fails, and never waits."""

    name = NAME
    servers = (NAME,)

    async def complete(self, request: Request, draw: int | None) -> Answer:
        """Answer one request."""
        value = made(request, draw)
        text = written(value)
        outcome, error = Outcome.OK, ""
        if request.schema and (fault := schema_fault(request.schema, value)):
            outcome, value, error = Outcome.INVALID, None, f"the fake cannot make what this schema asks for: {fault}"
        asked = sum(estimate(message.content) for message in request.messages)
        return Answer(outcome, value, text, error, NAME, NAME, asked, estimate(text), 1)

    async def close(self) -> None:
        """Nothing to give back."""


def made(request: Request, draw: int | None) -> Any:
    """Return what the fake answers: an object that fits the schema, or a short text.

    >>> from townsquare.models.contract import Message
    >>> asked = Request(purpose="act", messages=(Message("user", "?"),), schema={"type": "integer", "maximum": 3})
    >>> made(asked, 1) == made(asked, 1), made(asked, 1) <= 3
    (True, True)
    """
    content = orjson.dumps([request.content, draw], option=orjson.OPT_SORT_KEYS)
    maker = _Maker(hashlib.sha256(content).digest(), request.schema)
    return maker.make(request.schema, "", 0) if request.schema else maker.text("", 0, 200)


def written(value: Any) -> str:
    """Return a value as a model writes it: a text as it is, anything else in JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


class _Maker:
    """Builds one value; each choice is keyed by where it is, so that no choice moves another."""

    def __init__(self, key: bytes, root: Mapping[str, Any]) -> None:
        self._key, self._root = key, root

    def draw(self, at: str) -> int:
        """Return 64 bits for a place."""
        return int.from_bytes(hashlib.blake2b(at.encode(), digest_size=8, key=self._key).digest(), "big")

    def pick(self, at: str, among: Any) -> Any:
        """Return one of several."""
        return among[self.draw(at) % len(among)]

    def make(self, schema: Any, at: str, depth: int) -> Any:
        """Return a value for a schema."""
        if depth > DEEPEST or not isinstance(schema, Mapping):
            return None
        if "$ref" in schema:
            return self.make(self._referred(schema["$ref"]), at, depth + 1)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self.pick(at + "|enum", schema["enum"])
        for word in ("anyOf", "oneOf"):
            if schema.get(word):
                return self.make(self.pick(f"{at}|{word}", schema[word]), at, depth + 1)
        if schema.get("allOf"):
            return self.make(_joined(schema), at, depth + 1)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        kind = self.pick(at + "|type", kind) if isinstance(kind, list) else kind
        return self._of_kind(kind, schema, at, depth)

    def _of_kind(self, kind: str, schema: Mapping[str, Any], at: str, depth: int) -> Any:
        match kind:
            case "object":
                return self._object(schema, at, depth)
            case "array":
                return self._array(schema, at, depth)
            case "string":
                return self.text(at, schema.get("minLength", 1), schema.get("maxLength", 200))
            case "integer" | "number":
                return self._number(kind, schema, at)
            case "boolean":
                return bool(self.draw(at) % 2)
        return None

    def _object(self, schema: Mapping[str, Any], at: str, depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        return {
            key: self.make(below, f"{at}.{key}", depth + 1)
            for key, below in schema.get("properties", {}).items()
            if key in required or (depth < DEEPEST // 2 and self.draw(f"{at}.{key}|there") % 2)
        }

    def _array(self, schema: Mapping[str, Any], at: str, depth: int) -> list[Any]:
        least = schema.get("minItems", 0)
        most = max(least, min(schema.get("maxItems", MOST_ITEMS), least + MOST_ITEMS))
        count = least + self.draw(at + "|count") % (most - least + 1)
        items: list[Any] = []
        tries = 0
        while len(items) < count and tries < 20 * count:
            item = self.make(schema.get("items", {"type": "string"}), f"{at}[{tries}]", depth + 1)
            if not (schema.get("uniqueItems") and item in items):
                items.append(item)
            tries += 1
        return items

    def _number(self, kind: str, schema: Mapping[str, Any], at: str) -> float | int:
        step = schema.get("multipleOf", 1 if kind == "integer" else None)
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        low = low if low is not None else (0 if high is None else high - _SPAN)
        high = high if high is not None else low + _SPAN
        if step is not None:
            first = -(-low // step) + (schema.get("exclusiveMinimum") == low and low % step == 0)
            last = high // step - (schema.get("exclusiveMaximum") == high and high % step == 0)
            made = (first + self.draw(at) % max(1, int(last - first) + 1)) * step
            return int(made) if kind == "integer" else made
        share = (self.draw(at) % 999 + 1) / 1000  # never at an end, which may be excluded
        return float(round(low + share * (high - low), 6)) if high - low > 1e-3 else low + share * (high - low)

    def text(self, at: str, least: int, most: int) -> str:
        """Return a few words, of ``least`` to ``most`` characters."""
        count = SHORTEST + self.draw(at + "|words") % (LONGEST - SHORTEST + 1)
        words = [self.pick(f"{at}|{i}", WORDS) for i in range(count)]
        text = (" ".join(words).capitalize() + ".") if most > 0 else ""
        while len(text) < least:
            text += " " + self.pick(f"{at}|{len(text)}", WORDS)
        if len(text) <= most:
            return text
        cut = text[:most]
        at_word = cut.rpartition(" ")[0]
        return at_word if len(at_word) >= max(least, 1) else cut

    def _referred(self, reference: str) -> Any:
        target: Any = self._root
        for part in reference.lstrip("#/").split("/"):
            target = target.get(part.replace("~1", "/").replace("~0", "~"), {}) if part else target
        return target


def _joined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Merge ``allOf`` into one schema: enough for parts that add properties."""
    out: dict[str, Any] = {key: value for key, value in schema.items() if key != "allOf"}
    for part in schema["allOf"]:
        for key, value in part.items():
            if key == "properties":
                out[key] = {**out.get(key, {}), **value}
            elif key == "required":
                out[key] = [*out.get(key, ()), *value]
            else:
                out[key] = value
    return out


def _open(rest: str, model: Model, serving: Serving) -> ChatModel:
    if rest:
        raise SettingError("model.name", got=repr(f"{NAME}/{rest}"), allowed=repr(NAME))
    return FakeModel()


MODEL = ModelMember(NAME, lambda rest, model: FakeModel.servers, _open, network=False)
