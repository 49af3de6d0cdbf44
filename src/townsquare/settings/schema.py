"""The settings schema: core sections joined with the parameters of every registered member.

One JSON Schema holds each setting's type, range, unit, default and meaning; the words in error messages
(:func:`allowed`) and the page ``docs/settings.md`` (:func:`settings_page`) are made from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import WithDefaultSchema

from townsquare.core import registry
from townsquare.core.documents import bundled_labels
from townsquare.core.errors import ContractError
from townsquare.settings.config import Config, MemberParams

Schema = Mapping[str, Any]

SECTIONS: Mapping[str, tuple[str, str]] = {
    "beliefs": ("beliefs", "rule"),
    "ranker": ("feed", "ranker"),
    "policy": ("policy", "name"),
    "moderation": ("moderation", "strategy"),
    "note_scorer": ("moderation", "note_scorer"),
    "graph": ("graph", "kind"),
    "extractor": ("evidence", "extractor"),
    "embedder": ("embedder", "name"),
    "strength": ("strength", "judge"),
}
"""Family of members -> the section that names one, and the key it is named by.

A word for a whole section names the member of its first family.
"""

OTHERS = "unused"
"""Key, in a section that names a member, under which parameters of members that were not chosen are kept."""


def params_of(family: str, name: str) -> type[MemberParams]:
    """Return the ``Params`` that a member declares.

    Raises
    ------
    ContractError
        If it declares none, or one with the name of a core setting of its section.
    """
    member = registry.get(family, name)
    params = getattr(member, "params", None)
    if not (isinstance(params, type) and issubclass(params, MemberParams)):
        raise ContractError(f"{family} {name}", got="no `params`", allowed="a subclass of MemberParams")
    section, _ = SECTIONS[family]
    taken = declared(params) & (set(core_section(section).model_fields) | {OTHERS})
    if taken:
        raise ContractError(f"{family} {name}", got=f"params {sorted(taken)}", do=f"put them into `{section}` directly")
    return params


def installed(family: str) -> list[str]:
    """Return the members of a family that can be imported here: one may need an extra that is not installed."""
    names = []
    for name in registry.names(family):
        with suppress(ModuleNotFoundError):
            registry.get(family, name)
            names.append(name)
    return names


def declared(params: type[MemberParams]) -> set[str]:
    """Return the keys under which a member's settings are given."""
    return {field.alias or name for name, field in params.model_fields.items()}


@cache
def core_section(section: str) -> type[MemberParams]:
    """Return the core settings of a section, as a model."""
    model = Config.model_fields[section].annotation
    assert isinstance(model, type)
    assert issubclass(model, MemberParams)
    return model


