"""Presets: bundled configurations of published setups, each with a documentation page."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from townsquare.core.files import bundled_folder
from townsquare.settings.layers import read_yaml


class PresetLine(NamedTuple):
    """One line of the list of presets: its name, its heading, and the scenario it runs."""

    name: str
    title: str
    scenario: str


def preset_names() -> tuple[str, ...]:
    """Return names of the presets, sorted.

    >>> preset_names()
    ('mosaic-appendix-f', 'mosaic-main', 'simswarm')
    """
    return tuple(sorted(path.stem for path in (bundled_folder() / "presets").glob("*.yaml")))


def read_preset(name: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings of a preset, and where in its file each stands, by dotted path."""
    values, lines = read_yaml(_file(name))
    return values, {path: f"preset {name}, line {line}" for path, line in lines.items()}


def list_presets() -> list[PresetLine]:
    """Return the presets, by name; a heading is the first line of the file."""
    headings = {name: _file(name).read_text(encoding="utf-8").partition("\n")[0] for name in preset_names()}
    scenarios = {name: str(read_preset(name)[0]["scenario"]) for name in headings}
    return [PresetLine(name, heading.lstrip("# "), scenarios[name]) for name, heading in headings.items()]


def _file(name: str) -> Path:
    return bundled_folder() / "presets" / f"{name}.yaml"
