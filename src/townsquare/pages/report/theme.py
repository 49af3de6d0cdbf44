"""Colors and type of the pages, in light and in dark, for HTML and figures alike.

A color has a role. Figures are drawn in the light colors; :mod:`townsquare.pages.report.svg` marks each one with
its role, and the style sheet gives the role its color in the reader's scheme. Blue and vermilion are told
apart by color-blind readers (Okabe and Ito 2008, "Color universal design"), and no figure tells true from
false by color alone.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Shade:
    """One role's color as ``#rrggbb``, on light paper and on dark."""

    light: str
    dark: str


TEMPLATES = Path(__file__).parent / "templates"
with (TEMPLATES / "shades.csv").open(encoding="utf-8", newline="") as _file:
    SHADES = {row["role"]: Shade(row["light"], row["dark"]) for row in csv.DictReader(_file)}
"""The color of each role."""

SERIES = ("first", "second", "third", "fourth", "fifth", "sixth")
"""Roles of things without a meaning of their own: propositions, arms."""

_SETTINGS_OF_COLOR = {
    "paper": ("figure.facecolor", "savefig.facecolor", "axes.facecolor"),
    "ink": ("axes.labelcolor", "text.color", "xtick.labelcolor", "ytick.labelcolor"),
    "muted": ("axes.edgecolor", "xtick.color", "ytick.color"),
    "line": ("grid.color",),
}


def color(role: str) -> str:
    """Return the light color of a role, ``#rrggbb``: what figures are drawn in."""
    return SHADES[role].light


@cache
def style() -> dict[str, object]:
    """Return settings of matplotlib for every figure: those of ``templates/figure.mplstyle``, and the colors."""
    from matplotlib import rc_params_from_file

    settings: Any = rc_params_from_file(TEMPLATES / "figure.mplstyle", use_default_template=False)
    return {**settings, **{name: color(role) for role, names in _SETTINGS_OF_COLOR.items() for name in names}}


def custom_properties(scheme: str) -> str:
    """Return CSS declarations ``--role: #rrggbb`` of one scheme, ``"light"`` or ``"dark"``."""
    return " ".join(f"--{role}: {getattr(shade, scheme)};" for role, shade in SHADES.items())
