"""The page ``docs/settings.md``, made from the JSON Schema, so that it cannot say anything else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from townsquare.core.files import bundled_folder
from townsquare.settings.schema import OTHERS, SECTIONS, Schema, allowed, follow, json_schema


def settings_page() -> str:
    """Return the page, in Markdown."""
    schema = json_schema()
    head = (bundled_folder() / "settings_page.md").read_text(encoding="utf-8")
    lines = [head, "## Top-level settings", "", *_table(schema, _plain(schema), "")]
    for name, piece in schema["properties"].items():
        section = follow(schema, piece)
        if "properties" in section:
            lines += ["", f"## {name}", "", section.get("description", ""), ""]
            lines += _table(schema, section["properties"], name)
    return "\n".join(lines) + "\n"


def _plain(schema: Schema) -> dict[str, Any]:
    return {name: piece for name, piece in schema["properties"].items() if "properties" not in follow(schema, piece)}


def _table(schema: Schema, properties: Mapping[str, Any], section: str) -> list[str]:
    members = section in {name for name, _ in SECTIONS.values()}
    head = ["setting", "allowed", "default", *(["member"] if members else []), "meaning"]
    rows = [head, ["---"] * len(head)]
    for name, piece in properties.items():
        if name != OTHERS:
            rows += _rows(schema, f"{section}.{name}".lstrip("."), piece, members=members)
    return ["| " + " | ".join(row) + " |" for row in rows]


def _rows(schema: Schema, path: str, piece: Schema, *, members: bool) -> Iterator[list[str]]:
    """Yield one row per setting, one for each way in which members declare it, and those inside its own mapping."""
    for variant in piece["anyOf"] if "variants" in piece else [piece]:
        whole = follow(schema, variant)
        below = whole.get("properties", {})
        made = variant.get("default") if below else None
        made = made if isinstance(made, Mapping) else {}
        default = "" if below else f"`{json.dumps(whole['default'])}`" if "default" in whole else "required"
        words = allowed(schema, whole) + (f" ({whole['unit']})" if "unit" in whole else "")
        row = [f"`{path}`", _cell(words), default]
        row += [_cell(", ".join(variant.get("members", [])))] if members else []
        basis = f" ({whole['basis']})" if "basis" in whole else ""
        yield [*row, _cell(whole.get("description", "") + basis)]
        below = below or _of_option(schema, whole)
        if isinstance(whole.get("items"), Mapping):
            below, path = follow(schema, whole["items"]).get("properties", {}), f"{path}[]"
        if isinstance(whole.get("additionalProperties"), Mapping):
            inside_each = follow(schema, whole["additionalProperties"]).get("properties", {})
            below, path = (inside_each, f"{path}.NAME") if inside_each else (below, path)
        for name, inner in below.items():
            inside = {**inner, "members": variant.get("members", [])}
            if name in made:
                inside["default"] = made[name]
            yield from _rows(schema, f"{path}.{name}", inside, members=members)


def _of_option(schema: Schema, piece: Schema) -> Mapping[str, Any]:
    """Return what the mapping among several options holds: of one that may also be null, or a word."""
    options = [follow(schema, option).get("properties", {}) for option in piece.get("anyOf", ())]
    return next((properties for properties in options if properties), {})


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