class _MadeDefaults(GenerateJsonSchema):
    """Pydantic leaves out the defaults that a factory makes, among them those of whole kinds of action."""

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        factory: Any = schema.get("default_factory")
        if factory is not None and not schema.get("default_factory_takes_data"):
            schema = {**schema, "default": factory()}
        return super().default_schema(schema)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a configuration file: core settings and those of every member.

    ``members`` of a setting lists the members that have this setting; if their declarations differ, the schema is an
    ``anyOf``.
    """
    schema = Config.model_json_schema(schema_generator=_MadeDefaults)
    definitions = schema["$defs"]
    schema["title"] = "Townsquare settings"
    definitions["Beliefs"]["properties"]["stance_scorer"]["enum"] = ["declared", *registry.names("stance")]
    for family, (section, key) in SECTIONS.items():
        target = definitions[core_section(section).__name__]
        target["properties"][key]["enum"] = list(registry.names(family))
        for name in installed(family):
            for setting, piece in _own_properties(params_of(family, name), definitions, f"{family}.{name}."):
                _join(target["properties"], setting, {**piece, "members": [name]})
        meaning = "settings of members that were not chosen: checked, stored, unused"
        target["properties"][OTHERS] = {"type": "object", "default": {}, "description": meaning}
    return dict(schema)


def _own_properties(
    params: type[MemberParams], definitions: dict[str, Any], prefix: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    template = f"#/$defs/{prefix}{{model}}"
    schema = params.model_json_schema(ref_template=template, schema_generator=_MadeDefaults)
    for name, definition in schema.pop("$defs", {}).items():
        definitions[f"{prefix}{name}"] = definition
    yield from schema.get("properties", {}).items()


def _join(properties: dict[str, Any], setting: str, piece: dict[str, Any]) -> None:
    old = properties.get(setting)
    if old is None:
        properties[setting] = piece
        return
    kinds = old.get("anyOf") if "variants" in old else [old]
    same = [kind for kind in kinds if _without_members(kind) == _without_members(piece)]
    if same:
        same[0]["members"] = [*same[0]["members"], *piece["members"]]
    else:
        properties[setting] = {"anyOf": [*kinds, piece], "variants": True}


def _without_members(piece: Schema) -> dict[str, Any]:
    return {key: value for key, value in piece.items() if key != "members"}


def at(schema: Schema, path: tuple[str | int, ...]) -> Schema:
    """Return the part of a schema that a path of keys leads to, references followed; empty if none exists."""
    here = follow(schema, schema)
    for key in path:
        part: Schema = {}
        for option in (follow(schema, option) for option in here.get("anyOf", [here])):
            below = option.get("properties", {}).get(key)
            if below is None and isinstance(option.get("additionalProperties"), Mapping):
                below = option["additionalProperties"]
            if below is None and isinstance(key, int):
                below = option.get("items")
            part = part or below or {}
        here = follow(schema, part)
    return here


def follow(schema: Schema, piece: Schema) -> Schema:
    """Return ``piece``, or the target of its ``$ref`` in ``schema``, with the keys next to the reference."""
    if "$ref" not in piece:
        return piece
    name = piece["$ref"].removeprefix("#/$defs/")
    others = {key: value for key, value in piece.items() if key != "$ref"}
    return {**schema["$defs"][name], **others}


_KINDS: dict[str, str] = bundled_labels("json_types")


def allowed(schema: Schema, piece: Schema) -> str:
    """In words, what a setting may be.

    >>> allowed({}, {"type": "integer", "minimum": 1, "maximum": 9})
    'a whole number from 1 to 9'
    >>> allowed({}, {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "null"}]})
    'a number above 0, or null'
    """
    piece = follow(schema, piece)
    if "allowed" in piece:  # a field says it itself, as no pattern can
        return str(piece["allowed"])
    if "anyOf" in piece:
        return ", or ".join(dict.fromkeys(allowed(schema, option) for option in piece["anyOf"]))
    if "enum" in piece:
        return ", ".join(str(word) for word in piece["enum"])
    if "const" in piece:
        return str(piece["const"])
    words = _KINDS.get(piece.get("type", ""), "")
    if piece.get("items"):
        words += f" of: {allowed(schema, piece['items'])}"
    if "prefixItems" in piece:
        items = [allowed(schema, item) for item in piece["prefixItems"]]
        words += f" of {len(items)}: {', '.join(items)}"
    if isinstance(piece.get("additionalProperties"), Mapping):
        words += f" of: {allowed(schema, piece['additionalProperties'])}"
    return f"{words} {_range(piece)}".strip()


_LEAST = {"minimum": "of at least", "exclusiveMinimum": "above"}
_LIMITS = {**_LEAST, "maximum": "of at most", "exclusiveMaximum": "below"}


def _range(piece: Schema) -> str:
    low, high = piece.get("minimum"), piece.get("maximum")
    if low is not None and high is not None:
        return f"from {low:g} to {high:g}" if max(abs(low), abs(high)) < 1e6 else f"from {low} to {high}"
    return " and ".join(f"{words} {piece[key]}" for key, words in _LIMITS.items() if piece.get(key) is not None)


def known_paths(schema: Schema) -> Iterator[str]:
    """Yield dotted path of every setting, section by section."""
    for name, piece in schema["properties"].items():
        yield name
        for below in follow(schema, piece).get("properties", {}):
            yield f"{name}.{below}"
