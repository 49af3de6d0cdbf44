"""The schema of settings: every setting, with its default and its meaning."""

from __future__ import annotations

import re
from typing import Any

import pytest

from repository import ROOT
from townsquare.core import registry
from townsquare.core.actions import ActionKind
from townsquare.settings.config import ActionName, Config
from townsquare.settings.page import settings_page
from townsquare.settings.resolve import Settings, resolve
from townsquare.settings.schema import SECTIONS, core_section, follow, json_schema, known_paths, params_of


@pytest.mark.parametrize("family", SECTIONS)
def test_members_declare_no_setting_of_their_section(family: str) -> None:
    for name in registry.names(family):
        params_of(family, name)


def _leaves(values: dict[str, Any], prefix: str = "") -> set[str]:
    return {f"{prefix}{key}" for key in values} | {
        f"{key}.{below}" for key, value in values.items() if isinstance(value, dict) and not prefix for below in value
    }


def test_the_schema_knows_every_setting_with_its_default() -> None:
    schema, found = json_schema(), resolve()
    paths = set(known_paths(schema))
    assert _leaves(found.plain()) - {"version", "scenario_digest"} <= paths
    for name in ("seed", "agents", "steps", "scenario"):
        assert schema["properties"][name]["default"] == found.plain()[name]
    for section in ("feed", "policy", "moderation", "beliefs"):
        properties = follow(schema, schema["properties"][section])["properties"]
        defaults = {name: piece["default"] for name, piece in properties.items() if "default" in piece}
        chosen = {key: value for key, value in found.plain()[section].items() if key in defaults}
        assert chosen == {key: defaults[key] for key in chosen}


def test_every_core_setting_has_a_meaning() -> None:
    schema = json_schema()
    without = [
        f"{section}.{name}"
        for section, field in Config.model_fields.items()
        if hasattr(field.annotation, "model_fields")
        for name, piece in follow(schema, schema["properties"][section])["properties"].items()
        if not follow(schema, piece).get("description") and "variants" not in piece
    ]
    assert without == []


@pytest.mark.parametrize("rule", registry.names("beliefs"))
def test_every_default_of_a_belief_rule_says_what_it_rests_on(rule: str) -> None:
    for name, piece in params_of("beliefs", rule).model_json_schema(by_alias=False).get("properties", {}).items():
        assert re.fullmatch(r"assumed|(fitted|published): .+", piece.get("basis", "")), f"{name}: setting(basis=...)"


def test_words_of_actions_are_those_of_the_schema() -> None:
    assert list(ActionName.__args__) == [kind.name.lower() for kind in ActionKind]  # type: ignore[attr-defined]


def test_sections_name_their_member_by_a_core_setting() -> None:
    for section, key in SECTIONS.values():
        assert key in core_section(section).model_fields


def test_the_page_of_settings_is_up_to_date() -> None:
    written = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert written == settings_page(), "run: townsquare schema --markdown > docs/settings.md"


def test_settings_compare_and_hash_by_their_digest() -> None:
    one, other = resolve({"seed": 4}), resolve({"seed": 4})
    assert isinstance(one, Settings)
    assert one == other
    assert len({one, other, resolve({"seed": 5})}) == 2
